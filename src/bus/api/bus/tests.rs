//! What of the handle no command of a real bus can bring about on purpose.

use super::*;
use crate::bus::storage::file::{FileLog, Options};
use crate::sys::fs::disk::RealDisk;
use crate::sys::fs::file_lock::LockFile;

/// A turn that another thread of the process takes each time, until the deadline of the command has come.
struct Lost {
    claim: Arc<Claim>,
    times: Mutex<u32>,
}

impl WriteTurn for Lost {
    fn wait(&self) -> Result<(), LogError> {
        let mut times = self.times.lock().unwrap();
        *times += 1;
        if *times == 3 {
            self.claim.withdraw();
        }
        assert!(*times < 10, "it waits without a deadline");
        Ok(())
    }

    fn give_back(&self) {}

    fn holder(&self) -> String {
        "another".to_owned()
    }
}

#[test]
fn a_command_that_finds_another_writer_again_and_again_ends_at_its_deadline() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let log = FileLog::open(&directory, Arc::new(RealDisk), Options::default()).unwrap();
    let bus = Bus::open(Box::new(log)).unwrap();
    let other = LockFile::open_present(&directory.join("lock")).unwrap();
    let _guard = other.try_acquire().unwrap().unwrap();
    let claim = Arc::new(Claim::default());
    let turn = Lost { claim: Arc::clone(&claim), times: Mutex::default() };
    let (reply, mut answer) = oneshot::channel();
    let ask = Operation::Join(Box::new(crate::bus::rules::NewMember {
        session: random_ids::session(),
        wish: crate::bus::rules::NameChoice::Like(crate::bus::storage::contract::name("one")),
        kind: crate::domain::member::MemberKind::Peer,
        model: None,
        roles: Vec::new(),
        pid: 1,
        client: None,
        dead: Vec::new(),
        put_aside: None,
    }));
    let command = Command { id: random_ids::command(), by: None, taken: Vec::new(), ask };
    let queued = Queued { command, claim, reply };
    waiting_commands::serve(&Arc::downgrade(&bus.shared), &turn, queued);
    assert!(answer.try_recv().is_err(), "nobody waits for it any more");
    assert_eq!(*turn.times.lock().unwrap(), 3);
}
