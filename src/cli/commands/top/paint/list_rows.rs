//! The rows of the lists, as cells.

use console::measure_text_width;
use ratatui::style::Style;

use super::cells::{Cell, cell, rest};
use super::look::Look;
use crate::cli::commands::top::screen::{Item, Pane};
use crate::domain::text::visible_letters::quoted;
use crate::view::{
    Board, ConflictRow, Decided, DecidedHow, Letter, MemberRow, Moment, NOT_REPORTED, Need,
    NeedKind, Problem, ProblemKind, RequestRow, SeenBy, Spent, TaskRow, UserQuestion, age, by_whom,
    money, short,
};

/// The most characters of a text in a row; the row is cut where the window ends.
const WORDS: usize = 400;

/// The least columns of who writes to whom: those of the heading.
const TALK: u16 = 9;

/// The columns of the time of a step: the longest below a hundred hours is `12h 05m`.
const TIME: u16 = 8;

/// A narrow row says how long there is for an answer when that is no longer than this.
const SOON_MS: u64 = 30_000;

/// Columns from which on a window has room for more.
const WIDE: u16 = 100;

/// The rows of a list.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) board: &'a Board,
    pub(super) look: Look,
    /// The columns of the window.
    width: u16,
    /// The columns of who writes to whom.
    talk: u16,
}

impl<'a> Rows<'a> {
    /// Prepares the rows of a board, of some messages and of what has been decided for a window of so many columns.
    pub(super) fn of(
        board: &'a Board,
        (letters, decided): (&[Letter], &[Decided]),
        (look, width): (Look, u16),
    ) -> Self {
        let talks = letters.iter().map(talk);
        // A narrow row has room for what is decided, and cuts whom it concerns.
        let who = |row: &Decided| {
            if width >= WIDE {
                row.who()
            } else {
                format!("{} {} …", by_whom(&row.by), row.how.as_str())
            }
        };
        let deciders = decided.iter().map(who);
        let widest = talks.chain(deciders).map(|words| measure_text_width(&words)).max();
        let widest = u16::try_from(widest.unwrap_or_default()).unwrap_or(u16::MAX);
        let rows = Self { board, look, width, talk: 0 };
        // What is said is more important than room beside the names.
        Self { talk: widest.clamp(TALK, 2 * rows.name_columns()), ..rows }
    }
}

