//! A task as lines for people. Pure.

use super::rows_as_lines::ago;
use crate::domain::task::result::Details;
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::workflow::laid_out;
use crate::reader::{UnlistedTurn, WholeTask};
use crate::view::{Moment, no_text, span};

/// The most characters of a path, a title or an error of a call.
const SHOWN: usize = 200;

/// Returns the lines of a task.
pub(in crate::cli::commands) fn of(task: &WholeTask, now: Moment) -> Vec<String> {
    let row = &task.row;
    let profile = row.profile.as_ref().filter(|profile| **profile != row.agent);
    let profile = profile.map(|profile| format!(" ({profile})")).unwrap_or_default();
    let life = row.life_in_words(now).map(|life| format!(", which {life}")).unwrap_or_default();
    let state = row.state().replace('_', " ");
    let mut lines = vec![format!("{}  {state}  {}{profile}{life}", row.task_id, row.agent)];
    let mut head = vec![format!("assigned by {} {} ago", row.assigned_by, ago(row.queued_at, now))];
    head.extend(row.ran_ms(now).map(|ms| {
        let time = span(i64::try_from(ms).unwrap_or(i64::MAX));
        match row.ended_at {
            Some(_) => format!("took {time}"),
            None if row.gone_in_words().is_some() => format!("began {time} ago"),
            None => format!("running for {time}"),
        }
    }));
    head.extend(row.gone_in_words().map(str::to_owned));
    head.extend(row.cancelled_in_words());
    let trial = if row.is_trial { ", in which scripts play the agents" } else { "" };
    head.extend(row.workflow_id.as_ref().map(|id| format!("a step of {id}{trial}")));
    head.extend(row.host.as_ref().map(|host| format!("on {}", beginning(host, SHOWN))));
    head.extend(row.usage.as_ref().map(crate::view::Spent::in_words));
    lines.push(head.join(", "));
    text(&mut lines, "Error", task.whole_error.as_deref());
    let lost = |why: Option<&String>| why.map(|why| no_text(Some(why)));
    let prompt =
        task.whole_prompt.as_deref().map(laid_out).or_else(|| lost(task.lost.prompt.as_ref()));
    text(&mut lines, "Prompt", prompt.as_deref());
    let heading = if row.ended_at.is_some() { "Result" } else { "So far" };
    let output = task.output.clone().or_else(|| lost(task.lost.output.as_ref()));
    text(&mut lines, heading, output.as_deref());
    text(&mut lines, "Files and failed calls", lost(task.lost.details.as_ref()).as_deref());
    if let Some(details) = &task.details {
        lists(&mut lines, details);
    }
    lines
}

/// Returns the lines of a turn that no known task has.
pub(in crate::cli::commands) fn of_turn(turn: &UnlistedTurn, now: Moment) -> Vec<String> {
    let agent = turn.agent.as_deref().unwrap_or("an agent");
    let mut lines = vec![
        format!("{}  a turn of {}", turn.turn_id, beginning(agent, SHOWN)),
        "It had no task, or one that ended too long ago.".to_owned(),
    ];
    let took = turn.began_at.zip(turn.ended_at).map(|(began, ended)| ago(began, ended));
    lines.extend(turn.began_at.map(|began| {
        let end = took.map_or_else(|| "no end so far".to_owned(), |took| format!("took {took}"));
        format!("began {} ago, {end}", ago(began, now))
    }));
    text(&mut lines, "Prompt", turn.whole_prompt.as_deref());
    let heading = if turn.ended_at.is_some() { "Result" } else { "So far" };
    text(&mut lines, heading, turn.output.as_deref());
    lines
}

fn text(lines: &mut Vec<String>, heading: &str, text: Option<&str>) {
    if let Some(text) = text {
        lines.push(String::new());
        lines.push(heading.to_owned());
        lines.extend(text.trim_end().lines().map(|line| format!("  {line}").trim_end().to_owned()));
    }
}

fn lists(lines: &mut Vec<String>, details: &Details) {
    if !details.files.is_empty() {
        lines.extend([String::new(), "Files".to_owned()]);
        lines.extend(details.files.iter().map(|file| {
            let path = quoted(&file.path, SHOWN);
            let others =
                if file.is_own() { "" } else { "  changed during the task, maybe by others" };
            format!("  {:<8} {path}{others}", file.change.as_str())
        }));
    }
    if !details.failed_calls.is_empty() {
        lines.extend([String::new(), "Failed calls".to_owned()]);
        let calls = details.failed_calls.iter();
        lines.extend(calls.map(|call| {
            format!(
                "  {} {}: {}",
                quoted(&call.kind, SHOWN),
                quoted(&call.title, SHOWN),
                quoted(&call.why, SHOWN)
            )
        }));
    }
}
