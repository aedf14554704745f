//! The tasks, and one task with all its texts, live words and changed files.

use maud::{Markup, html};

use crate::domain::limits;
use crate::domain::member::HOST_NAME_BYTES;
use crate::domain::task::result::FileChange;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, one_line, quoted, seen};
use crate::domain::workflow::laid_out;
use crate::reader::{UnlistedTurn, WholeTask};
use crate::team::FileDiff;
use crate::view::{LiveKind, LiveLine, Moment, Spent, StatusLook, no_text, span};
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{
    cancel_form, clock, mark, member_link, shown_text, task_table, workflow_link,
};
use crate::web::pages::{Extra, FilesElsewhere, PageContext, PageInput};

/// Marks a changed file that no call of the agent names.
const MAYBE_BY_OTHERS: &str = " changed during the task, maybe by others";

/// The heading of the differences.
const DIFFS: &str = "How the files that changed differ from what is committed";

/// The most files, and failed calls, of a list.
const MOST_LISTED: usize = 200;

pub(in crate::web::pages) fn tasks(input: &PageInput<'_>) -> Body {
    let Some(board) = input.snapshot.board.as_deref() else {
        return Body::new("Tasks", Vec::new());
    };
    let all: Vec<_> = board.tasks.iter().collect();
    let html = html! {
        section.sheet id="tasks" aria-labelledby="tasks-heading" {
            h2.unseen id="tasks-heading" { "Tasks" }
            (task_table(&all, board))
        }
    };
    Body::new("Tasks", vec![Part::live("tasks", html)])
}

