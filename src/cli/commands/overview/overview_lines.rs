//! The overview as lines for people. Pure.

use super::overview_parts::{BusView, FileView, Hindrance, Overview, ProjectView};
use super::suggested_step::suggested_step;
use crate::domain::ids::TaskId;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::setup::connected_clients::{Connection, InstalledClient};
use crate::setup::installed_agents::InstalledAgent;
use crate::view::trials_in_words;

/// The most characters of a path or an error that the overview shows: most paths are shorter, and `doctor` shows all.
const SHOWN: usize = 200;

/// Returns the lines of the overview.
pub(super) fn of(overview: &Overview) -> Vec<String> {
    let mut lines = vec![format!("cli-team-bridge {}", env!("CARGO_PKG_VERSION")), String::new()];
    lines.extend(block("clients", &clients(&overview.clients, &overview.hindrances)));
    lines.extend(block("agents", &agents(&overview.agents)));
    lines.extend(block("project", &project(&overview.project)));
    lines.push(String::new());
    lines.push(format!("next: {}", suggested_step(overview)));
    lines.push("`cli-team-bridge --help` lists all commands.".to_owned());
    lines
}

/// Returns lines with a label before the first.
fn block(label: &str, lines: &[String]) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(lines).map(|(label, line)| format!("{label:<9}{line}")).collect()
}

fn clients(all: &[InstalledClient], hindrances: &[Hindrance]) -> Vec<String> {
    let titles = |connection| {
        let those = all.iter().filter(|client| client.connection == connection);
        those.map(|client| client.title).collect::<Vec<_>>()
    };
    let mut lines = lists(&[
        ("connected", titles(Connection::Connected)),
        ("connected as a peer, which leads no team", titles(Connection::Joins)),
        ("connected by an entry that does not work", titles(Connection::Broken)),
        ("connected, but not in this directory", titles(Connection::Untrusted)),
        ("not connected", titles(Connection::NotConnected)),
        ("unknown, see `cli-team-bridge doctor`", titles(Connection::Unknown)),
    ]);
    let wrong = |one: &Hindrance| format!("{}: {}", one.client, beginning(&one.says, SHOWN));
    lines.extend(hindrances.iter().map(wrong));
    lines
}

fn agents(all: &Result<Vec<InstalledAgent>, String>) -> Vec<String> {
    let all = match all {
        Ok(all) => all,
        Err(why) => return vec![format!("unknown: {}", beginning(why, SHOWN))],
    };
    let names = |holds: fn(&InstalledAgent) -> bool| {
        all.iter().filter(|agent| holds(agent)).map(|agent| agent.profile).collect::<Vec<_>>()
    };
    lists(&[
        ("installed", names(InstalledAgent::is_ready)),
        ("without their adapter", names(|agent| !agent.is_ready() && agent.cli.path.is_some())),
    ])
}

/// Returns a line for each list that is not empty.
fn lists(lists: &[(&str, Vec<&str>)]) -> Vec<String> {
    let full = lists.iter().filter(|(_, names)| !names.is_empty());
    let lines: Vec<_> = full.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
    if lines.is_empty() { vec!["none found".to_owned()] } else { lines }
}

fn project(project: &ProjectView) -> Vec<String> {
    let (root, file, bus) = match project {
        ProjectView::Absent(why) => return vec![format!("none: {}", beginning(why, SHOWN))],
        ProjectView::Found { root, file, bus } => (quoted(root, SHOWN), file, bus),
    };
    let state = match bus {
        BusView::Absent => "no team yet".to_owned(),
        BusView::Foreign => "its bus was not created here, and is not used".to_owned(),
        BusView::Unusable(why) => format!("its bus cannot be read: {}", beginning(why, SHOWN)),
        BusView::Present { members, unfinished, trials, .. } => {
            let members = count(*members, "live member");
            let trials = match trials {
                0 => String::new(),
                some => format!(", {}", trials_in_words(*some)),
            };
            format!("{members}, {}{trials}", count(*unfinished, "unfinished workflow"))
        }
    };
    let file = match file {
        FileView::Good => Vec::new(),
        FileView::Invalid { why, .. } => problems(why),
        FileView::Unapproved { title, command } => vec![format!(
            "{title} would run programs or raise limits; `{command}` shows it, and asks for your approval"
        )],
    };
    let lost = match bus {
        BusView::Present { lost, .. } => lost_in_words(lost),
        _ => None,
    };
    [format!("{root}: {state}")].into_iter().chain(lost).chain(file).collect()
}

