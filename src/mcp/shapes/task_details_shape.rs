//! The details of a task's result in the tools' results: errors, files, failed calls, tokens and money.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::limits;
use crate::domain::task::result::{Details, FailedCall, FileChange, Usage};
use crate::domain::task::{TaskError, error_class};
use crate::domain::time::iso8601;

/// What went wrong with a task.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorView {
    /// What kind of error: auth, quota, model, mode, unavailable, silent, limit, refused, start, crashed, cancelled, agent …
    class: String,
    /// What happened.
    message: String,
    /// When to try again, in UTC, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
    /// How your user logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<String>,
    /// The valid names, after an invalid one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known: Vec<String>,
}

impl From<TaskError> for ErrorView {
    fn from(error: TaskError) -> Self {
        Self {
            class: error.class,
            message: error.message,
            retry_at: error.retry_ms.map(iso8601),
            login: error.login,
            known: error.known,
        }
    }
}

impl ErrorView {
    /// Makes the error of a running task whose agent shows no sign of life.
    pub(crate) fn of_silence() -> Self {
        let message = "the agent is silent: keep waiting, end its turn with cancel_task, or stop \
            it with kill_agent";
        TaskError::new(error_class::SILENT, message).into()
    }
}

/// What a task used, as far as its agent tells.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageView {
    /// Tokens the model read.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    /// Tokens it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    /// Tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_tokens: Option<u64>,
    /// All tokens, as the agent counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Its currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    /// Tokens in the model's context at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_used: Option<u64>,
    /// Size of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_size: Option<u64>,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        let cost = usage.cost;
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            total_tokens: usage.total_tokens,
            cost: cost.as_ref().map(crate::domain::task::result::Money::amount),
            currency: cost.map(|cost| cost.currency),
            context_used: usage.context_used,
            context_size: usage.context_size,
        }
    }
}

/// A changed file.
#[derive(Serialize, JsonSchema)]
struct FileView {
    /// From the project's root.
    path: String,
    /// created, edited, deleted or moved.
    change: String,
    /// Who reported it: `tool_call` (the agent) or `git` (which cannot tell who did it).
    sources: Vec<String>,
}

impl From<FileChange> for FileView {
    fn from(file: FileChange) -> Self {
        let sources = file.sources.into_iter();
        Self {
            path: file.path,
            change: file.change.as_str().to_owned(),
            sources: sources.map(|source| source.as_str().to_owned()).collect(),
        }
    }
}

/// A failed tool call.
#[derive(Serialize, JsonSchema)]
struct FailedCallView {
    /// The agent's title for it.
    title: String,
    /// The kind of tool.
    kind: String,
    /// Its error.
    why: String,
}

impl From<FailedCall> for FailedCallView {
    fn from(call: FailedCall) -> Self {
        Self { title: call.title, kind: call.kind, why: call.why }
    }
}

/// The lists of a result, or a part of them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListsView {
    /// Changed files, from `list_offset` on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileView>,
    /// How many there are.
    files_total: usize,
    /// compared, absent, or why git was not used.
    git: String,
    /// Failed tool calls, from `list_offset` on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_calls: Vec<FailedCallView>,
    /// How many there are.
    failed_calls_total: usize,
    /// Older calls, missing from these lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_left_out: Option<u64>,
    /// Where the rest of the lists begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_list_offset: Option<usize>,
}

impl ListsView {
    /// Shows the part of both lists that fits, from an offset that counts in both alike.
    pub(crate) fn of(details: Details, offset: usize) -> Self {
        let (files_total, failed_calls_total) = (details.files.len(), details.failed_calls.len());
        let of_file = |file: &FileChange| file.path.len() + 64;
        let of_call = |call: &FailedCall| call.title.len() + call.why.len() + 64;
        // Both end at the same offset, so that one number says where to continue.
        let end = fitting(&details.files, offset, of_file).min(fitting(
            &details.failed_calls,
            offset,
            of_call,
        ));
        let longest = files_total.max(failed_calls_total);
        Self {
            files: part(details.files, offset, end),
            files_total,
            git: details.git.as_shown().to_owned(),
            failed_calls: part(details.failed_calls, offset, end),
            failed_calls_total,
            calls_left_out: (details.calls_left_out > 0).then_some(details.calls_left_out),
            next_list_offset: (end < longest).then_some(end),
        }
    }
}

/// Returns the offset up to which the items of a list fit; the maximum if all do.
fn fitting<T>(items: &[T], offset: usize, bytes: impl Fn(&T) -> usize) -> usize {
    let mut sum = 0;
    for (place, item) in items.iter().enumerate().skip(offset) {
        sum += bytes(item);
        // One item is always shown.
        if sum > limits::LIST_BYTES && place > offset {
            return place;
        }
    }
    usize::MAX
}

fn part<T, V: From<T>>(items: Vec<T>, offset: usize, end: usize) -> Vec<V> {
    let rest = items.into_iter().take(end).skip(offset);
    rest.map(V::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::result::{Change, ChangeSource};

    #[test]
    fn the_parts_of_long_lists_make_up_the_whole() {
        let file = |number: usize| FileChange {
            path: format!("{number:0>200}"),
            change: Change::Edited,
            sources: vec![ChangeSource::Git],
        };
        let call = |number: usize| FailedCall {
            title: format!("call {number}"),
            kind: "execute".into(),
            why: "x".repeat(limits::FAILED_CALL_CHARS),
        };
        let details = Details {
            files: (0..100).map(file).collect(),
            failed_calls: (0..9).map(call).collect(),
            ..Details::default()
        };
        let (mut files, mut calls, mut offset, mut parts) = (Vec::new(), Vec::new(), 0, 0);
        loop {
            let view = ListsView::of(details.clone(), offset);
            assert_eq!((view.files_total, view.failed_calls_total), (100, 9));
            files.extend(view.files.into_iter().map(|file| file.path));
            calls.extend(view.failed_calls.into_iter().map(|call| call.title));
            parts += 1;
            match view.next_list_offset {
                Some(next) => {
                    assert!(next > offset);
                    offset = next;
                }
                None => break,
            }
        }
        assert!(parts > 3, "{parts}");
        let paths: Vec<_> = details.files.iter().map(|file| file.path.clone()).collect();
        assert_eq!(files, paths);
        assert_eq!(calls.len(), 9);
        assert_eq!(calls[8], "call 8");
    }

    #[test]
    fn an_offset_beyond_the_lists_shows_nothing_and_has_no_next_part() {
        let view = ListsView::of(Details::default(), 7);
        assert!(view.files.is_empty() && view.next_list_offset.is_none());
    }
}
