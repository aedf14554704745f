//! The trace of an exchange, read from those parts of a log that name it.

use std::collections::BTreeSet;

use super::log_texts::LogTexts;
use crate::bus::event::{Entry, LogPosition};
use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::limits;
use crate::view::{Moment, Texts, Trace, TraceFold, TraceId, TraceScope};

/// How many entries are read at a time.
const ENTRIES: usize = 256;

/// The first segment of a log that nothing was removed from.
const FIRST_SEGMENT: u64 = 1;

/// What became of a search for an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceOutcome {
    Found(Box<Trace>),
    /// It is still named, but its own lines were removed from the log, which begins at this time.
    Removed {
        begins: Option<Moment>,
    },
    /// Nothing names it. If the log has lost its beginning, this is the time at which it begins now.
    Unknown {
        begins: Option<Moment>,
    },
}

/// Traces an exchange. Reads only the parts of the log that name it or one of its calls, and of the texts beside the log only its own.
pub fn trace(bus: &mut Follower, id: TraceId) -> Result<TraceOutcome, LogError> {
    let mut parts = Parts { all: bus.parts()?, chosen: BTreeSet::new(), searched: BTreeSet::new() };
    let is_known = match &id {
        TraceId::Message(id) => bus.state().message(id).is_some(),
        TraceId::Request(id) => bus.state().request(id).is_some(),
    };
    let mut scope = TraceScope::of(id);
    loop {
        parts.choose(bus, scope.anchors())?;
        parts.choose_later(bus, scope.messages())?;
        let mut has_learned = false;
        parts.read(bus, &mut |entry, _, _| has_learned |= scope.learn(entry))?;
        if !has_learned {
            break;
        }
    }
    if !scope.is_found() {
        let begins = parts.begins(bus)?;
        return Ok(if is_known || scope.is_named() {
            TraceOutcome::Removed { begins }
        } else {
            TraceOutcome::Unknown { begins }
        });
    }
    loop {
        let mut fold = TraceFold::of(&scope);
        parts.read(bus, &mut |entry, state, texts| fold.take(entry, state, texts))?;
        if !parts.choose(bus, fold.open_ids())? {
            return Ok(TraceOutcome::Found(Box::new(fold.traced_exchange())));
        }
    }
}

/// The parts of a log, and those of them that are read.
struct Parts {
    all: Vec<LogPosition>,
    chosen: BTreeSet<LogPosition>,
    /// The ids that were searched for in all parts.
    searched: BTreeSet<String>,
}

impl Parts {
    /// Chooses the parts that have one of these ids, wherever they are. Says whether there are more of them now.
    fn choose(&mut self, bus: &mut Follower, ids: BTreeSet<String>) -> Result<bool, LogError> {
        let new: Vec<_> = ids.into_iter().filter(|id| !self.searched.contains(id)).collect();
        let before = self.chosen.len();
        if new.len() > limits::TRACED_IDS {
            self.chosen.extend(&self.all);
        }
        for part in &self.all {
            for id in &new {
                if !self.chosen.contains(part) && bus.may_hold(*part, id)? {
                    self.chosen.insert(*part);
                }
            }
        }
        self.searched.extend(new);
        Ok(self.chosen.len() > before)
    }

    /// Chooses likewise the parts that have one of these messages, which are in none before the first chosen one.
    fn choose_later(
        &mut self,
        bus: &mut Follower,
        messages: BTreeSet<String>,
    ) -> Result<bool, LogError> {
        let known = messages.iter().filter(|id| self.searched.contains(*id)).count();
        let Some(first) = self.chosen.first().copied() else { return Ok(false) };
        if messages.len() - known <= limits::TRACED_IDS {
            return self.choose(bus, messages);
        }
        let before = self.chosen.len();
        self.chosen.extend(self.all.iter().filter(|part| **part >= first));
        self.searched.extend(messages);
        Ok(self.chosen.len() > before)
    }

    /// Reads the chosen parts, oldest first. One that retention removes meanwhile is passed over.
    fn read(
        &self,
        bus: &mut Follower,
        take: &mut dyn FnMut(&Entry, &State, &mut dyn Texts),
    ) -> Result<(), LogError> {
        for part in &self.chosen {
            let mut position = *part;
            while position.segment == part.segment {
                let (entries, next) = match bus.entries_after(position, ENTRIES) {
                    Err(LogError::Gone) => break,
                    outcome => outcome?,
                };
                if entries.is_empty() {
                    break;
                }
                let (state, texts) = bus.state_and_texts();
                let mut texts = LogTexts(texts);
                for (at, entry) in &entries {
                    if at.segment == part.segment {
                        take(entry, state, &mut texts);
                    }
                }
                position = next;
            }
        }
        Ok(())
    }

