//! Happenings: what an entry of the log says, as sentences for people, each with the members and the ids that it is about.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::in_flight::InFlight;
use super::said::Said;
use super::speaker::{Speaker, quote};
use super::wait_words::OpenWaits;
use super::{Topic, member_words, talk_words, task_words, workflow_words};
use crate::bus::event::{Entry, Event};
use crate::bus::state::State;
use crate::domain::ids::{CallId, MessageId, SessionId, TaskId};
use crate::domain::member::Activity;
use crate::domain::messaging::DeliveryMethod;
use crate::view::shown::plain_error;
use crate::view::{Moment, Texts, last_words, turn_error};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Happening {
    /// The seq of its event.
    pub seq: u64,
    pub at: Moment,
    pub topic: Topic,
    /// The members that it is about: who acts, and whom it concerns. `all` stands for everybody.
    pub members: Vec<String>,
    /// The ids that it is about: of messages and their thread, requests, tasks, permission questions and workflows.
    pub ids: Vec<String>,
    /// What happened. The words of agents and plans are quoted.
    pub words: String,
}

/// Puts the entries of a log into words, in their order.
#[derive(Clone, Debug, Default)]
pub struct Happenings {
    in_flight: InFlight,
    /// The agents that were last said to show no sign of life. Only then is it news that they do.
    stalled: BTreeSet<SessionId>,
    waits: OpenWaits,
    /// The turns without a task that go on.
    reading: BTreeMap<SessionId, Reading>,
}

/// A turn without a task.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The call that began it.
    call: CallId,
    /// Whether its messages are unread again.
    is_returned: bool,
}

impl Happenings {
    /// Returns what an entry says. `state` is that of the same moment, or a later one. Events that only bridges need say nothing.
    pub fn of(&mut self, entry: &Entry, state: &State, texts: &mut dyn Texts) -> Vec<Happening> {
        self.of_readable(entry, state, texts, &|_| false)
    }

    /// Returns the same, but without the texts of messages that nobody may read any more.
    pub fn of_readable(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_lost: &dyn Fn(&MessageId) -> bool,
    ) -> Vec<Happening> {
        let mut speaker = Speaker { state, texts, is_lost };
        let at = Moment(entry.ts);
        let mut happenings = Vec::new();
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            let said = self.said(event, &mut speaker);
            let of_wait = self.waits.said(event, entry.tick, &mut speaker);
            for Said { topic, members, ids, words } in said.into_iter().chain(of_wait) {
                happenings.push(Happening { seq, at, topic, members, ids, words });
            }
        }
        happenings
    }

    fn said(&mut self, event: &Event, speaker: &mut Speaker<'_>) -> Option<Said> {
        match event {
            Event::AgentStalled { session } => {
                self.stalled.insert(*session);
            }
            Event::AgentStirred { session } if !self.stalled.remove(session) => return None,
            Event::MessageHanded { session, call, method: DeliveryMethod::Prompt, .. } => {
                self.reading.insert(*session, Reading { call: *call, is_returned: false });
            }
            Event::MessageReturned { session, call } => {
                let reading = self.reading.get_mut(session).filter(|one| one.call == *call);
                if let Some(reading) = reading {
                    reading.is_returned = true;
                }
            }
            Event::MemberActivity { session, activity } if *activity != Activity::Running => {
                let reading = self.reading.remove(session)?;
                return turn_end(*session, reading, speaker);
            }
            _ => {}
        }
        self.in_flight.end(event);
        let said = member_words::said(event, speaker)
            .or_else(|| task_words::said(event, speaker))
            .or_else(|| workflow_words::said(event))
            .or_else(|| talk_words::said(event, &mut self.in_flight, speaker));
        if let Event::MemberLeft { session, .. } = event {
            self.in_flight.left(*session);
            self.stalled.remove(session);
            self.reading.remove(session);
        }
        said
    }
}

/// Says how a turn without a task ended, and what the agent said in it: that stands in no message and in no result.
fn turn_end(session: SessionId, reading: Reading, speaker: &mut Speaker<'_>) -> Option<Said> {
    let turn = TaskId::of_turn_by(reading.call);
    let transcript = speaker.texts.last_of_transcript(&turn)?;
    let error = turn_error(&transcript).map(|error| plain_error(&error));
    let words = match (error, reading.is_returned) {
        (Some(error), true) => format!("could not read its messages: {}", quote(&error)),
        (Some(error), false) => {
            format!("has read its messages, and its turn failed: {}", quote(&error))
        }
        (None, true) => {
            let words = quote(&last_words(&transcript)?);
            format!("did not take its messages, which are unread again, and says: {words}")
        }
        (None, false) => {
            format!("has read its messages and says: {}", quote(&last_words(&transcript)?))
        }
    };
    let words = format!("{} {words}", speaker.named(session));
    Some(Said::new(Topic::Member, words).about(speaker.name(session)).with_ids([turn.to_string()]))
}
