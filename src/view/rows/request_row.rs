//! A request for whoever is free, as a row.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{Message, Request, State};
use crate::domain::ids::RequestId;
use crate::domain::limits;
use crate::domain::messaging::{MessageKind, RequestStatus};
use crate::domain::time::Now;
use crate::view::{Moment, Texts, span_left};

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestRow {
    pub request_id: String,
    /// The member that asks.
    pub from: String,
    /// Who alone may claim it: a name, or a group such as `@role`; everybody if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// open, claimed, completed, expired or failed.
    pub status: String,
    /// The beginning of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub opened_at: Moment,
    /// The member that has claimed it; of an ended one, the last that had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When its claim ends without a sign of its owner, if a lease ends it; not while its owner waits or is in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<Moment>,
    /// The beginning of its answer, if it has one and the state still has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When it was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Moment>,
}

impl RequestRow {
    /// Makes the row of a request.
    pub fn of(state: &State, request: &Request, now: Now, texts: &mut dyn Texts) -> Self {
        let owner = request.owner.as_ref().filter(|_| request.status != RequestStatus::Open);
        Self {
            request_id: request.id.to_string(),
            from: request.from.to_string(),
            to: request.only.as_ref().map(ToString::to_string),
            status: request.status.as_str().to_owned(),
            description: texts.first_of_request(request.body, limits::PROMPT_CHARS),
            opened_at: Moment(request.opened_ms),
            owner: owner.map(|owner| owner.by.to_string()),
            lease_ends_at: state.lease_ends_ms(request, now).map(Moment),
            answer: None,
            answered_at: None,
        }
    }

    /// Makes the rows of the last requests that have ended, at most so many, the one that ended last first.
    pub fn of_ended(state: &State, most: usize, now: Now, texts: &mut dyn Texts) -> Vec<Self> {
        let ended: Vec<_> = state.newest_ended_requests().take(most).collect();
        if ended.is_empty() {
            return Vec::new();
        }
        let wanted: BTreeSet<_> = ended.iter().map(|request| &request.id).collect();
        let mut answers = BTreeMap::<&RequestId, &Message>::new();
        for message in state.messages().filter(|message| message.kind == MessageKind::Response) {
            // The claim is reported in the same way, before the answer.
            let of = message.request.as_ref().filter(|id| wanted.contains(id));
            if let Some(id) = of.filter(|_| message.claimed_by.is_none()) {
                let last = answers.entry(id).or_insert(message);
                if last.seq < message.seq {
                    *last = message;
                }
            }
        }
        let rows = ended.into_iter().map(|request| {
            let is_answered = request.status == RequestStatus::Completed;
            let answer = answers.get(&request.id).filter(|_| is_answered);
            Self {
                answer: answer
                    .and_then(|answer| texts.first_words(answer.body, limits::PROMPT_CHARS)),
                answered_at: answer.map(|answer| Moment(answer.sent_ms)),
                ..Self::of(state, request, now, texts)
            }
        });
        rows.collect()
    }

    /// Says whether it shows the same as at another time, of the same events.
    pub(in crate::view) fn is_same_as(&self, other: &Self) -> bool {
        // When a lease ends is reckoned from the time at which somebody looks.
        let other = Self { lease_ends_at: self.lease_ends_at, ..other.clone() };
        *self == other
    }

    /// Says how long its claim lasts without a sign of its owner, if a lease ends it.
    pub fn lease_in_words(&self, now: Moment) -> Option<String> {
        self.lease_ends_at.map(|ends_at| format!("lease {} left", span_left(ends_at, now)))
    }

    /// Says how it stands or has ended, in words.
    pub fn outcome_in_words(&self) -> String {
        let owner = self.owner.as_deref();
        match (self.status.as_str(), owner) {
            // Somebody may have had it, and released or lost it.
            ("open", _) => "Nobody has it.".to_owned(),
            ("completed", Some(owner)) => format!("{owner} has answered it."),
            ("completed", None) => "It is answered.".to_owned(),
            ("expired", Some(owner)) => {
                format!("It ended without an answer; {owner} had claimed it last.")
            }
            ("expired", None) => "It ended without an answer; nobody had it then.".to_owned(),
            ("failed", Some(owner)) => format!("It failed; {owner} had claimed it last."),
            ("failed", None) => "It failed.".to_owned(),
            (_, Some(owner)) => format!("{owner} has claimed it."),
            (_, None) => "It is claimed.".to_owned(),
        }
    }
}
