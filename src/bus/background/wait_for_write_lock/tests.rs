//! A command that keeps losing its turn, which a test cannot arrange on a real bus.

use std::sync::Mutex;

use super::*;
use crate::bus::rules::{NameChoice, NewMember, Operation};
use crate::bus::storage::Log;
use crate::bus::storage::contract::name;
use crate::bus::storage::file::{FileLog, Options};
use crate::domain::member::MemberKind;
use crate::sys::fs::disk::RealDisk;
use crate::sys::fs::file_lock::LockFile;
use crate::sys::random_ids;

/// A turn that another thread always takes first, until the command's deadline.
struct Lost {
    withdrawal: Arc<Withdrawal>,
    attempts: Mutex<u32>,
}

impl WriteTurn for Lost {
    fn wait(&self) -> Result<(), LogError> {
        let mut attempts = self.attempts.lock().unwrap();
        *attempts += 1;
        if *attempts == 3 {
            self.withdrawal.withdraw();
        }
        assert!(*attempts < 10, "it waits without a deadline");
        Ok(())
    }

    fn release(&self) {}

    fn holder(&self) -> String {
        "another".to_owned()
    }
}

#[test]
fn a_command_that_keeps_losing_its_turn_ends_at_its_deadline() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let log = FileLog::open(&directory, Arc::new(RealDisk), Options::default()).unwrap();
    let mut log: Box<dyn Log> = Box::new(log);
    let replica = log.open().unwrap();
    let (jobs, _inbox) = mpsc::channel();
    let shared = Arc::new(BusShared::new(log, replica, jobs));
    let other = LockFile::open_present(&directory.join("lock")).unwrap();
    let _guard = other.try_acquire().unwrap().unwrap();
    let withdrawal = Arc::new(Withdrawal::default());
    let turn = Lost { withdrawal: Arc::clone(&withdrawal), attempts: Mutex::default() };
    let (reply, mut answer) = oneshot::channel();
    let choice = NameChoice::Like(name("one"));
    let new = NewMember::new(random_ids::session(), choice, MemberKind::Peer, 1);
    let operation = Operation::Join(Box::new(new));
    let command = Command { id: random_ids::command(), by: None, received: Vec::new(), operation };
    let queued = Queued { command, withdrawal, reply };
    serve(&Arc::downgrade(&shared), &turn, queued);
    assert!(answer.try_recv().is_err(), "its caller no longer waits");
    assert_eq!(*turn.attempts.lock().unwrap(), 3);
}