impl Rows<'_> {
    fn is_wide(self) -> bool {
        self.width >= WIDE
    }

    fn name_columns(self) -> u16 {
        if self.is_wide() { 20 } else { 12 }
    }

    fn now(self) -> Moment {
        self.board.at
    }

    /// Returns the names of a pane's columns.
    pub(super) fn columns(self, pane: Pane) -> Vec<Cell> {
        let name = self.name_columns();
        let state = self.is_wide().then_some("state");
        match pane {
            Pane::Team => {
                self.with_use("", "name", state, "now", ("age", Some("new")), ["tokens", "cost"])
            }
            Pane::Messages => vec![cell("age", 4), cell("from → to", self.talk), rest("text")],
            Pane::Tasks => self.with_use(
                "",
                "agent",
                self.is_wide().then_some("status"),
                "prompt or error",
                ("age", None),
                ["tokens", "cost"],
            ),
            Pane::Requests => vec![
                cell("", 1),
                cell("status", 9),
                cell("from → by", 2 * name),
                rest("what for, or the answer"),
                cell("age", 4).right(),
            ],
            Pane::Workflows => vec![
                cell("", 1),
                rest("workflow and steps"),
                cell("agent", name),
                cell("status", 11),
                cell("time", TIME).right(),
            ],
            Pane::Events => vec![cell("age", 4), cell("about", 10), rest("what has happened")],
        }
    }

    /// Returns the cells of a row.
    pub(super) fn cells(self, item: &Item<'_>) -> Vec<Cell> {
        let name = self.name_columns();
        match item {
            Item::Heading(words, count, left_out) => {
                let older = match left_out {
                    0 => String::new(),
                    some => format!("; {some} older ones: cli-team-bridge log --kind member"),
                };
                vec![rest(format!("{words} ({count}{older})")).styled(Look::heading())]
            }
            Item::Need(need, row) => self.need(need, *row),
            Item::Problem(problem) => self.problem(problem),
            Item::Conflict(row) => self.conflict(row),
            Item::Member(row) => self.member(row),
            Item::Letter(letter) => self.letter(letter),
            Item::Decided(row) => {
                let (mark, style) = match row.how {
                    DecidedHow::Denied => ("✗", self.look.bad()),
                    _ => ("✓", self.look.good()),
                };
                vec![
                    cell(age(row.at, self.now()), 4).right(),
                    cell(row.who(), self.talk),
                    rest(row.what(WORDS)),
                    cell(mark, if self.is_wide() { 12 } else { 4 }).styled(style),
                ]
            }
            Item::Task(task) => self.task(task, item.since()),
            Item::Request(row) => self.request(row, item.since().unwrap_or(row.opened_at)),
            Item::Workflow(tree) => {
                let (mark, style) = self.look.status(tree.state());
                let since = item.since().unwrap_or(tree.created_at);
                let trial = if tree.is_trial { " (trial)" } else { "" };
                let words = format!(
                    "{}{trial}  {}/{}",
                    quoted(&tree.name, WORDS),
                    tree.steps_done,
                    tree.steps_total
                );
                vec![
                    cell(mark, 1).styled(style),
                    rest(words).styled(Look::heading()),
                    cell(tree.by.clone(), name),
                    cell(tree.state(), 11),
                    cell(format!("{} ago", age(since, self.now())), TIME).right(),
                ]
            }
            Item::Step(_, step, depth) => {
                let (mark, style) = self.look.status(step.state());
                let indent = "  ".repeat((*depth).min(8));
                let remarks = step.remarks();
                let gap = if remarks.is_empty() { "" } else { "  " };
                vec![
                    cell("", 1),
                    rest(format!("{indent}{mark} {}{gap}{remarks}", step.name)).styled(style),
                    cell(step.agent_in_words(), name),
                    cell(step.state(), 11),
                    cell(step.time(self.now()), TIME).right(),
                ]
            }
            Item::Happening(happening) => vec![
                cell(age(happening.at, self.now()), 4).right(),
                cell(happening.topic.as_str(), 10).styled(Look::faint()),
                rest(happening.words.clone()),
            ],
        }
    }

    fn problem(self, problem: &Problem) -> Vec<Cell> {
        let state = match problem.kind {
            ProblemKind::Circle | ProblemKind::Kept => "waiting",
            ProblemKind::WakeFailed | ProblemKind::Overdue => "idle",
            ProblemKind::Unanswered => "overdue",
            ProblemKind::Gone => "gone",
            ProblemKind::Crashed => "left",
            _ => "damaged",
        };
        let state = self.is_wide().then_some(state);
        let mark = ("✗", self.look.bad());
        let unused = <[String; 2]>::default();
        let times = (problem.since, None);
        self.filled(mark, (problem.who(), state), &problem.words, times, unused)
    }

    fn conflict(self, row: &ConflictRow) -> Vec<Cell> {
        let mark = self.look.status(row.status);
        let (names, words) = (row.names(), row.in_full());
        let state = self.is_wide().then_some(row.status);
        self.filled(
            mark,
            (&names, state),
            &words,
            (Some(row.since), None),
            <[String; 2]>::default(),
        )
    }

    fn task(self, task: &TaskRow, since: Option<Moment>) -> Vec<Cell> {
        let state = task.state();
        let words = match (&task.error, &task.prompt) {
            (Some(error), _) => error.clone(),
            (None, Some(prompt)) => quoted(prompt, WORDS),
            (None, None) => "(its prompt cannot be read)".to_owned(),
        };
        let trial = if task.is_trial { "(trial) " } else { "" };
        let by = task.cancelled_in_words().map(|by| format!("{by}: ")).unwrap_or_default();
        let life = task.life_in_words(self.now()).map(|life| format!("(its agent {life}) "));
        let words = format!("{trial}{}{by}{words}", life.unwrap_or_default());
        let status = state.replace('_', " ");
        self.filled(
            self.look.status(state),
            (&task.agent, self.is_wide().then_some(status.as_str())),
            &words,
            (since, None),
            // What a task has used is known at its end.
            match (task.ended_at, &task.usage) {
                (None, None) => <[String; 2]>::default(),
                (_, usage) => reported(usage.as_ref()),
            },
        )
    }

    fn request(self, row: &RequestRow, since: Moment) -> Vec<Cell> {
        let (mark, style) = self.look.status(&row.status);
        let lease = row.lease_in_words(self.now()).map(|lease| format!("({lease}) "));
        // The answer is what an ended one was for.
        let words = row.answer.as_ref().or(row.description.as_ref());
        let words = words.map(|words| quoted(words, WORDS));
        let words = words.unwrap_or_else(|| "(its text cannot be read)".to_owned());
        vec![
            cell(mark, 1).styled(style),
            cell(row.status.clone(), 9),
            cell(who_of(row), 2 * self.name_columns()),
            rest(format!("{}{words}", lease.unwrap_or_default())),
            cell(age(since, self.now()), 4).right(),
        ]
    }

    fn need(self, need: &Need, row: Option<&MemberRow>) -> Vec<Cell> {
        let is_permission = need.kind == NeedKind::Permission;
        let is_soon = |until| self.now().until(until) < SOON_MS;
        let time_left = need.until.filter(|until| self.is_wide() || is_soon(*until));
        let time_left = time_left.and_then(|_| need.time_left(self.now()));
        let before = match time_left {
            Some(left) => format!("{left}: "),
            // In a narrow window the mark and the heading say that it asks, in a wide one its state.
            None if self.is_wide() || is_permission => String::new(),
            None => format!("{}: ", need.word()),
        };
        let words = format!("{before}{}", need.full_words());
        let unread = row.map(|row| short(row.unread as u64)).unwrap_or_default();
        let usage = row.map(used).unwrap_or_default();
        let mark = ("!", self.look.urgent());
        let state = self.is_wide().then(|| need.word());
        self.filled(mark, (&need.who, state), &words, (need.since, Some(unread)), usage)
    }

    fn member(self, row: &MemberRow) -> Vec<Cell> {
        let state = row.state.replace('_', " ");
        let unread = short(row.unread as u64);
        let state = self.is_wide().then_some(state.as_str());
        self.filled(
            self.look.member(row),
            (&row.name, state),
            &self.board.now_words(row),
            (Some(row.since()), Some(unread)),
            used(row),
        )
    }

    fn letter(self, letter: &Letter) -> Vec<Cell> {
        let (mark, style) = self.receipts(letter);
        let kind = match letter.kind.as_str() {
            "message" | "broadcast" => String::new(),
            // A narrow row has room for what is said.
            "response" if !self.is_wide() => String::new(),
            kind => format!("({kind}) "),
        };
        let labels = match (letter.labels().as_slice(), self.is_wide()) {
            ([], _) => String::new(),
            (labels, true) => format!("({}) ", labels.join(", ")),
            _ => {
                let urgent = if letter.urgent { "! " } else { "" };
                let stand = letter.shown_stand().map(|stand| format!("({stand}) "));
                format!("{urgent}{}", stand.unwrap_or_default())
            }
        };
        let text = letter.quoted_text(WORDS);
        let end = match letter.asks_you {
            _ if letter.resolved.is_some() => "(resolved) ",
            Some(UserQuestion::Open) => "(open) ",
            Some(UserQuestion::Answered) => "(answered) ",
            Some(UserQuestion::Over) | None => "",
        };
        vec![
            cell(age(letter.at, self.now()), 4).right(),
            cell(talk(letter), self.talk),
            rest(format!("{end}{kind}{labels}{text}")),
            cell(mark, if self.is_wide() { 12 } else { 4 }).styled(style),
        ]
    }

    /// Returns how far a message has come, in few columns.
    fn receipts(self, letter: &Letter) -> (String, Style) {
        if let [one] = &letter.receipts[..] {
            let (mark, style) = self.look.receipt(one.status);
            let words = if self.is_wide() {
                format!("{mark} {}", one.status.as_str())
            } else {
                mark.to_owned()
            };
            return (words, style);
        }
        let SeenBy { seen, of, withdrawn } = letter.seen_by();
        match of {
            0 if withdrawn > 0 && self.is_wide() => ("withdrawn".to_owned(), Look::faint()),
            0 if withdrawn > 0 => ("-".to_owned(), Look::faint()),
            0 if letter.taken_back => ("nobody".to_owned(), Look::faint()),
            0 => {
                let (wide, narrow) =
                    if letter.is_for_user() { ("for you", "you") } else { ("waits", "wait") };
                (if self.is_wide() { wide } else { narrow }.to_owned(), Look::faint())
            }
            _ if self.is_wide() => (format!("{seen}/{of} seen"), Style::new()),
            // Four columns have no room for more.
            _ if of > 9 => (format!("{}%", seen * 100 / of), Style::new()),
            _ => (format!("{seen}/{of}"), Style::new()),
        }
    }

    /// Returns a row with tokens and cost at its end.
    fn filled(
        self,
        (mark, style): (&str, Style),
        (name, state): (&str, Option<&str>),
        words: &str,
        (since, unread): (Option<Moment>, Option<String>),
        [tokens, cost]: [String; 2],
    ) -> Vec<Cell> {
        let since = since.map(|since| age(since, self.now())).unwrap_or_default();
        let times = (since.as_str(), unread.as_deref());
        let mut cells = self.with_use(mark, name, state, words, times, [&tokens, &cost]);
        cells[0] = cell(mark, 1).styled(style);
        cells
    }

    fn with_use(
        self,
        mark: &str,
        name: &str,
        state: Option<&str>,
        words: &str,
        (age, unread): (&str, Option<&str>),
        [tokens, cost]: [&str; 2],
    ) -> Vec<Cell> {
        let mut cells = vec![cell(mark, 1), cell(name, self.name_columns())];
        cells.extend(state.map(|state| cell(state, 18)));
        cells.extend([rest(words), cell(age, 4).right()]);
        cells.extend(unread.map(|unread| cell(unread, 3).right()));
        cells.extend([
            cell(tokens, if self.is_wide() { 7 } else { 6 }).right(),
            cell(cost, if self.is_wide() { 9 } else { 6 }).right(),
        ]);
        cells
    }
}

/// Returns tokens and cost of a member, also of one that has left. Only agents report them.
fn used(row: &MemberRow) -> [String; 2] {
    if row.kind == "agent" { reported(row.usage.as_ref()) } else { <[String; 2]>::default() }
}

/// Says who writes to whom.
fn talk(letter: &Letter) -> String {
    format!("{} → {}", letter.sender(), letter.to)
}

/// Says who asks, whom, and who has claimed it.
fn who_of(row: &RequestRow) -> String {
    match (&row.to, &row.owner) {
        (Some(to), Some(owner)) if to != owner => format!("{} → {to}: {owner}", row.from),
        (to, owner) => {
            let whom = owner.as_deref().or(to.as_deref()).unwrap_or("?");
            format!("{} → {whom}", row.from)
        }
    }
}

/// Returns tokens and cost of whoever can have used some, with a mark for each that was not reported.
fn reported(usage: Option<&Spent>) -> [String; 2] {
    let tokens = usage.map(|usage| short(usage.total_tokens)).unwrap_or_default();
    let cost = usage.map(money).unwrap_or_default();
    [tokens, cost].map(|shown| if shown.is_empty() { NOT_REPORTED.to_owned() } else { shown })
}