/// Says which tasks were not done when their agents ended.
fn lost_in_words(lost: &[TaskId]) -> Option<String> {
    match lost {
        [] => None,
        [id] => Some(format!(
            "1 task ended with its agent before it was done: `cli-team-bridge task {id}` shows it"
        )),
        more => Some(format!(
            "{} tasks ended with their agents before they were done: `cli-team-bridge tasks` lists them",
            more.len()
        )),
    }
}

/// Returns the problems of a configuration, each on a line of its own.
fn problems(why: &str) -> Vec<String> {
    let shown: Vec<_> = why.lines().map(|line| beginning(line, SHOWN)).collect();
    match shown.as_slice() {
        [only] => vec![format!("no tool works until this is corrected: {only}")],
        all => {
            let heading = "no tool works until these are corrected:".to_owned();
            let lines = all.iter().map(|line| format!("  {line}"));
            [heading].into_iter().chain(lines).collect()
        }
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        some => counted(some, what),
    }
}

#[cfg(test)]
mod tests {
    use super::super::overview_parts::TeamNow;
    use super::*;

    #[test]
    fn tasks_that_were_lost_are_told_with_the_command_that_shows_them() {
        let lines = |lost: &[&str]| {
            let lost = lost.iter().map(|id| TaskId::parse(id).unwrap()).collect();
            let bus = BusView::Present {
                members: 0,
                team: TeamNow::Unled,
                unfinished: 0,
                trials: 0,
                resumable: Vec::new(),
                lost,
            };
            project(&ProjectView::Found { root: "/p".to_owned(), file: FileView::Good, bus })
        };
        assert_eq!(lines(&[]), ["\"/p\": no live members, no unfinished workflows"]);
        assert_eq!(
            lines(&["task-k3j7x2abq5wt"])[1..],
            [
                "1 task ended with its agent before it was done: `cli-team-bridge task task-k3j7x2abq5wt` shows it"
            ]
        );
        assert_eq!(
            lines(&["task-k3j7x2abq5wt", "task-a3j7x2abq5wt"])[1..],
            [
                "2 tasks ended with their agents before they were done: `cli-team-bridge tasks` lists them"
            ]
        );
    }

    #[test]
    fn trials_that_were_interrupted_are_told_as_such() {
        let lines = |trials| {
            let (resumable, lost) = (Vec::new(), Vec::new());
            let (members, team, unfinished) = (0, TeamNow::Unled, 0);
            let bus = BusView::Present { members, team, unfinished, trials, resumable, lost };
            project(&ProjectView::Found { root: "/p".to_owned(), file: FileView::Good, bus })
        };
        let before = "\"/p\": no live members, no unfinished workflows, ";
        let one = format!("{before}1 interrupted trial, which cannot be resumed");
        assert_eq!(lines(1), [one]);
        let two = format!("{before}2 interrupted trials, none of which can be resumed");
        assert_eq!(lines(2), [two]);
    }

    #[test]
    fn a_file_that_needs_its_user_has_one_line_with_the_remedy() {
        let lines = |file| {
            let (root, bus) = ("/p".to_owned(), BusView::Absent);
            project(&ProjectView::Found { root, file, bus })
        };
        assert_eq!(lines(FileView::Good), ["\"/p\": no team yet"]);
        let invalid = |why: &str| {
            lines(FileView::Invalid { place: "/p/x:1:2".to_owned(), why: why.to_owned() })
        };
        assert_eq!(
            invalid("/p/x:1:2: no")[1..],
            ["no tool works until this is corrected: /p/x:1:2: no"]
        );
        assert_eq!(
            invalid("/p/x:1:2: no\n/p/x:2:2: nor this")[1..],
            ["no tool works until these are corrected:", "  /p/x:1:2: no", "  /p/x:2:2: nor this"]
        );
        let (title, command) = ("its file".to_owned(), "x trust".to_owned());
        assert_eq!(
            lines(FileView::Unapproved { title, command })[1..],
            [
                "its file would run programs or raise limits; `x trust` shows it, and asks for your approval"
            ]
        );
    }
}
