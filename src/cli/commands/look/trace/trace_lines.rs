//! An exchange as lines for people, oldest first.

use crate::domain::limits;
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::iso8601;
use crate::view::{Moment, Trace, TraceMessage, TraceStep, no_text};

/// The most receipts of a message that have a line; a broadcast may have hundreds.
const SHOWN_RECEIPTS: usize = 16;

/// Returns an exchange as lines.
pub(super) fn of(trace: &Trace) -> Vec<String> {
    let mut parts: Vec<_> =
        trace.nodes.iter().map(|message| (message.seq, of_message(trace, message))).collect();
    parts.extend(trace.steps.iter().map(|step| (step.seq, vec![of_step(step)])));
    parts.sort_by_key(|(seq, _)| *seq);
    let lines = parts.into_iter().flat_map(|(_, lines)| lines);
    [head(trace)].into_iter().chain(lines).collect()
}

fn head(trace: &Trace) -> String {
    let thread = trace.thread_id.as_ref().map(|id| format!("thread {id}"));
    let requests = trace.requests.iter().map(|id| format!("request {id}"));
    let about: Vec<_> = thread.into_iter().chain(requests).collect();
    let (notices, messages): (Vec<_>, Vec<_>) =
        trace.nodes.iter().partition(|message| message.is_of_bridge());
    let notices = (!notices.is_empty()).then(|| {
        let (one, several) = ("notice of the bridge", "notices of the bridge");
        counted_as(notices.len(), one, several)
    });
    let messages = Some(counted(messages.len(), "message"));
    let counts: Vec<_> = messages.into_iter().chain(notices).collect();
    format!("{}: {}", about.join(", "), counts.join(", "))
}

fn of_message(trace: &Trace, message: &TraceMessage) -> Vec<String> {
    let text = match &message.text {
        Some(text) => quoted(text, limits::PROMPT_CHARS),
        None => no_text(message.lost.as_deref()),
    };
    let labels = message.labels().join(", ");
    let labels = if labels.is_empty() { labels } else { format!(" ({labels})") };
    let (from, to) = (message.sender(), &message.to);
    let mut lines = vec![format!("{}  {from} → {to}{labels}: {text}", time(message.timestamp))];
    let other_thread = Some(&message.thread_id)
        .filter(|id| **id != message.id && Some(*id) != trace.thread_id.as_ref());
    let facts = [
        Some(message.id.clone()),
        message.reply_to.as_ref().map(|id| format!("answers {id}")),
        other_thread.map(|id| format!("thread {id}")),
        message.request_id.as_ref().map(|id| format!("about {id}")),
        message.task_id.as_ref().map(|id| format!("about {id}")),
        message.supersedes.as_ref().map(|id| format!("takes the place of {id}")),
        message.response_seconds.map(|seconds| format!("answer within {seconds} s")),
        message.ttl_seconds.map(|seconds| format!("lasts {seconds} s")),
        message
            .reference
            .as_ref()
            .map(|what| format!("ref {}", quoted(what, limits::PROMPT_CHARS))),
    ];
    lines.push(format!("    {}", facts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    let what = ["text", "context"].iter().zip(&message.texts);
    lines.extend(what.map(|(what, text)| format!("    {what}: {}", text.in_words())));
    let attached =
        message.attachments.iter().map(|one| format!("    attached: {}", one.in_words()));
    lines.extend(attached);
    let receipts = message.receipts.iter().take(SHOWN_RECEIPTS);
    lines.extend(receipts.map(|receipt| format!("    {}", receipt.in_words(message.timestamp))));
    let more = message.receipts.len().saturating_sub(SHOWN_RECEIPTS);
    if more > 0 {
        lines.push(format!("    and {}", counted(more, "further recipient")));
    }
    if message.more_recipients {
        lines.push("    and others, whose names are no longer known".to_owned());
    }
    if message.receipts.is_empty() && !message.more_recipients {
        let nobody = match message {
            TraceMessage { waits: true, .. } => "waits: nobody has it yet",
            TraceMessage { undelivered: true, .. } => "not delivered: nobody got it",
            _ => "no recipients",
        };
        lines.push(format!("    {nobody}"));
    }
    lines.extend(message.there.as_ref().map(|there| format!("    there it is {there}")));
    lines
}

fn of_step(step: &TraceStep) -> String {
    format!("{}  {}: {}", time(step.at), step.about, step.in_words())
}

fn time(moment: Moment) -> String {
    let time: String = iso8601(moment.0).chars().take(19).collect();
    format!("{time}Z")
}
