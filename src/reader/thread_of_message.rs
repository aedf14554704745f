//! The thread of a message, by the id of any message of it.

use crate::bus::event::{Event, LogPosition};
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::MessageId;

/// How many entries are read at a time.
const ENTRIES: usize = 256;

/// Returns the first message of the thread of a message: from the state, else from those parts of the log that name it. None if no message
/// has that id.
pub fn thread_of_message(
    bus: &mut Follower,
    id: &MessageId,
) -> Result<Option<MessageId>, LogError> {
    if let Some(message) = bus.state().message(id) {
        return Ok(Some(message.thread.clone()));
    }
    let text = id.to_string();
    for part in bus.parts()? {
        if bus.may_hold(part, &text)?
            && let Some(thread) = thread_in(bus, part, id)?
        {
            return Ok(Some(thread));
        }
    }
    Ok(None)
}

/// Looks for a message in a part of the log. One that retention removes meanwhile is passed over.
fn thread_in(
    bus: &mut Follower,
    part: LogPosition,
    id: &MessageId,
) -> Result<Option<MessageId>, LogError> {
    let mut position = part;
    while position.segment == part.segment {
        let (entries, next) = match bus.entries_after(position, ENTRIES) {
            Err(LogError::Gone) => return Ok(None),
            outcome => outcome?,
        };
        if entries.is_empty() {
            return Ok(None);
        }
        let events = entries.iter().flat_map(|(_, entry)| &entry.events);
        let mut threads = events.filter_map(|event| match event {
            Event::MessageSent(sent) if sent.id == *id => {
                Some(sent.thread.clone().unwrap_or_else(|| id.clone()))
            }
            Event::RequestOpened(opened) if opened.message == *id => Some(id.clone()),
            _ => None,
        });
        if let Some(thread) = threads.next() {
            return Ok(Some(thread));
        }
        position = next;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::Log as _;
    use crate::bus::storage::contract::{append, joined, name, sent};
    use crate::bus::storage::file::{FileLog, Options, Origin};
    use crate::sys::fs::disk::RealDisk;

    #[test]
    fn any_message_names_its_thread_also_one_that_the_state_has_forgotten() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join("bridge");
        let id = MessageId::from_bits;
        let options = Options { segment_bytes: 1_000, ..Options::default() };
        let mut log = FileLog::open(&directory, Arc::new(RealDisk), options).unwrap();
        let mut replica = log.open().unwrap();
        append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
        let over = |number| Event::MessageExpired { id: id(number), member: name("member-2") };
        for number in 1..=2 {
            let mut message = sent(number, "words");
            if let Event::MessageSent(sent) = &mut message
                && number == 2
            {
                (sent.reply_to, sent.thread) = (Some(id(1)), Some(id(1)));
            }
            append(&mut log, &mut replica, vec![message, over(number)]).unwrap();
        }
        // So many that have ended since are more than the state remembers.
        for many in 0..100 {
            let events = (0..50).flat_map(|one| {
                let number = 100 + many * 50 + one;
                [sent(number, "more"), over(number)]
            });
            append(&mut log, &mut replica, events.collect()).unwrap();
        }
        log.durability().sync().unwrap();
        drop(log);
        let mut bus =
            Follower::open(&directory, Origin::Believed, Arc::new(|| {})).unwrap().unwrap();
        assert!(bus.state().message(&id(2)).is_none());
        for number in [1, 2] {
            assert_eq!(thread_of_message(&mut bus, &id(number)).unwrap(), Some(id(1)), "{number}");
        }
        let newest = id(100 + 99 * 50);
        assert_eq!(thread_of_message(&mut bus, &newest).unwrap(), Some(newest));
        assert_eq!(thread_of_message(&mut bus, &id(99_999)).unwrap(), None);
    }
}
