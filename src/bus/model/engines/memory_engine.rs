//! The model on a log in memory: all processes are on one machine, and share its clock.

use std::sync::{Arc, Mutex};

use super::engine::{Engine, Process};
use crate::bus::error::BusError;
use crate::bus::event::Entry;
use crate::bus::replica::Replica;
use crate::bus::rules::Command;
use crate::bus::shared::append_command;
use crate::bus::storage::in_memory::{MemoryLog, Store};
use crate::bus::storage::{Appended, Log};
use crate::domain::time::{Now, Tick};

type Clock = Arc<Mutex<Now>>;

pub(in crate::bus::model) struct MemoryEngine {
    store: Store,
    clock: Clock,
}

struct MemoryProcess {
    log: MemoryLog,
    replica: Replica,
    clock: Clock,
}

impl MemoryEngine {
    pub(in crate::bus::model) fn new() -> Self {
        let tick = Tick { boot: 1, ms: 1 };
        let clock = Arc::new(Mutex::new(Now { wall_ms: 0, tick }));
        let now = Arc::clone(&clock);
        Self { store: Store::new(Arc::new(move || *now.lock().unwrap())), clock }
    }
}

impl Engine for MemoryEngine {
    fn open(&self, _number: usize) -> Box<dyn Process> {
        self.open_anew()
    }

    fn open_anew(&self) -> Box<dyn Process> {
        let mut log = self.store.log();
        let replica = log.open().unwrap();
        Box::new(MemoryProcess { log, replica, clock: Arc::clone(&self.clock) })
    }

    fn let_pass(&self, ms: u64) {
        self.clock.lock().unwrap().tick.ms += ms;
    }

    fn let_pass_until_due(&self, process: &mut dyn Process) -> bool {
        process.catch_up();
        let state = &process.replica().state;
        let mut now = self.clock.lock().unwrap();
        now.tick.boot = state.boot;
        let Some(due_ms) = state.earliest_due_ms(*now) else { return false };
        let left_ms = due_ms.saturating_sub(now.tick.ms);
        now.tick.ms += left_ms;
        now.wall_ms = now.wall_ms.saturating_add_unsigned(left_ms);
        true
    }
}

impl Process for MemoryProcess {
    fn append(&mut self, command: &Command) -> Result<Option<Entry>, BusError> {
        match append_command(&mut self.log, &mut self.replica, command)? {
            Appended::Refused | Appended::Nothing => Ok(None),
            Appended::Contended => panic!("no other process writes now"),
            Appended::Written(entry) => Ok(Some(entry)),
        }
    }

    fn catch_up(&mut self) {
        self.log.catch_up(&mut self.replica).unwrap();
    }

    fn replica(&self) -> &Replica {
        &self.replica
    }

    fn now(&self) -> Now {
        self.log.now()
    }

    fn boot(&mut self) {
        let mut now = self.clock.lock().unwrap();
        now.tick.boot += 1;
        now.tick.ms = 1;
    }
}