pub(in crate::web::pages) fn task(
    id: &str,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Body {
    let mut body = Body::new(format!("Task {}", beginning(id, 80)), Vec::new());
    if let Some(turn) = &input.extra.turn {
        body.parts = of_turn(turn, &input.extra.live);
        return body;
    }
    let Some(task) = &input.extra.task else {
        body.parts.push(Part::live("task", html! {
            p id="task" { "There is no task of this id, or it ended too long ago. The search finds older ones." }
        }));
        return body;
    };
    let now = input.snapshot.board.as_ref().map_or(context.now, |board| board.at);
    let is_over = task.row.ended_at.is_some();
    body.parts = vec![
        Part::live("task", head(task, now)),
        Part::live("error", error(task)),
        Part::fixed(
            "prompt",
            texts(
                whole_prompt(task)
                    .or_else(|| lost(task.lost.prompt.as_ref()))
                    .or_else(|| task.row.prompt.clone())
                    .as_deref(),
                "prompt",
                "Its prompt",
            ),
        ),
        Part::live("live", live_words(&input.extra.live)),
        Part::live(
            "output",
            texts(
                task.output
                    .clone()
                    .or_else(|| lost(task.lost.output.as_ref()))
                    .filter(|_| is_over)
                    .as_deref(),
                "output",
                "Its result",
            ),
        ),
        Part::live("diffs", diffs(input.extra)),
    ];
    body.side = vec![Part::live("facts", facts(task)), Part::live("files", files(task))];
    body.side.push(Part::live("ends", html! { div id="ends" { @if !is_over { (cancel_form(&task.row.task_id, "task", context)) } } }));
    body
}

/// Returns the parts of a turn that no known task has.
fn of_turn(turn: &UnlistedTurn, live: &[LiveLine]) -> Vec<Part> {
    let is_over = turn.ended_at.is_some();
    let head = html! {
        p.title id="task" {
            span {
                "A turn" @if let Some(agent) = &turn.agent { " of " (member_link(agent)) }
                " without a task, or with one that ended too long ago"
                @if let Some(at) = turn.began_at { " · " (clock(at)) } @if !is_over { " · no end so far" }
            }
            span.id { (turn.turn_id) }
        }
    };
    let output = turn.output.as_deref().filter(|_| is_over);
    vec![
        Part::live("task", head),
        Part::fixed("prompt", texts(turn.whole_prompt.as_deref(), "prompt", "Its prompt")),
        Part::live("live", live_words(live)),
        Part::live("output", texts(output, "output", "What it has said")),
    ]
}

fn head(task: &WholeTask, now: Moment) -> Markup {
    let row = &task.row;
    let time = row.ran_ms(now).map(|ms| span(i64::try_from(ms).unwrap_or(i64::MAX)));
    let state = row.state();
    html! {
        p.title id="task" {
            span { (mark(StatusLook::of(state), state)) " · " (member_link(&row.agent)) @if let Some(time) = time { " · " (time) } @if row.cancel_asked && state != "cancelling" { " · to be cancelled" } @if let Some(gone) = row.gone_in_words() { " · " (gone) } @if let Some(by) = row.cancelled_in_words() { " · " (by) } }
            span.id { (row.task_id) }
        }
    }
}

/// Returns the prompt of a task, of a step its own words before what it is given.
pub(in crate::web::pages) fn whole_prompt(task: &WholeTask) -> Option<String> {
    task.whole_prompt.as_deref().map(laid_out)
}

/// Says in the place of a text why it is lost.
fn lost(why: Option<&String>) -> Option<String> {
    why.map(|why| no_text(Some(why)))
}

fn error(task: &WholeTask) -> Markup {
    let words = task.whole_error.as_deref().or(task.row.error.as_deref());
    let heading = if task.row.status == "failed" { "Why it failed" } else { "Why it ended" };
    html! {
        div id="error" { @if let Some(words) = words {
            section.sheet.problems aria-labelledby="error-heading" { h2 id="error-heading" { (heading) } (shown_text(words, "text", "The error")) }
        } }
    }
}

fn texts(text: Option<&str>, id: &str, heading: &str) -> Markup {
    html! {
        div id=(id) { @if let Some(text) = text {
            section.sheet aria-labelledby={ (id) "-heading" } { h2 id={ (id) "-heading" } { (heading) } (shown_text(text, "text", heading)) }
        } }
    }
}

fn facts(task: &WholeTask) -> Markup {
    let row = &task.row;
    let used = row.usage.as_ref().map(Spent::in_words).unwrap_or_default();
    html! {
        section.sheet id="facts" aria-labelledby="facts-heading" {
            h2 id="facts-heading" { "What is known" }
            dl.facts {
                dt { "agent" } dd { (member_link(&row.agent)) @if let Some(profile) = &row.profile { " (" (profile) ")" } @if let Some(left) = &row.agent_left { ", which left " @if let Some(at) = left.at { (clock(at)) } @else { "earlier" } } }
                @if let Some(host) = &row.host { dt { "machine" } dd { (quoted(host, HOST_NAME_BYTES)) } }
                dt { "assigned by" } dd { (member_link(&row.assigned_by)) }
                @if let Some(id) = &row.workflow_id { dt { "workflow" } dd { (workflow_link(id, id)) } }
                dt { "assigned" } dd { (clock(row.queued_at)) }
                @if let Some(at) = row.started_at { dt { "began" } dd { (clock(at)) } }
                @if let Some(at) = row.ended_at { dt { "ended" } dd { (clock(at)) } }
                @if !used.is_empty() { dt { "used" } dd { (used) } }
            }
        }
    }
}

fn files(task: &WholeTask) -> Markup {
    let details = task.details.as_ref();
    let files = details.map(|details| details.files.as_slice()).unwrap_or_default();
    let failed = details.map(|details| details.failed_calls.as_slice()).unwrap_or_default();
    html! {
        div id="files" {
            @if let Some(why) = lost(task.lost.details.as_ref()) {
                section.sheet aria-labelledby="lost-heading" { h2 id="lost-heading" { "Changed files and failed calls" } p.body { (why) } }
            }
            @if !files.is_empty() {
                section.sheet aria-labelledby="files-heading" {
                    h2 id="files-heading" { (counted(files.len(), "changed file")) }
                    ul.body { @for file in files.iter().take(MOST_LISTED) { li { span.tag { (file.change.as_str()) } " " code { (one_line(&file.path)) } @if !file.is_own() { span.small.soft { (MAYBE_BY_OTHERS) } } } } }
                }
            }
            @if !failed.is_empty() {
                section.sheet aria-labelledby="failed-heading" {
                    h2 id="failed-heading" { (counted(failed.len(), "failed call")) }
                    ul.body { @for call in failed.iter().take(MOST_LISTED) { li { span.mark.bad aria-hidden="true" { "✗" } " " (one_line(&call.title)) p.small.soft { (beginning(&call.why, 400)) } } } }
                }
            }
        }
    }
}

/// Returns what an agent says and does in its turn.
pub(in crate::web::pages) fn live_words(lines: &[LiveLine]) -> Markup {
    html! {
        div id="live" { @if !lines.is_empty() {
            section.sheet aria-labelledby="live-heading" {
                h2 id="live-heading" { "What it says and does" }
                ol.live id="live-lines" data-follow="" tabindex="0" aria-label="What it says and does, the newest last" {
                    @for line in lines { (live_line(line)) }
                }
            }
        } }
    }
}

fn live_line(line: &LiveLine) -> Markup {
    let (class, mark, word) = match line.kind {
        LiveKind::Words => ("words", "", ""),
        LiveKind::Thought => ("thought", "~", "thinks: "),
        LiveKind::Call => ("call", "▸", "calls: "),
        LiveKind::Permission => ("permission", "!", "permission: "),
        LiveKind::Told => ("told", "←", "is told: "),
        LiveKind::Note => ("note", "·", "note: "),
    };
    html! {
        li class=(class) dir="auto" { span.mark aria-hidden="true" { (mark) } @if !word.is_empty() { span.unseen { (word) } } (line.text) }
    }
}

/// Returns how files differ from what is committed, or where they are. The task says which of them its agent has not named in its calls.
pub(in crate::web::pages) fn diffs(extra: &Extra) -> Markup {
    let details = extra.task.as_ref().and_then(|task| task.details.as_ref());
    let files = details.map(|details| details.files.as_slice());
    let elsewhere =
        extra.elsewhere.as_ref().filter(|_| files.is_some_and(|files| !files.is_empty()));
    let is_own = |diff: &FileDiff| {
        let mut files = files.into_iter().flatten();
        files.find(|file| file.path == diff.path).is_none_or(FileChange::is_own)
    };
    html! {
        div id="diffs" { @if let Some(elsewhere) = elsewhere {
            section.sheet aria-labelledby="diffs-heading" {
                h2 id="diffs-heading" { (DIFFS) }
                p.body.soft { (where_files_are(elsewhere)) }
            }
        } @else if !extra.diffs.is_empty() {
            section.sheet aria-labelledby="diffs-heading" {
                h2 id="diffs-heading" { (DIFFS) }
                @for (at, diff) in extra.diffs.iter().enumerate().take(MOST_LISTED) {
                    details.body id={ "diff-" (at) } open[at == 0] {
                        summary { code { (one_line(&diff.path)) } @if diff.is_cut { " (its beginning)" } @if !is_own(diff) { span.small.soft { (MAYBE_BY_OTHERS) } } }
                        @match &diff.diff {
                            Ok(text) => (diff_lines(text)),
                            Err(why) => p.soft { (one_line(why)) },
                        }
                    }
                }
            }
        } }
    }
}

fn where_files_are(elsewhere: &FilesElsewhere) -> String {
    let machine = quoted(&elsewhere.machine, HOST_NAME_BYTES);
    if elsewhere.is_namesake {
        format!(
            "The files are in another checkout, on a machine that is called {machine} like this one: only git there can compare them."
        )
    } else {
        format!("The files are on {machine}: only git there can compare them.")
    }
}

fn diff_lines(text: &str) -> Markup {
    // Codes for colours are part of what has changed, so they are not left out.
    let shown: String = text.chars().take(limits::WINDOW_PROMPT_CHARS).collect();
    let missing = text.chars().count().saturating_sub(limits::WINDOW_PROMPT_CHARS);
    let shown = seen(&shown);
    html! {
        pre.code.diff tabindex="0" role="group" aria-label="The difference" {
            @for line in shown.lines() {
                @let class = match line.as_bytes() {
                    [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
                    [b'+', ..] => "add",
                    [b'-', ..] => "cut",
                    [b'@', ..] => "place",
                    _ => "same",
                };
                span class=(class) { (line) }
            }
        }
        @if missing > 0 { p.empty { "… and " (counted(missing, "more character")) } }
    }
}
