//! The rows of each pane, filtered and grouped.

use std::collections::BTreeMap;

use super::item::Item;
use super::pane::{Grouping, Pane};
use super::state::Screen;
use crate::view::{Board, Group, MemberRow, WorkflowTree, tree_places};

/// The heading of what is wrong and no person has to decide.
const PROBLEMS: &str = "Problems";

/// The heading of the disagreements that members still settle among themselves.
const DISAGREEMENTS: &str = "Disagreements";

/// The heading of what has been decided, the last first.
const DECIDED: &str = "Decided";

impl Screen {
    /// Returns the rows of a pane.
    pub(in crate::cli::commands::top) fn items(&self, pane: Pane) -> Vec<Item<'_>> {
        let Some(board) = self.news.board.as_deref() else { return Vec::new() };
        let filter = self.filter.to_lowercase();
        let fits = |item: &Item<'_>| item.fits(&filter);
        match pane {
            Pane::Team => self.team(board, &filter),
            Pane::Messages => self.messages(&filter),
            Pane::Tasks => board.tasks.iter().map(Item::Task).filter(fits).collect(),
            Pane::Requests => {
                let all = board.requests.iter().chain(&board.ended_requests);
                all.map(Item::Request).filter(fits).collect()
            }
            Pane::Workflows => {
                let trees = board.workflows.iter();
                trees.flat_map(|tree| workflow(tree, &filter)).collect()
            }
            Pane::Events => self.news.happenings.iter().map(Item::Happening).filter(fits).collect(),
        }
    }

    /// Returns what has been decided, and below it the messages.
    fn messages(&self, filter: &str) -> Vec<Item<'_>> {
        let mut items = Vec::new();
        block(&mut items, DECIDED, self.news.decided.iter().map(Item::Decided), filter);
        let letters = self.news.letters.iter().map(Item::Letter);
        if items.is_empty() {
            return letters.filter(|item| item.fits(filter)).collect();
        }
        block(&mut items, Pane::Messages.heading(), letters, filter);
        items
    }

    fn team<'a>(&'a self, board: &'a Board, filter: &str) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        let live =
            |name: &str| board.members.iter().find(|row| row.name == name && row.state != "left");
        let needs = board.needs_you.iter().map(|need| {
            let is_member = need.kind.is_of_member();
            Item::Need(need, is_member.then(|| live(&need.who)).flatten())
        });
        block(&mut items, Group::NeedsYou.heading(), needs, filter);
        let is_needed = |row: &MemberRow| {
            row.state != "left" && board.needs_you.iter().any(|need| need.who == row.name)
        };
        let problems = board.problems_beside_needs();
        let disagree = board.open_disagreements().into_iter().map(Item::Conflict);
        let broken = problems.iter().map(|(problem, row)| match row {
            Some(row) => Item::Member(row),
            None => Item::Problem(problem),
        });
        match self.grouping {
            Grouping::State => {
                let in_group = |group| board.members.iter().filter(move |row| row.group == group);
                // Each member that needs a person has a row among the needs.
                let waiting = in_group(Group::NeedsYou).filter(|row| !is_needed(row));
                block(&mut items, "Held up", waiting.map(Item::Member), filter);
                block(&mut items, PROBLEMS, broken, filter);
                block(&mut items, DISAGREEMENTS, disagree, filter);
                for group in [Group::Working, Group::Idle, Group::Ended] {
                    let members = in_group(group).filter(|row| !board.is_problem(row));
                    block(&mut items, group.heading(), members.map(Item::Member), filter);
                    say_left_out(&mut items, group.heading(), board.without_row(group));
                }
            }
            Grouping::Profile => {
                block(&mut items, PROBLEMS, broken, filter);
                block(&mut items, DISAGREEMENTS, disagree, filter);
                let mut profiles = BTreeMap::<&str, Vec<&MemberRow>>::new();
                for row in board.members.iter().filter(|row| !board.is_problem(row)) {
                    profiles
                        .entry(row.profile.as_deref().unwrap_or(&row.kind))
                        .or_default()
                        .push(row);
                }
                for (profile, rows) in profiles {
                    block(&mut items, profile, rows.into_iter().map(Item::Member), filter);
                }
            }
            Grouping::None => {
                block(&mut items, PROBLEMS, broken, filter);
                block(&mut items, DISAGREEMENTS, disagree, filter);
                let rows = board.members.iter().filter(|row| !board.is_problem(row));
                let mut rows: Vec<_> = rows.collect();
                rows.sort_by(|one, other| one.name.cmp(&other.name));
                block(&mut items, "All members", rows.into_iter().map(Item::Member), filter);
            }
        }
        items
    }
}

/// Adds a heading and its rows, if there are any.
fn block<'a>(
    items: &mut Vec<Item<'a>>,
    heading: &'a str,
    rows: impl Iterator<Item = Item<'a>>,
    filter: &str,
) {
    let rows: Vec<_> = rows.filter(|item| item.fits(filter)).collect();
    if !rows.is_empty() {
        items.push(Item::Heading(heading, rows.len(), 0));
        items.extend(rows);
    }
}

/// Says how many rows are left out below a heading that stands among the items.
fn say_left_out(items: &mut [Item<'_>], wanted: &str, number: usize) {
    for item in items {
        if let Item::Heading(heading, _, left_out) = item
            && *heading == wanted
        {
            *left_out = number;
        }
    }
}

/// Returns a workflow and its steps. A workflow that fits shows all its steps, and a step that fits shows its workflow.
fn workflow<'a>(tree: &'a WorkflowTree, filter: &str) -> Vec<Item<'a>> {
    let head = Item::Workflow(tree);
    let places = tree_places(&tree.steps);
    let steps = places.iter().map(|at| Item::Step(tree, &tree.steps[at.step], at.depth() - 1));
    let steps: Vec<_> = steps.filter(|item| head.fits(filter) || item.fits(filter)).collect();
    if steps.is_empty() && !head.fits(filter) {
        return Vec::new();
    }
    std::iter::once(head).chain(steps).collect()
}
