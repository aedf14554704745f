//! What the pages know of a team at one moment: parts of the read model.

use std::sync::Arc;

use crate::view::{Board, Decided, Happening, Letter, Stretch};

/// Whether there is a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BusState {
    /// The project has none yet.
    #[default]
    Absent,
    Open,
    /// It was removed while somebody looked.
    Removed,
    /// It cannot be read: why, and what to do, in words for people.
    Unusable(String),
}

/// A team at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub bus: BusState,
    /// The name of the project.
    pub project: String,
    /// What stands on the bus, if it is open.
    pub board: Option<Arc<Board>>,
    /// The last messages, oldest first, without notices of the bridge.
    pub letters: Arc<Vec<Letter>>,
    /// What has been decided, the last first.
    pub decided: Arc<Vec<Decided>>,
    /// The last happenings, oldest first, without receipts and waits.
    pub happenings: Arc<Vec<Happening>>,
    /// When members worked and waited: what has ended, by its end, and then what goes on.
    pub stretches: Arc<Vec<Stretch>>,
}

impl Snapshot {
    /// Returns the seq of the last event that it shows; zero without a bus.
    pub fn seq(&self) -> u64 {
        self.board.as_ref().map_or(0, |board| board.seq)
    }
}
