//! The rows of the read model as cells of a table, for all commands that show them.

use crate::domain::text::visible_letters::quoted;
use crate::view::{
    Board, MemberRow, Moment, RequestRow, StatusLook, StepNode, TaskRow, WorkflowTree, span,
};

/// The most characters of a prompt in a list.
const PROMPT: usize = 60;

/// Returns how long ago a moment was.
pub(in crate::cli::commands::look) fn ago(moment: Moment, now: Moment) -> String {
    span(i64::try_from(moment.until(now)).unwrap_or(i64::MAX))
}

pub(in crate::cli::commands::look) fn member(row: &MemberRow, board: &Board) -> Vec<String> {
    let unread = match row.unread {
        0 => String::new(),
        some => format!("{some} unread"),
    };
    let usage = row.usage.as_ref().map(crate::view::Spent::in_words).unwrap_or_default();
    // Of a permission, the question itself says since when it waits.
    let since = row.waits_since.filter(|_| row.state == "waiting");
    let since = since.map(|since| format!(" {}", ago(since, board.at))).unwrap_or_default();
    // Of two lives of one name, each says when it ended.
    let left = (row.state == "left").then(|| format!(" {} ago", ago(row.last_active, board.at)));
    let state = format!("{}{since}{}", row.state.replace('_', " "), left.unwrap_or_default());
    let words = if row.state == "waiting" { board.now_words(row) } else { board.doing_words(row) };
    // Of an idle member there may be no more to say.
    let words = if words == state { String::new() } else { words };
    let name = format!("{} {}", StatusLook::of_member(row).mark, row.name);
    vec![name, row.kind_in_words(), state, unread, usage, words]
}

pub(in crate::cli::commands::look) fn task(row: &TaskRow, now: Moment) -> Vec<String> {
    let time = match (row.ran_ms(now), row.ended_at) {
        (Some(ms), _) => span(i64::try_from(ms).unwrap_or(i64::MAX)),
        (None, Some(_)) => String::new(),
        (None, None) => ago(row.queued_at, now),
    };
    let words = match (&row.error, &row.prompt) {
        (Some(error), Some(prompt)) => format!("{error}, in {}", quoted(prompt, PROMPT)),
        (Some(error), None) => error.clone(),
        (None, Some(prompt)) => quoted(prompt, PROMPT),
        (None, None) => "(its prompt cannot be read)".to_owned(),
    };
    let usage = row.usage.as_ref().map(crate::view::Spent::in_words).unwrap_or_default();
    let state = row.state().replace('_', " ");
    let by = row.canceller().map(|by| match row.status.as_str() {
        "cancelled" => format!(" by {by}"),
        _ => format!(", cancel asked by {by}"),
    });
    let trial = if row.is_trial { " (trial)" } else { "" };
    let status = format!("{state}{}{trial}", by.unwrap_or_default());
    let life = row.life_in_words(now).map(|life| format!(" ({life})")).unwrap_or_default();
    vec![row.task_id.clone(), status, format!("{}{life}", row.agent), time, usage, words]
}

pub(in crate::cli::commands::look) fn request(row: &RequestRow, now: Moment) -> Vec<String> {
    let owner = row.owner.as_ref().map(|owner| format!(" by {owner}")).unwrap_or_default();
    let lease = row.lease_in_words(now).map(|lease| format!(", {lease}")).unwrap_or_default();
    let words = row.description.as_ref().map(|words| quoted(words, PROMPT)).unwrap_or_default();
    let answer = row.answer.as_ref().map(|words| format!(" → {}", quoted(words, PROMPT)));
    let words = format!("{words}{}", answer.unwrap_or_default());
    vec![
        row.request_id.clone(),
        format!("{}{owner}{lease}", row.status),
        match &row.to {
            None => format!("from {}", row.from),
            Some(to) => format!("from {} → {to}", row.from),
        },
        ago(row.opened_at, now),
        words,
    ]
}

pub(in crate::cli::commands::look) fn workflow(row: &WorkflowTree, now: Moment) -> Vec<String> {
    let trial = if row.is_trial { " (trial)" } else { "" };
    vec![
        row.workflow_id.clone(),
        format!("{}{trial}", row.state()),
        row.progress(),
        format!("{} ago", ago(row.ended_at.unwrap_or(row.created_at), now)),
        quoted(&row.name, PROMPT),
    ]
}

pub(in crate::cli::commands::look) fn step(row: &StepNode, now: Moment) -> Vec<String> {
    let item = if row.item_of.is_some() { "  " } else { "" };
    vec![
        format!("{item}{} {}", row.look().mark, row.name),
        row.state().to_owned(),
        row.agent.clone(),
        row.time(now),
        row.task_id.clone().unwrap_or_default(),
        row.remarks(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_says_how_long_ago_it_ended_and_before_that_when_it_was_created() {
        let mut row = WorkflowTree {
            workflow_id: "wf-1".to_owned(),
            name: "fix".to_owned(),
            status: "running".to_owned(),
            is_gone: false,
            by: "run".to_owned(),
            is_trial: false,
            created_at: Moment(0),
            ended_at: None,
            steps_done: 0,
            steps_total: 0,
            steps: Vec::new(),
        };
        let now = Moment(600_000);
        assert_eq!(workflow(&row, now)[3], "10 min ago");
        row.ended_at = Some(Moment(598_000));
        assert!(workflow(&row, now)[3].starts_with('2'), "{:?}", workflow(&row, now));
    }
}
