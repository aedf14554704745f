//! Hosts: what may look at the same processes and lock the same files. On a bus that several machines share, each session has one.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Bytes of a machine's name, for people. POSIX allows host names of 255 bytes; those of machines are words.
pub const HOST_NAME_BYTES: usize = 64;

/// The id of a host: one boot of one machine, as one directory of a bus sees it.
///
/// A pid, a lock and a wakeup file mean something only there. A machine that has booted anew is another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub Uuid);

/// A host, with its name for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub id: HostId,
    /// The machine's name, at most [`HOST_NAME_BYTES`] long.
    pub name: String,
}

impl Host {
    /// Says whether a word is the machine's name. Names of machines have no case (RFC 4343).
    pub fn is_called(&self, word: &str) -> bool {
        self.name.eq_ignore_ascii_case(word)
    }
}
