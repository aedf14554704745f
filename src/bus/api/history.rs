//! History: messages as the log records them, read or unread, including those that the state has forgotten.

use std::collections::{BTreeMap, BTreeSet};

mod find_work;
mod given_before;
mod withdrawn;

pub use self::find_work::PastAttempt;
use self::withdrawn::{Fates, can_be_withdrawn};
use super::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::{Addressees, Entry, Event, ThreadResolved};
use crate::bus::state::{Delivery, Message, Origin, State};
use crate::bus::storage::{LogError, LogPosition};
use crate::domain::ids::MessageId;
use crate::domain::name::Name;

/// Lines read at a time: few enough to keep memory flat, enough to read fast.
const LINES: usize = 256;

/// How a thread was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadEnd {
    pub by: Name,
    pub summary: String,
}

/// The delivery status of a past message: its real one is not looked up in the log.
const PAST: Delivery = Delivery::Seen;

impl Bus {
    /// Returns at most `max` messages that `reader` sent or received and that match, oldest first, from a position on (none: from
    /// the oldest). Also returns the position of the next line, unless the log ended. A line is never divided: the first may bring
    /// more than `max`.
    pub fn history(
        &self,
        from: Option<LogPosition>,
        matches: impl Fn(&Message) -> bool,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let (found, next) = self.look_back(from, None, matches, reader, max)?;
        Ok((self.without_withdrawn(found, reader)?, next))
    }

    /// Returns the messages of a thread that `reader` sent or received, as [`Bus::history`] does. It reads only those parts of the log
    /// that name the thread.
    pub fn thread_history(
        &self,
        from: Option<LogPosition>,
        thread: &MessageId,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let parts = self.parts_with(&thread.to_string())?;
        let parts = parts.into_iter().map(|part| (part.segment, part)).collect();
        let is_in_thread = |message: &Message| message.thread == *thread;
        let (found, next) = self.look_back(from, Some(&parts), is_in_thread, reader, max)?;
        Ok((self.without_withdrawn(found, reader)?, next))
    }

    /// Looks back in the whole log, or in these parts of it by their segments.
    fn look_back(
        &self,
        from: Option<LogPosition>,
        parts: Option<&BTreeMap<u64, LogPosition>>,
        matches: impl Fn(&Message) -> bool,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let mut position = match from {
            Some(position) => position,
            None => self.oldest()?,
        };
        let (mut found, mut ids) = (Vec::new(), BTreeSet::new());
        loop {
            if let Some(parts) = parts {
                match parts.range(position.segment..).next() {
                    None => return Ok((found, None)),
                    Some((segment, _)) if *segment == position.segment => {}
                    Some((_, part)) => position = *part,
                }
            }
            let (lines, next) = self.read_after(position, LINES)?;
            if lines.is_empty() {
                return Ok((found, None));
            }
            let mut rest = lines.into_iter().peekable();
            while let Some((at, entry)) = rest.next() {
                let is_found =
                    |message: &Message| message.is_visible_to(reader) && matches(message);
                let mut messages = self.look(|state| messages_of(state, &entry, at, reader));
                messages.extend(self.addressed_later(&entry, reader));
                messages.retain(is_found);
                // One that has passed on and come back is in the log once for each time.
                messages.retain(|one| !ids.contains(&one.id));
                if !found.is_empty() && found.len() + messages.len() > max {
                    return Ok((found, Some(at)));
                }
                ids.extend(messages.iter().map(|message| message.id.clone()));
                found.extend(messages);
                if found.len() >= max {
                    let after = rest.peek().map_or(next, |(position, _)| *position);
                    return Ok((found, Some(after)));
                }
            }
            position = next;
        }
    }

    /// Returns how a thread was resolved, unless it is open.
    pub fn thread_end(&self, thread: &MessageId) -> Result<Option<ThreadEnd>, BusError> {
        let is_open = self.look(|state| state.message(thread).is_some_and(|first| !first.resolved));
        let mut end = None;
        if is_open {
            return Ok(end);
        }
        self.entries_with(&thread.to_string(), |_, entry| {
            for event in entry.events {
                match event {
                    Event::ThreadResolved(resolved) if resolved.threads.contains(thread) => {
                        let ThreadResolved { by, summary, .. } = resolved;
                        end = Some(ThreadEnd { by, summary });
                    }
                    Event::MessageSent(sent) if sent.reopens() == Some(thread) => end = None,
                    _ => {}
                }
            }
        })?;
        Ok(end)
    }

    /// Returns the first message of the thread of a message. One that is not on record any more may have begun a thread.
    pub fn thread_of(&self, id: &MessageId, reader: &Name) -> Result<MessageId, BusError> {
        let known = self.look(|state| state.message(id).map(|message| message.thread.clone()));
        if let Some(thread) = known {
            return Ok(thread);
        }
        let past = self.past_message(id, reader)?;
        Ok(past.map_or_else(|| id.clone(), |message| message.thread))
    }
}

impl Bus {
    /// Finds a message that the state has forgotten. Its addressees show only whether it reached this reader.
    pub(crate) fn past_message(
        &self,
        id: &MessageId,
        reader: &Name,
    ) -> Result<Option<Message>, BusError> {
        let mut found = None;
        let mut fates = Fates::of(reader, [id.clone()]);
        self.entries_with(&id.to_string(), |at, entry| {
            let messages = self.look(|state| messages_of(state, &entry, at, reader));
            let mut messages = messages.into_iter();
            found = found.take().or_else(|| messages.find(|message| message.id == *id));
            entry.events.iter().for_each(|event| fates.note(event));
        })?;
        let is_kept =
            |message: &Message| !(fates.is_withdrawn(id) && can_be_withdrawn(message, reader));
        Ok(found.filter(is_kept))
    }

