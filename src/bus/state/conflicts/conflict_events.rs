//! How events change disagreements, and which there are.

use crate::bus::event::{
    ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Event, MessageSent,
};
use crate::bus::state::event_place::At;
use crate::bus::state::{Conflict, ConflictEnding, Due, Party, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Arbiter, Author, ConflictEnd, ConflictStep, SignalClass};
use crate::domain::time::Now;
use crate::domain::wait_times;

impl State {
    /// Returns the disagreement of a thread, open or over, as long as the state has it.
    pub fn conflict(&self, thread: &MessageId) -> Option<&Conflict> {
        self.conflicts.get(thread)
    }

    /// Returns the disagreements that are over, the last first.
    pub fn last_ended_conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.ended_conflicts.iter().rev().filter_map(|thread| self.conflicts.get(thread))
    }

    /// Returns the disagreements that are not over.
    pub fn open_conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values().filter(|conflict| conflict.is_open())
    }

    /// Returns since when the user is asked to decide a disagreement, in wall time, as its deadline tells it.
    pub fn user_asked_to_decide_ms(&self, thread: &MessageId, now: Now) -> Option<i64> {
        self.conflict(thread).filter(|one| one.is_open() && one.step == ConflictStep::Human)?;
        let due_ms = self.due_at_ms(&Due::Conflict(thread.clone()), now)?;
        Some(due_ms.saturating_sub_unsigned(wait_times::HUMAN_DECISION_MS))
    }

    /// Returns who decides disagreements, unless somebody can do what they are about.
    pub fn arbiter(&self) -> Arbiter {
        self.arbiter.clone().unwrap_or_default()
    }

    pub(in crate::bus::state) fn conflict_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::ConflictOpened(opened) => self.conflict_opened(opened, at),
            Event::ConflictMoved(moved) => self.conflict_moved(moved, at),
            Event::ConflictResolved(resolved) => self.conflict_resolved(resolved, at),
            Event::ConflictOverruled(overruled) => self.conflict_overruled(overruled, at),
            Event::ArbiterSet { arbiter } => self.arbiter = Some(arbiter.clone()),
            _ => {}
        }
    }

    fn conflict_opened(&mut self, opened: &ConflictOpened, at: &At) {
        if self.conflicts.contains_key(&opened.thread) {
            return;
        }
        let party = |(number, position): (usize, &crate::bus::event::Position)| Party {
            name: position.by.clone(),
            position: position.message.clone(),
            has_spoken: number == 0,
        };
        let conflict = Conflict {
            thread: opened.thread.clone(),
            opened_ms: at.wall_ms(),
            about: opened.about.clone(),
            parties: opened.parties.iter().enumerate().map(party).collect(),
            step: ConflictStep::Round(1),
            end: None,
        };
        if let Some(first) = self.messages.get_mut(&opened.thread) {
            first.disputed = true;
        }
        self.conflicts.insert(opened.thread.clone(), conflict);
        self.time_conflict(&opened.thread, wait_times::CONFLICT_MS, at);
    }

    fn conflict_moved(&mut self, moved: &ConflictMoved, at: &At) {
        let Some(conflict) = self.conflicts.get_mut(&moved.thread).filter(|one| one.is_open())
        else {
            return;
        };
        conflict.step = moved.to.clone();
        for party in &mut conflict.parties {
            party.has_spoken = false;
        }
        let ms = match moved.to {
            ConflictStep::Human => wait_times::HUMAN_DECISION_MS,
            _ => wait_times::CONFLICT_MS,
        };
        self.time_conflict(&moved.thread, ms, at);
    }

    fn conflict_resolved(&mut self, resolved: &ConflictResolved, at: &At) {
        self.timers.stop(&Due::Conflict(resolved.thread.clone()));
        let Some(conflict) = self.conflicts.get_mut(&resolved.thread).filter(|one| one.is_open())
        else {
            return;
        };
        conflict.end = Some(ConflictEnding {
            how: resolved.how,
            by: resolved.by.clone(),
            message: resolved.message.clone(),
            at_ms: at.wall_ms(),
        });
        self.ended_conflicts.push_back(resolved.thread.clone());
        while self.ended_conflicts.len() > limits::KEPT_CONFLICTS {
            if let Some(oldest) = self.ended_conflicts.pop_front() {
                self.conflicts.remove(&oldest);
            }
        }
    }

    /// The word of the user takes the place of what ended a disagreement.
    fn conflict_overruled(&mut self, overruled: &ConflictOverruled, at: &At) {
        let conflict = self.conflicts.get_mut(&overruled.thread);
        if let Some(end) = conflict.and_then(|conflict| conflict.end.as_mut()) {
            *end = ConflictEnding {
                how: ConflictEnd::Decided,
                by: Author::Human,
                message: Some(overruled.message.clone()),
                at_ms: at.wall_ms(),
            };
        }
    }

    /// Notes that a party has spoken in a round. The first word of each begins the silence anew: nobody holds a round open by talking.
    pub(in crate::bus::state) fn party_speaks(&mut self, sent: &MessageSent, at: &At) {
        let (Some(thread), Some(from)) = (&sent.thread, sent.from.member()) else {
            return;
        };
        let Some(conflict) = self.conflicts.get_mut(thread).filter(|one| one.is_open()) else {
            return;
        };
        if !matches!(conflict.step, ConflictStep::Round(_))
            || !conflict.hears(from, sent.to.named(), sent.class())
        {
            return;
        }
        let party = conflict.parties.iter_mut().find(|party| party.name == *from);
        let Some(party) = party else { return };
        if sent.class() == SignalClass::Position {
            party.position = sent.id.clone();
        }
        if !std::mem::replace(&mut party.has_spoken, true) {
            self.time_conflict(thread, wait_times::CONFLICT_MS, at);
        }
    }

    fn time_conflict(&mut self, thread: &MessageId, after_ms: u64, at: &At) {
        self.timers.start(Due::Conflict(thread.clone()), at.tick.ms, after_ms);
    }
}
