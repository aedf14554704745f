//! The texts of the dialogs: help, an opened row, and a question with all that is known of it. Pure.

use super::answering::{Answering, Subject};
use super::item::Item;
use super::pane::Pane;
use super::state::{Dialog, Screen};
use crate::cli::output::wrapped;
use crate::config::KeyAction;
use crate::domain::text::visible_letters::quoted;
use crate::view::{
    Board, Decided, Letter, MemberRow, Moment, Need, NeedKind, ReceiptStatus, StepNode,
    WorkflowTree, span, span_left,
};

/// The most messages of a member below what is known of it.
const MESSAGES: usize = 50;

/// The most characters of a text that is quoted.
const QUOTED: usize = 4_000;

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum LineKind {
    Plain,
    Heading,
    /// Less important.
    Faint,
}

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct TextLine {
    pub(in crate::cli::commands::top) kind: LineKind,
    pub(in crate::cli::commands::top) text: String,
}

fn line(text: impl Into<String>) -> TextLine {
    TextLine { kind: LineKind::Plain, text: text.into() }
}

fn heading(text: impl Into<String>) -> TextLine {
    TextLine { kind: LineKind::Heading, text: text.into() }
}

fn faint(text: impl Into<String>) -> TextLine {
    TextLine { kind: LineKind::Faint, text: text.into() }
}

impl Screen {
    /// Returns the columns of a dialog's text: those of the window without its frame.
    pub(in crate::cli::commands::top) fn text_columns(&self) -> usize {
        usize::from(self.size.1.saturating_sub(4).max(1))
    }

    /// Returns the rows of a dialog's text: those of the window without its frame, and without the answers if it has some.
    pub(in crate::cli::commands::top) fn text_rows(&self) -> usize {
        let more = if matches!(self.dialog, Dialog::Answer(_)) { 2 } else { 0 };
        usize::from(self.size.0.saturating_sub(3 + more).max(1))
    }

    /// Returns the title of the dialog that shows a text, and the text, broken into rows.
    pub(in crate::cli::commands::top) fn dialog_text(&self) -> Option<(String, Vec<TextLine>)> {
        let (title, lines) = match &self.dialog {
            Dialog::Help { .. } => ("Keys".to_owned(), self.help()),
            Dialog::Open { key, .. } => self.opened(key),
            Dialog::Answer(answering) => self.question(answering),
            _ => return None,
        };
        let columns = self.text_columns();
        let lines = lines.into_iter().flat_map(|line| {
            let kind = line.kind;
            wrapped(&line.text, columns).into_iter().map(move |text| TextLine { kind, text })
        });
        Some((title, lines.collect()))
    }

    /// Returns how far the text of the dialog can be scrolled.
    pub(super) fn most_scroll(&self) -> usize {
        let lines = self.dialog_text().map_or(0, |(_, lines)| lines.len());
        lines.saturating_sub(self.text_rows())
    }

    fn help(&self) -> Vec<TextLine> {
        let mut lines: Vec<_> = KeyAction::all()
            .map(|action| {
                let keys =
                    self.keys.keys_of(action).iter().map(ToString::to_string).collect::<Vec<_>>();
                let keys = if keys.is_empty() { "(no key)".to_owned() } else { keys.join(" ") };
                line(format!("{keys:<16} {}", action.meaning()))
            })
            .collect();
        lines.extend([
            line(format!("{:<16} goes to that pane", "1 … 6")),
            line(format!("{:<16} closes what is open; then the peek; then the filter", "esc")),
            line(format!("{:<16} leaves the window", "ctrl-c")),
            line(""),
            heading("Marks"),
            line("! needs you   ● working   ○ idle   ✗ ended or failed   ✓ done   · waiting   - did not run"),
            line("– of tokens and costs: not reported (yet) by the agent"),
            line("Of a message: ○ unread   ◐ delivered   ● seen   - withdrawn   ✗ will not reach it"),
            line("Of live words: > calls a tool   → is told   - is noted"),
            line("What its recipient says of it: ✓ acked   ■ resolved   □ superseded"),
            line(""),
            faint("Keys are bound in [top.keys] of your config.toml."),
        ]);
        lines
    }