    /// Returns the state that follows from only the log's events about an id.
    pub(super) fn state_of(
        &self,
        id: &str,
        is_about_id: impl Fn(&Event) -> bool,
    ) -> Result<State, BusError> {
        let mut state = State::default();
        self.entries_with(id, |at, mut entry| {
            let events = std::mem::take(&mut entry.events);
            let kept = events.into_iter().zip(0u16..).filter(|(event, _)| is_about_id(event));
            let (events, indices): (Vec<_>, Vec<_>) = kept.unzip();
            entry.events = events;
            state.apply(&entry, &indices, at);
        })?;
        Ok(state)
    }

    /// Visits the entries of those parts of the log that contain a text, oldest first.
    pub(super) fn entries_with(
        &self,
        text: &str,
        on_entry: impl FnMut(LogPosition, Entry),
    ) -> Result<(), BusError> {
        self.entries_with_any(&[text], on_entry)
    }

    /// Visits the entries of those parts of the log that contain one of these texts, oldest first.
    pub(crate) fn entries_with_any(
        &self,
        texts: &[&str],
        on_entry: impl FnMut(LogPosition, Entry),
    ) -> Result<(), BusError> {
        let mut parts = BTreeSet::new();
        for text in texts {
            parts.extend(self.parts_with(text)?);
        }
        self.entries_from(parts, on_entry)
    }

    /// Visits the entries from each of these positions to the end of its part of the log.
    fn entries_from(
        &self,
        starts: BTreeSet<LogPosition>,
        mut on_entry: impl FnMut(LogPosition, Entry),
    ) -> Result<(), BusError> {
        for part in starts {
            let mut position = part;
            while position.segment == part.segment {
                let (lines, next) = match self.read_after(position, LINES) {
                    // Retention has removed it meanwhile.
                    Err(BusError::Log(LogError::Gone)) => break,
                    outcome => outcome?,
                };
                if lines.is_empty() {
                    break;
                }
                for (at, entry) in lines {
                    if at.segment == part.segment {
                        on_entry(at, entry);
                    }
                }
                position = next;
            }
        }
        Ok(())
    }

    /// Returns the earlier messages that an entry puts into this reader's inbox.
    fn addressed_later(&self, entry: &Entry, reader: &Name) -> Vec<Message> {
        let addressed = entry.events.iter().filter_map(|event| match event {
            Event::MessageAddressed { id, to } => Some((id, to)),
            _ => None,
        });
        self.look(|state| {
            let is_addressed = |message: &Message, to: &Addressees| match to {
                Addressees::Named(names) => names.contains(reader),
                // Members that were there before it was sent have had it since then.
                Addressees::AllBut(_) => {
                    message.delivery(reader).is_some() && !was_live(state, reader, message.seq)
                }
            };
            let found = addressed.filter_map(|(id, to)| Some((state.message(id)?, to)));
            let found = found.filter(|(message, to)| is_addressed(message, to));
            found.map(|(message, _)| message.clone()).collect()
        })
    }
}

/// Says whether the current session of a name had already begun at some seq.
fn was_live(state: &State, name: &Name, seq: u64) -> bool {
    state.live(name).is_some_and(|live| live.since_seq < seq)
}

/// Returns the messages that an entry puts on the bus. Their addressees show only whether they reached this reader.
fn messages_of(state: &State, entry: &Entry, at: LogPosition, reader: &Name) -> Vec<Message> {
    let mut messages = Vec::new();
    for (event, index) in entry.events.iter().zip(0u16..) {
        let seq = entry.seq + u64::from(index);
        let origin = Origin { seq, wall_ms: entry.ts, place: at, index };
        let (message, to) = match event {
            Event::MessageSent(sent) => (Message::sent(sent, origin), &sent.to),
            Event::RequestOpened(opened) => (Message::opened(opened, origin), &opened.to),
            _ => continue,
        };
        let names = match to {
            Addressees::Named(names) => names.clone(),
            Addressees::AllBut(but) => {
                let reaches_reader = !but.contains(reader) && was_live(state, reader, message.seq);
                reaches_reader.then(|| reader.clone()).into_iter().collect()
            }
        };
        let deliveries = names.into_iter().map(|name| (name, PAST)).collect();
        messages.push(Message { deliveries, ..message });
    }
    messages
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::Log as _;
    use crate::bus::storage::contract::{append, joined, name, sent};
    use crate::bus::storage::in_memory::Store;
    use crate::sys::clock;

    #[test]
    fn a_message_that_passed_on_and_came_back_is_there_once() {
        let store = Store::new(Arc::new(clock::now));
        let mut log = store.log();
        let mut replica = log.open().unwrap();
        let id = MessageId::from_bits(5);
        let again = Event::MessageAddressed { id, to: vec![name("member-2")].into() };
        for event in [joined(1), joined(2), sent(5, "for you"), again.clone(), again] {
            append(&mut log, &mut replica, vec![event]).unwrap();
        }
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (found, _) = bus.history(None, |_| true, &name("member-2"), 10).unwrap();
        assert_eq!(found.len(), 1);
    }
}
