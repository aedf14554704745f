//! A walk, whichever it is, one step at a time.

use super::kept_places::Kept;
use super::older_walk::OlderWalk;
use super::thread_walk::ThreadWalk;
use super::usage_walk::UsageWalk;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::web::pages::{Extra, View};

/// A walk.
pub(in crate::web::bus_reader) enum Walk {
    Older(OlderWalk),
    Thread(ThreadWalk),
    Usage(UsageWalk),
}

impl Walk {
    /// Returns the walk that a view needs; none if it needs none.
    pub(in crate::web::bus_reader) fn of(view: &View, before: Option<u64>) -> Option<Self> {
        match view {
            View::Conversation => Some(Self::Older(OlderWalk::before(before?))),
            View::Thread(id) => Some(Self::Thread(ThreadWalk::of(id))),
            View::Usage(by) => Some(Self::Usage(UsageWalk::by(*by))),
            _ => None,
        }
    }

    /// Reads on. Returns what was found once the walk has ended.
    pub(in crate::web::bus_reader) fn step(
        &mut self,
        bus: &mut Follower,
        kept: &mut Kept,
    ) -> Result<Option<Extra>, LogError> {
        Ok(match self {
            Self::Older(walk) => {
                walk.step(bus, kept)?.map(|older| Extra { older: Some(older), ..Extra::default() })
            }
            Self::Thread(walk) => {
                walk.step(bus, kept)?.map(|thread| Extra { thread, ..Extra::default() })
            }
            Self::Usage(walk) => {
                walk.step(bus, kept)?.map(|usage| Extra { usage, ..Extra::default() })
            }
        })
    }
}
