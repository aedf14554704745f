//! The position of an event in the log and its time: each change of the state gets them with the event.

use super::{BodyRef, Origin};
use crate::bus::event::{Body, LogPosition};
use crate::domain::time::Tick;

/// The position of an event in the log, and its time.
pub(super) struct At {
    pub(super) seq: u64,
    pub(super) ts: i64,
    pub(super) tick: Tick,
    pub(super) place: LogPosition,
    pub(super) index: u16,
}

impl At {
    pub(super) fn origin(&self) -> Origin {
        Origin { seq: self.seq, wall_ms: self.ts, place: self.place, index: self.index }
    }

    pub(super) fn wall_ms(&self) -> i64 {
        self.ts
    }

    pub(super) fn body(&self, body: &Body) -> BodyRef {
        self.origin().body(body.bytes())
    }
}