    /// Returns when the log begins, if its beginning was removed.
    fn begins(&self, bus: &mut Follower) -> Result<Option<Moment>, LogError> {
        let Some(first) = self.all.first().filter(|part| part.segment > FIRST_SEGMENT) else {
            return Ok(None);
        };
        let (entries, _) = bus.entries_after(*first, 1)?;
        Ok(entries.first().map(|(_, entry)| Moment(entry.ts)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use super::*;
    use crate::bus::event::Event;
    use crate::bus::storage::Log as _;
    use crate::bus::storage::contract::{append, joined, name, sent};
    use crate::bus::storage::file::{FileLog, Options, Origin};
    use crate::domain::ids::MessageId;
    use crate::sys::fs::disk::RealDisk;

    fn id(number: u64) -> MessageId {
        MessageId::from_bits(number)
    }

    /// Makes a log of many short parts and some snapshots: 40 messages, each read by nobody. The last one answers the first.
    fn many_parts(bus: &Path) {
        append_alone(bus, vec![joined(1), joined(2)]);
        for number in 1..=40 {
            let mut message = sent(number, &format!("words {number}"));
            if let Event::MessageSent(sent) = &mut message
                && number == 40
            {
                (sent.reply_to, sent.thread) = (Some(id(1)), Some(id(1)));
            }
            let expired = Event::MessageExpired { id: id(number), member: name("member-2") };
            append_alone(bus, vec![message, expired]);
        }
    }

    /// Appends events as a process of their own does, whose end waits for its snapshot.
    fn append_alone(bus: &Path, events: Vec<Event>) {
        let options = Options {
            segment_bytes: 1_000,
            snapshot_events: 8,
            snapshot_percent: 0,
            ..Options::default()
        };
        let mut log = FileLog::open(bus, Arc::new(RealDisk), options).unwrap();
        let mut replica = log.open().unwrap();
        append(&mut log, &mut replica, events).unwrap();
        log.durability().sync().unwrap();
    }

    fn follower(bus: &Path) -> Follower {
        Follower::open(bus, Origin::Believed, Arc::new(|| {})).unwrap().unwrap()
    }

    fn segments(bus: &Path) -> Vec<PathBuf> {
        let files = fs::read_dir(bus.join("log")).unwrap();
        let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    fn found(bus: &mut Follower, number: u64) -> Trace {
        match trace(bus, TraceId::Message(id(number))).unwrap() {
            TraceOutcome::Found(trace) => *trace,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_exchange_is_read_from_the_parts_that_name_it() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join("bridge");
        many_parts(&directory);
        let mut bus = follower(&directory);
        let all = bus.parts().unwrap();
        assert!(all.len() > 10, "{all:?}");
        let mut parts = Parts { all, chosen: BTreeSet::new(), searched: BTreeSet::new() };
        assert!(parts.choose(&mut bus, BTreeSet::from([id(20).to_string()])).unwrap());
        assert_eq!(parts.chosen.len(), 1);
        assert!(!parts.choose(&mut bus, BTreeSet::from([id(20).to_string()])).unwrap());
        // The first and the last part are one exchange.
        for number in [1, 40] {
            let trace = found(&mut bus, number);
            let ids: Vec<_> = trace.nodes.iter().map(|node| node.id.clone()).collect();
            assert_eq!(ids, [id(1), id(40)].map(|id| id.to_string()));
            assert!(trace.nodes.iter().all(|node| node.receipts[0].steps.len() == 2));
        }
    }

    #[test]
    fn what_was_removed_is_told_from_what_never_was() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join("bridge");
        many_parts(&directory);
        let never = |bus: &mut Follower| trace(bus, TraceId::Message(id(99))).unwrap();
        assert_eq!(never(&mut follower(&directory)), TraceOutcome::Unknown { begins: None });
        let gone = segments(&directory);
        for segment in &gone[..5] {
            fs::remove_file(segment).unwrap();
        }
        let mut bus = follower(&directory);
        // Its header is still known.
        let removed = trace(&mut bus, TraceId::Message(id(2))).unwrap();
        assert!(matches!(removed, TraceOutcome::Removed { begins: Some(_) }), "{removed:?}");
        let never = never(&mut bus);
        assert!(matches!(never, TraceOutcome::Unknown { begins: Some(_) }), "{never:?}");
        // Of an exchange whose beginning is gone, the rest is there.
        let rest = found(&mut bus, 1);
        assert_eq!((rest.nodes.len(), rest.missing), (1, vec![id(1).to_string()]));
    }
}