    /// Returns the row of a key, in whatever pane it is.
    pub(super) fn item_of(&self, key: &str) -> Option<Item<'_>> {
        let mut items = Pane::ALL.into_iter().flat_map(|pane| self.items(pane));
        items.find(|item| item.key().as_deref() == Some(key))
    }

    fn opened(&self, key: &str) -> (String, Vec<TextLine>) {
        let (Some(item), Some(board)) = (self.item_of(key), self.board()) else {
            return ("Gone".to_owned(), vec![line("This is not on the board any more.")]);
        };
        match item {
            Item::Heading(..) => (String::new(), Vec::new()),
            Item::Need(need, row) => self.need(&item, need, row, board),
            Item::Problem(problem) => {
                let mut lines = vec![line(problem.words.clone())];
                lines.extend(problem.advice().map(line));
                lines.extend((!problem.agents.is_empty()).then(|| line(problem.agents.join(", "))));
                (format!("Problem: {}", problem.who()), lines)
            }
            Item::Conflict(row) => {
                let mut lines = vec![line(row.in_full())];
                let name = row.parties.first().map_or("NAME", |party| &party.name);
                let command = format!("cli-team-bridge send {name} TEXT --reply-to {}", row.thread);
                lines.push(line(format!("`{command}` decides it, at any time")));
                lines.extend(self.written_in(&row.thread, board.at));
                (format!("{} disagree", row.names()), lines)
            }
            Item::Member(row) => (row.name.clone(), self.member(row, board)),
            Item::Letter(letter) => {
                let mut lines = of_letter(letter, board.at);
                let conflict = board.conflicts.iter().find(|row| row.thread == letter.thread_id);
                lines.extend(conflict.map(|row| {
                    line(format!("disagreement of {} in its thread: {}", row.names(), row.words()))
                }));
                (format!("{} → {}", letter.sender(), letter.to), lines)
            }
            Item::Decided(row) => self.decided(row, board.at),
            Item::Task(task) => {
                let known = self.news.task.as_ref().filter(|(id, _)| *id == task.task_id);
                let lines = known.map_or_else(
                    || vec![faint("Reading …")],
                    |(_, lines)| lines.iter().map(line).collect(),
                );
                (format!("Task of {}", task.agent), lines)
            }
            Item::Request(row) => {
                let words = row.description.as_deref().unwrap_or("(its text cannot be read)");
                let mut lines = vec![line(quoted(words, QUOTED)), line("")];
                if row.status == "completed" {
                    let answer = row.answer.as_ref().map(|answer| quoted(answer, QUOTED));
                    let none = "(the log has its answer)".to_owned();
                    lines.extend([heading("Its answer"), line(answer.unwrap_or(none)), line("")]);
                }
                lines.push(line(format!(
                    "{} {}: {}",
                    row.request_id,
                    row.status,
                    row.outcome_in_words()
                )));
                lines.push(faint(format!("opened {} ago", ago(row.opened_at, board.at))));
                lines.extend(row.lease_in_words(board.at).map(faint));
                let answered = row.answered_at.map(|at| ago(at, board.at));
                lines.extend(answered.map(|time| faint(format!("answered {time} ago"))));
                let to = row.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
                (format!("Request of {}{to}", row.from), lines)
            }
            Item::Workflow(tree) => {
                let lines = vec![
                    line(format!("{} is {}", tree.workflow_id, tree.state())),
                    line(tree.progress()),
                    line(format!("led by {}", tree.by)),
                    faint(format!("created {} ago", ago(tree.created_at, board.at))),
                ];
                (format!("Workflow {}", quoted(&tree.name, QUOTED)), lines)
            }
            Item::Step(tree, step, _) => of_step(tree, step, board.at),
            Item::Happening(happening) => {
                let mut lines = vec![line(happening.words.clone()), line("")];
                lines.extend(happening.ids.iter().map(|id| faint(id.clone())));
                lines.push(faint(format!("{} ago", ago(happening.at, board.at))));
                (happening.topic.as_str().to_owned(), lines)
            }
        }
    }

    /// Returns what was decided, and what was written about it.
    fn decided(&self, row: &Decided, now: Moment) -> (String, Vec<TextLine>) {
        let mut lines = vec![line(
            row.words.as_ref().map_or_else(|| row.what(QUOTED), |words| quoted(words, QUOTED)),
        )];
        if row.words.is_some() {
            lines.extend(
                row.about.iter().map(|about| line(format!("about {}", quoted(about, QUOTED)))),
            );
        }
        lines.push(faint(format!("{}, {} ago", row.id, ago(row.at, now))));
        lines.push(faint(row.command()));
        let thread = row.thread_id.iter().flat_map(|thread| self.letters_in(thread));
        let letters: Vec<_> = thread.take(MESSAGES).collect();
        if !letters.is_empty() {
            lines.extend([line(""), heading("What they wrote")]);
        }
        lines.extend(letters.into_iter().flat_map(|letter| of_letter(letter, now)));
        (row.who(), lines)
    }

    /// Returns all that is known of something that waits for a person.
    fn need(
        &self,
        item: &Item<'_>,
        need: &Need,
        row: Option<&MemberRow>,
        board: &Board,
    ) -> (String, Vec<TextLine>) {
        let mut lines = vec![line(need.full_words())];
        lines.extend(need.way_out().map(|way_out| line(way_out.advice())));
        let command = need.command();
        let names_id = |id: &&String| command.as_ref().is_some_and(|words| words.contains(*id));
        lines.extend(need.id.iter().filter(|id| !names_id(id)).map(|id| faint(id.clone())));
        lines.extend(command.map(line));
        if let Some(step) = need.asking_step() {
            lines.extend(need.since.map(|since| line(format!("for {}", ago(since, board.at)))));
            lines.push(line(""));
            lines.extend(self.asking_step(step, board));
        }
        if let Some((_, thread)) = item.disagreement() {
            lines.extend(self.written_in(thread, board.at));
        }
        if let Some(row) = row {
            lines.push(line(""));
            lines.extend(self.member(row, board));
        }
        let title = match (need.kind, &need.state) {
            (_, Some(state)) => format!("{} is {state}", need.who),
            (NeedKind::Question, _) => format!("{} asks you", need.who),
            (NeedKind::Decision, _) => format!("{} disagree", need.who),
            (NeedKind::Approval, _) => format!("The step {} asks to begin", need.who),
            (NeedKind::Permission | NeedKind::Stuck, _) => {
                format!("{} asks for permission", need.who)
            }
        };
        (title, lines)
    }

    /// Returns what those who disagree in a thread wrote there, the last first.
    fn written_in(&self, thread: &str, now: Moment) -> Vec<TextLine> {
        let mut lines = vec![line(""), heading("What they wrote")];
        for letter in self.letters_in(thread).into_iter().rev().take(MESSAGES) {
            lines.extend(of_letter(letter, now));
        }
        lines
    }

    /// Returns all that is known of a member, and its last messages.
    fn member(&self, row: &MemberRow, board: &Board) -> Vec<TextLine> {
        let waits = row.state == "waiting";
        let doing = if waits { board.now_words(row) } else { row.doing.clone() };
        let mut lines = vec![line(format!("{}: {doing}", row.state.replace('_', " ")))];
        let mut fact = |name: &str, value: Option<String>| {
            let value = value.filter(|value| !value.is_empty());
            lines.extend(value.map(|value| line(format!("{name:<9} {value}"))));
        };
        fact("kind", Some(row.kind.clone()));
        fact("profile", row.profile.clone());
        fact("model", row.model.as_ref().map(|model| quoted(model, QUOTED)));
        fact(
            "roles",
            Some(row.roles.iter().map(|role| quoted(role, QUOTED)).collect::<Vec<_>>().join(", ")),
        );
        fact("cwd", row.cwd.as_ref().map(|cwd| quoted(cwd, QUOTED)));
        fact("task", row.task_id.clone());
        fact("waits for", row.waits_for.clone());
        for owed in &row.owes {
            fact("owes", Some(owed.in_words(board.at).replacen("owes ", "", 1)));
        }
        let holds = row.holds_in_words(board.at);
        fact("holds", holds.map(|words| words.replacen("holds ", "", 1)));
        fact("problem", row.failed_wake.clone());
        fact("queue", (row.queued > 0).then(|| row.queued.to_string()));
        fact("unread", (row.unread > 0).then(|| row.unread.to_string()));
        fact("delivery", Some(row.delivery.join(", ")));
        fact("tools", row.tools.clone());
        fact("restarts", (row.restarts > 0).then(|| row.restarts.to_string()));
        let used = row.usage.as_ref().map(crate::view::Spent::in_words);
        let none = (row.kind == "agent" && row.state != "left").then(|| "not reported".to_owned());
        fact("used", used.or(none));
        let lived = i64::try_from(row.live_seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        fact("here for", Some(span(lived)));
        fact("active", Some(format!("{} ago", ago(row.last_active, board.at))));
        if !row.reading_turns.is_empty() {
            lines.extend([line(""), heading("Turns for its messages alone")]);
        }
        lines.extend(row.reading_turns.iter().map(|turn| {
            let since = ago(turn.began_at, board.at);
            let unread = turn.left_unread.map(|words| format!(", {words}")).unwrap_or_default();
            line(format!("{since} ago: cli-team-bridge task {}{unread}", turn.turn_id))
        }));
        let letters = self.letters_of(&row.name);
        lines.extend([line(""), heading("Messages")]);
        if letters.is_empty() {
            lines.push(faint("none"));
        }
        for letter in letters.into_iter().rev().take(MESSAGES) {
            lines.extend(of_letter(letter, board.at));
        }
        lines
    }

    /// Returns the messages from or to a member, oldest first.
    pub(in crate::cli::commands::top) fn letters_of(&self, name: &str) -> Vec<&Letter> {
        self.news.letters.iter().filter(|letter| letter.concerns(name)).collect()
    }

    /// Says whether a message in reply to this one decides what members disagree about.
    pub(in crate::cli::commands::top) fn decides(&self, id: &str) -> bool {
        let is_it =
            |need: &&Need| need.kind == NeedKind::Decision && need.id.as_deref() == Some(id);
        self.board().is_some_and(|board| board.needs_you.iter().any(|need| is_it(&need)))
    }

    /// Returns the messages of a thread, oldest first.
    pub(in crate::cli::commands::top) fn letters_in(&self, thread: &str) -> Vec<&Letter> {
        self.news.letters.iter().filter(|letter| letter.thread_id == thread).collect()
    }

    /// Returns what a step that asks to begin would do.
    fn asking_step(&self, (workflow, step): (&str, &str), board: &Board) -> Vec<TextLine> {
        let tree = board.workflows.iter().find(|tree| tree.workflow_id == workflow);
        let node = tree.and_then(|tree| tree.steps.iter().find(|node| node.name == step));
        let mut lines = Vec::new();
        if let (Some(tree), Some(node)) = (tree, node) {
            let name = quoted(&tree.name, QUOTED);
            lines.push(line(format!("It gives {} a task, in the workflow {name}.", node.agent)));
            if !node.depends_on.is_empty() {
                lines.push(line(format!("It comes after {}.", node.depends_on.join(", "))));
            }
        }
        let prompt =
            self.news.prompt.as_ref().filter(|(of, lines)| {
                of.workflow == workflow && of.step == step && !lines.is_empty()
            });
        match prompt {
            Some((_, prompt)) => {
                lines.push(heading("The task"));
                lines.extend(prompt.iter().map(line));
                lines.push(line(""));
            }
            // It is read at once, but not by the thread that paints.
            None => lines.push(faint("Its prompt has not been read.")),
        }
        lines
    }

    fn question(&self, answering: &Answering) -> (String, Vec<TextLine>) {
        let Some(board) = self.board() else { return (String::new(), Vec::new()) };
        match &answering.subject {
            Subject::Step(workflow, step) => {
                let mut lines = self.asking_step((workflow, step), board);
                lines.push(faint(workflow.clone()));
                (format!("May the step {step} begin?"), lines)
            }
            Subject::Permission(id) => {
                let row = board.permissions.iter().find(|row| row.permission_id == *id);
                let Some(row) = row else { return (String::new(), Vec::new()) };
                let mut lines = vec![heading(row.kind.clone()), line(&row.exact_title)];
                if !row.paths.is_empty() {
                    lines.push(heading("Paths"));
                    lines.extend(row.exact_paths.iter().map(line));
                }
                let call =
                    self.news.call.as_ref().filter(|(of, lines)| of == id && !lines.is_empty());
                if let Some((_, call)) = call {
                    // The question itself may be cut.
                    let call = call.strip_prefix(std::slice::from_ref(&row.title)).unwrap_or(call);
                    if !call.is_empty() {
                        lines.push(heading("The whole call, as the agent has announced it"));
                        lines.extend(call.iter().map(line));
                    }
                }
                lines.extend([
                    line(""),
                    faint(format!(
                        "{id}; if nobody answers, denied in {}",
                        span_left(row.expires_at, board.at)
                    )),
                ]);
                (format!("May {} do this?", row.agent), lines)
            }
        }
    }
}

