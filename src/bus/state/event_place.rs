//! Where an event stands in the log, and when it happened: what each change of the state is given beside its event.

use super::{BodyRef, Origin};
use crate::bus::event::{Body, LogPosition};
use crate::domain::time::Tick;

/// Where an event stands in the log, and when it happened.
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
