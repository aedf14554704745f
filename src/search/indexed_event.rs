//! Which texts of an event are searched, for whom they are, and what they are called. Pure.

use crate::bus::event::{Body, Event};
use crate::domain::messaging::{Author, MessageKind};
use crate::domain::workflow::{REFUSED_BY_USER, StepStatus};

use super::search_hit::HitKind;

/// A text of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: HitKind,
    pub(super) text: PieceText,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) id: String,
    /// The arguments of the command that shows it.
    pub(super) open: String,
}

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PieceText {
    /// In the event, or beside the log.
    Body(Body),
    /// The same, as a JSON list of texts.
    List(Body),
    /// In the event.
    Words(String),
}

/// Returns the texts of an event that are searched, always in the same order. Notices of the bridge are not: they repeat what others say.
pub(super) fn pieces(event: &Event) -> Vec<Piece> {
    let task = |kind, text, from: Option<String>, to: Option<String>, id: String| Piece {
        kind,
        text,
        from,
        to,
        open: format!("task {id}"),
        id,
    };
    match event {
        Event::MessageSent(sent) => {
            // What is said in the bridge's voice repeats what others say.
            if sent.from == Author::Bridge || sent.kind == MessageKind::Nudge {
                return Vec::new();
            }
            let thread = sent.thread.as_ref().unwrap_or(&sent.id);
            vec![Piece {
                kind: HitKind::Message,
                text: PieceText::Body(sent.body.clone()),
                from: Some(sent.from.to_string()),
                to: Some(sent.audience.to_string()),
                id: sent.id.to_string(),
                open: format!("messages --thread {thread}"),
            }]
        }
        Event::RequestOpened(opened) => {
            let texts = [Some(&opened.description), opened.context.as_ref()];
            let piece = |text: &Body| Piece {
                kind: HitKind::Request,
                text: PieceText::Body(text.clone()),
                from: Some(opened.from.to_string()),
                to: Some(opened.audience().to_string()),
                id: opened.id.to_string(),
                open: format!("messages --thread {}", opened.id),
            };
            texts.into_iter().flatten().map(piece).collect()
        }
        Event::TaskAssigned(assigned) => vec![task(
            HitKind::Prompt,
            PieceText::Body(assigned.prompt.clone()),
            Some(assigned.by.to_string()),
            Some(assigned.agent.to_string()),
            assigned.id.to_string(),
        )],
        Event::TaskFinished(finished) => {
            let error =
                finished.error.as_ref().map(|error| PieceText::Words(error.message.clone()));
            let texts = [Some(PieceText::Body(finished.output.clone())), error];
            let id = finished.id.to_string();
            let result = |text| task(HitKind::Result, text, None, None, id.clone());
            texts.into_iter().flatten().map(result).collect()
        }
        Event::PermissionAsked(asked) => {
            let question = &asked.question;
            let words = [std::slice::from_ref(&question.title), &question.paths].concat();
            vec![Piece {
                kind: HitKind::Permission,
                text: PieceText::Words(words.join(" ")),
                from: Some(question.agent.to_string()),
                to: None,
                id: asked.id.to_string(),
                open: format!("log --thread {}", asked.id),
            }]
        }
        Event::WorkflowCreated(created) => {
            let name = PieceText::Words(created.name.clone());
            let texts = [name, PieceText::List(created.prompts.clone())];
            let piece = |text| Piece {
                kind: HitKind::Workflow,
                text,
                from: Some(created.by.to_string()),
                to: None,
                id: created.id.to_string(),
                open: format!("log --thread {}", created.id),
            };
            texts.into_iter().map(piece).collect()
        }
        Event::StepEnded(step) => {
            let why = step.why.as_deref().filter(|_| step.status == StepStatus::Cancelled);
            let reason = why.and_then(|why| why.strip_prefix(REFUSED_BY_USER));
            let reason = reason.map(|reason| reason.trim_start_matches(": "));
            let piece = reason.map(|reason| Piece {
                kind: HitKind::Refusal,
                text: PieceText::Words(format!("{}: {reason}", step.step)),
                from: Some(Author::HUMAN.to_owned()),
                to: None,
                id: step.workflow.to_string(),
                open: format!("log --thread {}", step.workflow),
            });
            piece.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The largest part of a text that is one hit, in bytes. Longer texts are divided, so that every word of them is found.
const PART_BYTES: usize = 128 * 1024;

/// Divides a text into parts, between two words if there are any. Returns where each begins, with the part.
pub(super) fn parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut from = 0;
    while text.len() - from > PART_BYTES {
        let most = text.floor_char_boundary(from + PART_BYTES);
        let space = text[from..most].rfind(char::is_whitespace).filter(|at| *at > 0);
        let end = space.map_or(most, |at| from + at);
        parts.push((from, &text[from..end]));
        from = end;
    }
    parts.push((from, &text[from..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_divided_between_words_and_nothing_is_left_out() {
        assert_eq!(parts(""), [(0, "")]);
        assert_eq!(parts("a b"), [(0, "a b")]);
        let long = "wörter ".repeat(PART_BYTES / 4);
        let divided = parts(&long);
        assert!(divided.len() > 1);
        assert!(divided.iter().all(|(_, part)| part.len() <= PART_BYTES));
        assert!(divided[1..].iter().all(|(_, part)| part.starts_with(' ')));
        assert_eq!(divided.iter().map(|(_, part)| *part).collect::<String>(), long);
        let unbroken = "ö".repeat(PART_BYTES);
        assert_eq!(
            parts(&unbroken).iter().map(|(_, part)| part.len()).sum::<usize>(),
            unbroken.len()
        );
    }
}