/// Returns all that is known of a step.
fn of_step(tree: &WorkflowTree, step: &StepNode, now: Moment) -> (String, Vec<TextLine>) {
    let state = format!("{} by {}", step.state(), step.agent);
    let time = Some(step.time(now)).filter(|time| !time.is_empty());
    let state: Vec<_> =
        [Some(state), time, step.attempts_in_words()].into_iter().flatten().collect();
    let mut lines = vec![line(state.join(", ")), line(format!("workflow {}", tree.workflow_id))];
    if !step.depends_on.is_empty() {
        lines.push(line(format!("after {}", step.depends_on.join(", "))));
    }
    lines.extend(step.task_id.iter().map(|id| line(id.clone())));
    // The note is the beginning of the reason, or says more than it.
    let is_reason = step.status.is_final();
    let note = step.note.as_ref().filter(|_| !is_reason || step.reason.is_none());
    lines.extend(note.map(|note| line(note.clone())));
    lines.extend(step.reason.iter().map(|why| line(quoted(why, QUOTED))));
    (format!("Step {}", step.name), lines)
}

/// Returns a message as lines, with all its receipts.
fn of_letter(letter: &Letter, now: Moment) -> Vec<TextLine> {
    let kind = if letter.kind == "message" { String::new() } else { format!(" ({})", letter.kind) };
    let labels = letter.labels_in_brackets();
    let text = letter.quoted_text(QUOTED);
    let answers = letter.reply_to.as_ref().map(|id| format!(", answers {id}"));
    let head = format!(
        "{} → {}{kind}{labels}, {} ago{}",
        letter.sender(),
        letter.to,
        ago(letter.at, now),
        answers.unwrap_or_default()
    );
    let mut lines = vec![line(head), line(format!("  {text}"))];
    let attached =
        letter.attachments.iter().map(|one| line(format!("  attached: {}", one.in_words())));
    lines.extend(attached);
    lines.extend(letter.question_in_words().map(|words| line(format!("  {words}"))));
    let end = letter.resolved.as_ref();
    lines.extend(end.map(|end| line(format!("  {}, {} ago", end.in_words(), ago(end.at, now)))));
    // Those of whom there is no more to say are one line a status: a message to all may have many of them.
    let mut bare = Vec::<(ReceiptStatus, Vec<&str>)>::new();
    for receipt in &letter.receipts {
        if receipt.method.is_some() || receipt.seen_at.is_some() {
            lines.push(faint(format!("  {}", receipt.in_words(letter.at))));
            continue;
        }
        match bare.iter_mut().find(|(status, _)| *status == receipt.status) {
            Some((_, names)) => names.push(&receipt.member),
            None => bare.push((receipt.status, vec![&receipt.member])),
        }
    }
    lines.extend(
        bare.into_iter()
            .map(|(status, names)| faint(format!("  {}: {}", names.join(", "), status.as_str()))),
    );
    lines
}

fn ago(moment: Moment, now: Moment) -> String {
    span(i64::try_from(moment.until(now)).unwrap_or(i64::MAX))
}
