//! What makes a log in files the mirror of another one: the keeper of its order, the host that it is, and the time of the team.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use uuid::Uuid;

use super::host_file::HostFile;
use crate::bus::storage::postgres::PostgresOrder;
use crate::bus::storage::{LogError, OrderedBy, Sequencer};
use crate::domain::member::{Host, HostId};
use crate::domain::time::{Now, Tick};
use crate::sys::fs::file_lock::Guard;
use crate::sys::mutex::lock;

/// What makes a log in files the mirror of another one.
pub(crate) struct MirrorParts {
    pub(in crate::bus::storage::file) sequencer: Arc<dyn Sequencer>,
    order: OrderedBy,
    epoch: u32,
    host: Mutex<HostFile>,
    directory: PathBuf,
    /// The turn to write, while a line gets its place.
    pub(super) turn: Option<Guard>,
}

impl MirrorParts {
    /// Returns them for a bus whose order this server keeps. It connects to no server.
    pub(in crate::bus::storage::file) fn of(
        order: OrderedBy,
        directory: &Path,
    ) -> Result<Self, LogError> {
        let sequencer = Arc::new(PostgresOrder::of(&order)?);
        let host = Mutex::new(HostFile::load(directory)?);
        let (epoch, directory) = (epoch(order.epoch), directory.to_owned());
        Ok(Self { sequencer, order, epoch, host, directory, turn: None })
    }

    pub(in crate::bus::storage::file) fn order(&self) -> &OrderedBy {
        &self.order
    }

    pub(in crate::bus::storage::file) fn host(&self) -> Host {
        self.current().now.clone()
    }

    /// Says whether a host is another one than this mirror is or was.
    pub(in crate::bus::storage::file) fn is_elsewhere(&self, host: HostId) -> bool {
        let here = self.current();
        here.now.id != host && !here.was.contains(&host)
    }

    /// Returns which host this is, as the file says now: another process may have begun another one.
    fn current(&self) -> MutexGuard<'_, HostFile> {
        let mut host = lock(&self.host);
        if let Err(error) = host.renew_if_changed(&self.directory) {
            tracing::debug!("failed to read which host this is: {error}");
        }
        host
    }

    /// Makes this another host.
    pub(super) fn begin_anew(&self) -> Result<(), LogError> {
        lock(&self.host).begin_anew(&self.directory)
    }

    /// Returns the time of the team. Before the server has said it, the machine's wall clock stands for it: no line is written by then.
    pub(in crate::bus::storage::file) fn time(&self, here: Now) -> Now {
        let wall = Tick { boot: self.epoch, ms: u64::try_from(here.wall_ms).unwrap_or_default() };
        let tick = self.sequencer.tick().map_or(wall, |tick| Tick { boot: self.epoch, ..tick });
        Now { wall_ms: i64::try_from(tick.ms).unwrap_or(i64::MAX), tick }
    }
}

/// Returns the number that stands for the boot in the times of a team.
fn epoch(id: Uuid) -> u32 {
    crc32fast::hash(id.as_bytes())
}
