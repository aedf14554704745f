//! The steps of an exchange that are no messages, folded from the entries of the log.

use std::collections::{BTreeMap, BTreeSet};

use super::trace_scope::TraceScope;
use super::trace_step::{TraceStep, TraceStepKind};
use crate::bus::event::{
    ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Entry, Event, RequestOpened,
};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep};
use crate::domain::name::Name;
use crate::domain::text::visible_letters::beginning;
use crate::view::Moment;
use crate::view::events::shown_note;

/// The steps of an exchange so far.
#[derive(Clone, Debug, Default)]
pub(super) struct StepFold {
    steps: Vec<TraceStep>,
    opened: BTreeSet<RequestId>,
    owners: BTreeMap<RequestId, (Name, SessionId)>,
    /// Sessions that have left.
    gone: BTreeSet<SessionId>,
    /// Sessions that do not respond.
    hung: BTreeSet<SessionId>,
}

impl StepFold {
    /// Takes an entry.
    pub(super) fn take(&mut self, entry: &Entry, scope: &TraceScope) {
        for event in &entry.events {
            match event {
                Event::MemberLeft { session, .. } => {
                    self.gone.insert(*session);
                }
                Event::MemberHung { session } => {
                    self.hung.insert(*session);
                }
                Event::MemberBack { session } => {
                    self.hung.remove(session);
                }
                _ => {}
            }
        }
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            let place = (seq, Moment(entry.ts));
            let step = match request_of(event) {
                Some(id) if scope.requests().contains(id) => self.of_request(id, event, place),
                Some(_) => None,
                None => of_thread(event, scope, place),
            };
            self.steps.extend(step);
        }
    }

    pub(super) fn has_opened(&self, id: &RequestId) -> bool {
        self.opened.contains(id)
    }

    pub(super) fn steps(self) -> Vec<TraceStep> {
        self.steps
    }

    fn of_request(
        &mut self,
        id: &RequestId,
        event: &Event,
        place: (u64, Moment),
    ) -> Option<TraceStep> {
        let step = |kind| step(kind, id, place);
        let owner = || self.owners.get(id).map(|(name, _)| name.to_string());
        Some(match event {
            Event::RequestOpened(opened) => {
                let RequestOpened { from, .. } = opened;
                self.opened.insert(id.clone());
                TraceStep {
                    by: Some(from.to_string()),
                    to: vec![opened.audience().to_string()],
                    message_id: Some(opened.message.to_string()),
                    ..step(TraceStepKind::Opened)
                }
            }
            Event::RequestNudged { .. } => step(TraceStepKind::Nudged),
            Event::RequestClaimed { by, session, .. } => {
                self.owners.insert(id.clone(), (by.clone(), *session));
                TraceStep { by: Some(by.to_string()), ..step(TraceStepKind::Claimed) }
            }
            Event::RequestRenewed { .. } => {
                TraceStep { by: owner(), ..step(TraceStepKind::Renewed) }
            }
            Event::RequestReminded { .. } => TraceStep {
                to: owner().into_iter().collect(),
                ..step(TraceStepKind::OwnerReminded)
            },
            Event::RequestHandedOver { by, to, session, .. } => {
                self.owners.insert(id.clone(), (to.clone(), *session));
                let (by, to) = (Some(by.to_string()), vec![to.to_string()]);
                TraceStep { by, to, ..step(TraceStepKind::HandedOver) }
            }
            Event::RequestReopened { released: true, .. } => {
                let by = self.owners.remove(id).map(|(name, _)| name.to_string());
                TraceStep { by, ..step(TraceStepKind::Released) }
            }
            Event::RequestReopened { lost_owners, .. } => {
                let owner = self.owners.remove(id);
                let why = owner.map(|(name, session)| self.why_lost(&name, session, *lost_owners));
                TraceStep { why, ..step(TraceStepKind::Lapsed) }
            }
            Event::RequestCompleted { message, .. } => TraceStep {
                by: owner(),
                message_id: Some(message.to_string()),
                ..step(TraceStepKind::Completed)
            },
            Event::RequestFailed { .. } => TraceStep { by: owner(), ..step(TraceStepKind::Failed) },
            Event::RequestExpired { .. } => step(TraceStepKind::Ended),
            _ => return None,
        })
    }

    /// Says why a request lost its owner against its will.
    fn why_lost(&self, owner: &Name, session: SessionId, lost_owners: u32) -> String {
        let how = if self.gone.contains(&session) {
            "has left"
        } else if self.hung.contains(&session) {
            "stopped responding"
        } else if lost_owners == 0 {
            "may not have received the answer to its claim"
        } else {
            "gave no sign in the time of its lease"
        };
        format!("{owner} {how}")
    }
}

