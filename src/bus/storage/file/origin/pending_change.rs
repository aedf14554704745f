//! What the record of a bus says of a change of its keeper that is under way.

use serde::{Deserialize, Serialize};

use crate::bus::storage::OrderedBy;

/// A change of the keeper of a bus that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeeperChange {
    /// The next keeper; none for the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<OrderedBy>,
    /// The team that the bus leaves for its files, until that has ended on its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<LeftTeam>,
}

/// A team on a server that a bus has left for its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftTeam {
    pub(crate) order: OrderedBy,
    /// The seq at which the files go on.
    pub(crate) next_seq: u64,
}
