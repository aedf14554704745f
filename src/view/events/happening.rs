//! Happenings: what an entry of the log says, as sentences for people, each with the members and the ids that it is about.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::in_flight::{Carried, InFlight};
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
        for (index, event) in entry.events.iter().enumerate() {
            let seq = entry.seq + index as u64;
            let returned = self.left_unread(event, &entry.events[index..]);
            let said = self.said(event, &mut speaker).map(|said| match &returned {
                Some(carried) => said.and(&on_the_way(carried.ids.len())),
                None => said,
            });
            let of_receipts = returned.as_ref().map(talk_words::returned);
            let of_wait = self.waits.said(event, entry.tick, &mut speaker);
            let all = said.into_iter().chain(of_receipts).chain(of_wait);
            for Said { topic, members, ids, words } in all {
                happenings.push(Happening { seq, at, topic, members, ids, words });
            }
        }
        happenings
    }

    /// Returns what was on its way to a session that leaves, and is unread again. Some of it may end with the session, as the other events of
    /// the entry say.
    fn left_unread(&mut self, event: &Event, rest: &[Event]) -> Option<Carried> {
        let Event::MemberLeft { session, .. } = event else { return None };
        let mut calls = self.in_flight.left(*session).into_iter();
        let mut carried = calls.next()?;
        carried.ids.extend(calls.flat_map(|call| call.ids));
        let Carried { member, ids, .. } = &mut carried;
        ids.retain(|id| {
            !rest.iter().any(|event| match event {
                Event::MessageExpired { id: ended, member: whose } => {
                    ended == id && whose == member
                }
                Event::MessageSuperseded { id: ended, members } => {
                    ended == id && members.named().contains(member)
                }
                _ => false,
            })
        });
        (!ids.is_empty()).then_some(carried)
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
            .or_else(|| workflow_words::said(event, speaker.state))
            .or_else(|| talk_words::said(event, &mut self.in_flight, speaker));
        if let Event::MemberLeft { session, .. } = event {
            self.stalled.remove(session);
            self.reading.remove(session);
        }
        said
    }
}

/// Says of a member that leaves that messages were on their way to it.
fn on_the_way(messages: usize) -> String {
    match messages {
        1 => "; a message on its way to it is unread again".to_owned(),
        more => format!("; {more} messages on their way to it are unread again"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::Departure;
    use crate::domain::name::Name;
    use crate::view::NoTexts;
    use crate::view::tests::{entry, joined};

    #[test]
    fn who_leaves_with_messages_on_their_way_to_it_leaves_them_unread_and_the_log_says_so() {
        let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
        let ann = Name::parse("ann").unwrap();
        let id = MessageId::from_bits;
        let handed = |call: u64, ids: &[u64]| Event::MessageHanded {
            ids: ids.iter().map(|number| id(*number)).collect(),
            member: ann.clone(),
            session,
            call: CallId(uuid::Uuid::from_u64_pair(1, call)),
            method: DeliveryMethod::Inject,
        };
        let left =
            Event::MemberLeft { session, departure: Departure::Dead, detail: None, alive_ms: None };
        let expired = |number| Event::MessageExpired { id: id(number), member: ann.clone() };
        let said = |handed: Vec<Event>, ended: Vec<Event>| {
            let mut state = State::default();
            joined(&mut state, 1, "ann");
            let mut happenings = Happenings::default();
            for (number, event) in (2..).zip(handed) {
                happenings.of(&entry(number, event), &state, &mut NoTexts);
            }
            let events = [left.clone()].into_iter().chain(ended).collect();
            let end = Entry { events, ..entry(9, left.clone()) };
            let said = happenings.of(&end, &state, &mut NoTexts).into_iter();
            said.map(|one| (one.topic, one.words)).collect::<Vec<_>>()
        };
        let returned = |ids: &str| (Topic::Receipt, format!("ann did not get {ids}, unread again"));
        assert_eq!(
            said(vec![handed(1, &[1]), handed(2, &[2])], Vec::new()),
            [
                (
                    Topic::Member,
                    "ann left (dead); 2 messages on their way to it are unread again".to_owned()
                ),
                returned(&format!("{}, {}", id(1), id(2))),
            ]
        );
        // What ends with the session is not unread again.
        let words = said(vec![handed(1, &[1, 2])], vec![expired(2)]);
        assert_eq!(words[0].1, "ann left (dead); a message on its way to it is unread again");
        assert_eq!(words[1], returned(&id(1).to_string()));
        let words = said(vec![handed(1, &[1])], vec![expired(1)]);
        assert_eq!(words[0].1, "ann left (dead)");
        assert_eq!(words.len(), 2, "and that it expires: {words:?}");
    }
}