fn step(kind: TraceStepKind, about: &dyn ToString, (seq, at): (u64, Moment)) -> TraceStep {
    TraceStep {
        seq,
        at,
        kind,
        about: about.to_string(),
        by: None,
        to: Vec::new(),
        message_id: None,
        round: None,
        why: None,
    }
}

/// Returns the request that an event is about.
fn request_of(event: &Event) -> Option<&RequestId> {
    match event {
        Event::RequestOpened(opened) => Some(&opened.id),
        Event::RequestNudged { id }
        | Event::RequestClaimed { id, .. }
        | Event::RequestReopened { id, .. }
        | Event::RequestRenewed { id, .. }
        | Event::RequestReminded { id }
        | Event::RequestHandedOver { id, .. }
        | Event::RequestFailed { id }
        | Event::RequestCompleted { id, .. }
        | Event::RequestExpired { id } => Some(id),
        _ => None,
    }
}

/// Returns the step of a thread, a disagreement in it, or the answer to one of its messages.
fn of_thread(event: &Event, scope: &TraceScope, place: (u64, Moment)) -> Option<TraceStep> {
    let of_message = |kind, id| scope.has(id).then(|| step(kind, id, place));
    match event {
        Event::MessageReminded { id } => of_message(TraceStepKind::AnswerDue, id),
        Event::MessageUnanswered { id } => of_message(TraceStepKind::Unanswered, id),
        Event::MessageUnclaimed { id } => of_message(TraceStepKind::Unclaimed, id),
        Event::ThreadResolved(resolved) => {
            let thread = resolved.threads.iter().find(|thread| scope.thread() == Some(*thread))?;
            Some(TraceStep {
                by: Some(resolved.by.to_string()),
                why: Some(shown_note(&resolved.summary, limits::PROMPT_CHARS)),
                ..step(TraceStepKind::ThreadResolved, thread, place)
            })
        }
        Event::ConflictOpened(ConflictOpened { thread, parties, about })
            if scope.thread() == Some(thread) =>
        {
            Some(TraceStep {
                to: parties.iter().map(|party| party.by.to_string()).collect(),
                why: about.as_ref().map(|about| beginning(about, limits::PROMPT_CHARS)),
                ..step(TraceStepKind::Disagreement, thread, place)
            })
        }
        Event::ConflictMoved(ConflictMoved { thread, to }) if scope.thread() == Some(thread) => {
            Some(match to {
                ConflictStep::Round(round) => {
                    TraceStep { round: Some(*round), ..step(TraceStepKind::Round, thread, place) }
                }
                ConflictStep::Arbiter(name) => TraceStep {
                    to: vec![name.to_string()],
                    ..step(TraceStepKind::Arbiter, thread, place)
                },
                ConflictStep::Human => TraceStep {
                    to: vec![Author::Human.to_string()],
                    ..step(TraceStepKind::Human, thread, place)
                },
            })
        }
        Event::ConflictResolved(ConflictResolved { thread, how, by, message })
            if scope.thread() == Some(thread) =>
        {
            let kind = match how {
                ConflictEnd::Agreed => TraceStepKind::Agreed,
                ConflictEnd::Decided => TraceStepKind::Decided,
                ConflictEnd::Lapsed => TraceStepKind::Undecided,
            };
            Some(TraceStep {
                by: (*by != Author::Bridge).then(|| by.to_string()),
                message_id: message.as_ref().map(ToString::to_string),
                ..step(kind, thread, place)
            })
        }
        Event::ConflictOverruled(ConflictOverruled { thread, message })
            if scope.thread() == Some(thread) =>
        {
            Some(TraceStep {
                by: Some(Author::Human.to_string()),
                message_id: Some(message.to_string()),
                ..step(TraceStepKind::Decided, thread, place)
            })
        }
        _ => None,
    }
}
