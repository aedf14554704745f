//! The model on a real server: each process is on a host of its own, with its own mirror, and the server's clock counts.
//!
//! A host learns the server's time with an answer. So after time has passed, a process decides by an earlier time until its next answer.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::engine::{Engine, Process};
use crate::bus::background::append_in_order::{append_in_order, pull};
use crate::bus::error::BusError;
use crate::bus::event::Entry;
use crate::bus::replica::Replica;
use crate::bus::rules::Command;
use crate::bus::shared::BusShared;
use crate::bus::storage::file::{FileLog, Networks, NewOrder, Options};
use crate::bus::storage::postgres::make_team;
use crate::bus::storage::postgres::test_server::TestServer;
use crate::bus::storage::{Log as _, OrderedBy, Sequencer};
use crate::domain::time::Now;
use crate::sys::fs::disk::RealDisk;

pub(in crate::bus::model) struct ServerEngine {
    server: Rc<TestServer>,
    order: OrderedBy,
    mirrors: tempfile::TempDir,
    /// The seq after the last line that a process has written.
    written: Rc<Cell<u64>>,
}

struct ServerProcess {
    shared: BusShared,
    order: Arc<dyn Sequencer>,
    replica: Replica,
    written: Rc<Cell<u64>>,
}

impl ServerEngine {
    /// Makes a team on a server whose clock can be moved.
    pub(in crate::bus::model) fn on(server: &Rc<TestServer>) -> Self {
        let until = Instant::now() + Duration::from_secs(20);
        let order = make_team(&server.address(), &Uuid::new_v4().to_string(), until).unwrap();
        let mirrors = tempfile::tempdir().unwrap();
        Self { server: Rc::clone(server), order, mirrors, written: Rc::new(Cell::new(1)) }
    }

    fn opened(&self, mirror: &str) -> ServerProcess {
        let project = self.mirrors.path().join(mirror);
        std::fs::create_dir_all(&project).unwrap();
        let mut log = Box::new(open(&self.order, &project));
        let replica = log.open().unwrap();
        let order = log.sequencer().expect("a mirror has a sequencer");
        // No thread does any jobs.
        let (jobs, _) = mpsc::channel();
        let shared = BusShared::new(log, replica.clone(), jobs);
        ServerProcess { shared, order, replica, written: Rc::clone(&self.written) }
    }
}

fn open(order: &OrderedBy, directory: &Path) -> FileLog {
    let options = Options {
        networks: Networks::Allowed,
        order: NewOrder::Server(order.clone()),
        ..Options::default()
    };
    FileLog::open(&directory.join(".claude/bridge"), Arc::new(RealDisk), options).unwrap()
}

impl Engine for ServerEngine {
    fn open(&self, number: usize) -> Box<dyn Process> {
        Box::new(self.opened(&number.to_string()))
    }

    fn open_anew(&self) -> Box<dyn Process> {
        let mut process = self.opened(&Uuid::new_v4().to_string());
        process.catch_up();
        Box::new(process)
    }

    fn let_pass(&self, ms: u64) {
        self.server.move_clock(Duration::from_millis(ms));
    }

    fn let_pass_until_due(&self, process: &mut dyn Process) -> bool {
        process.catch_up();
        // The answer of the server has brought its time.
        let now = process.now();
        let Some(due_ms) = process.replica().state.earliest_due_ms(now) else { return false };
        self.let_pass(due_ms.saturating_sub(now.tick.ms));
        process.catch_up();
        true
    }
}

impl ServerProcess {
    /// Takes over what the log has, and returns the line that no process has seen before.
    fn see(&mut self) -> Option<Entry> {
        let mut core = self.shared.core();
        let (entries, _) = core.log.read_after(self.replica.place, usize::MAX).unwrap();
        self.replica = core.replica.clone();
        let is_new = |entry: &Entry| entry.seq >= self.written.get();
        let mut new = entries.into_iter().map(|(_, entry)| entry).filter(is_new);
        let (line, more) = (new.next(), new.next());
        assert_eq!(more, None, "a small team needs one append");
        self.written.set(self.written.get().max(self.replica.next_seq));
        line
    }
}

impl Process for ServerProcess {
    fn append(&mut self, command: &Command) -> Result<Option<Entry>, BusError> {
        let appended = append_in_order(&self.shared, &*self.order, command);
        let line = self.see();
        appended?;
        Ok(line)
    }

    fn catch_up(&mut self) {
        let pulled = self.shared.in_turn(|| pull(&self.shared, &*self.order));
        pulled.unwrap();
        assert_eq!(self.see(), None, "only appends write");
    }

    fn replica(&self) -> &Replica {
        &self.replica
    }

    fn now(&self) -> Now {
        self.shared.core().log.now()
    }

    /// The machine is another host then, with the same mirror.
    fn boot(&mut self) {
        self.shared.begin_host_anew().unwrap();
    }
}
