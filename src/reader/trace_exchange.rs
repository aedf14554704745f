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
        parts.choose(bus, scope.ids())?;
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
    /// Chooses the parts that have one of these ids. Says whether there are more of them now.
    fn choose(&mut self, bus: &mut Follower, ids: BTreeSet<String>) -> Result<bool, LogError> {
        let new: Vec<_> = ids.into_iter().filter(|id| !self.searched.contains(id)).collect();
        let before = self.chosen.len();
        let is_many = self.searched.len() + new.len() > limits::TRACED_IDS;
        let first = self.chosen.first().copied();
        for part in self.all.iter().copied().filter(|part| Some(*part) >= first) {
            if self.chosen.contains(&part) || new.is_empty() {
                continue;
            }
            let mut has_one = is_many;
            for id in &new {
                has_one = has_one || bus.may_hold(part, id)?;
            }
            if has_one {
                self.chosen.insert(part);
            }
        }
        self.searched.extend(new);
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
