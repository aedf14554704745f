//! What the envelope of a message says of it: its signal, its urgency, and its place among the unread ones.

use crate::bus::state::{EnvelopeHeader, Message, UnreadPlace};
use crate::domain::messaging::{MessageKind, Priority, Signal, SignalClass, Urgency};
use crate::domain::name::Name;

impl Message {
    /// Returns its signal, if it has one.
    pub fn signal(&self) -> Option<&Signal> {
        self.more.as_ref()?.signal.as_ref()
    }

    /// Says whether the bus reports by it that a session has joined or left.
    pub fn is_presence(&self) -> bool {
        self.kind == MessageKind::Notice && self.signal().is_some_and(Signal::is_presence)
    }

    /// Returns the class of its signal. A message without one says something.
    pub fn class(&self) -> SignalClass {
        self.signal().map_or(SignalClass::Say, Signal::class)
    }

    /// Says whether it is worth a place in a running turn. Reports of progress and notices wait for the next step.
    pub fn is_talk(&self) -> bool {
        self.kind.wakes() && self.class().wakes()
    }

    /// Says whether it is worth a turn of this recipient's model while that is idle; others are read with the next one. A copy for who is
    /// mentioned is worth one only where it matters more than usual.
    pub fn wakes(&self, reader: &Name) -> bool {
        let waits = self.quiet || (self.is_copy_for(reader) && self.priority < Priority::High);
        self.is_talk() && !waits
    }

    /// Says whether a recipient has it because its text mentions them.
    pub fn is_copy_for(&self, reader: &Name) -> bool {
        self.more.as_ref().is_some_and(|more| more.mentions.contains(reader))
    }

    /// Says whether this recipient is meant by it, and has no mere copy.
    pub fn asks(&self, reader: &Name) -> bool {
        self.deliveries.get(reader).is_some() && !self.is_copy_for(reader)
    }

    /// Says whether it wants an answer of the user.
    pub fn is_question_to_user(&self) -> bool {
        let wants = |more: &EnvelopeHeader| more.response_seconds.is_some();
        self.audience.is_human() && self.more.as_deref().is_some_and(wants)
    }

    /// Returns its place on the scale of urgency.
    pub fn urgency(&self) -> Urgency {
        let exactly = self.more.as_ref().and_then(|more| more.urgency);
        exactly.unwrap_or_else(|| self.priority.urgency())
    }

    /// Returns its bytes in an inbox.
    pub fn bytes(&self) -> u64 {
        let beside = self.more.as_ref().map_or(0, |more| more.bytes);
        self.body.bytes.saturating_add(beside)
    }

    /// Returns its place among the unread messages of a member.
    pub fn unread_place(&self) -> UnreadPlace {
        UnreadPlace::new(self.urgency(), self.seq)
    }
}
