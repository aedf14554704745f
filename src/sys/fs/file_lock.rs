//! Locks between processes: a write lock with a deadline, and a lock that is held while a session lives.
//!
//! Both are `flock(2)`: they belong to the open file, and the system frees them when the last process that has it open ends.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use super::disk::{self, FileIdentity, Writes};

use crate::sys::mutex::{lock, unpoisoned};

/// How many attempts fail before a lock counts as held: together they take about as long as a lock is usually held.
const ATTEMPTS: usize = 4;

/// The pause between two attempts with a deadline: short compared with the deadline, and long compared with an attempt.
const NEXT_TRY: Duration = Duration::from_millis(5);

/// A lock file that one process at a time holds.
///
/// `flock` is fair only to callers that block, and nothing can wake a blocked thread. So a thread that must not block tries once, and
/// leaves the waiting to another thread with a [`Queue`]: that thread gets the lock when `flock` returns, and passes it on within the
/// process. Within the process, one thread at a time holds the lock or waits for it.
pub struct LockFile {
    shared: Arc<SharedLock>,
    path: PathBuf,
    identity: FileIdentity,
}

struct SharedLock {
    file: File,
    turn: Mutex<LockTurn>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockTurn {
    /// No thread of this process holds the lock or waits for it.
    Free,
    /// A thread blocks until the lock is free.
    Waiting,
    /// A waiting thread has got the lock, and the next acquirer of this process takes it.
    Granted,
    /// A thread of this process holds the lock.
    Held,
}

/// A held lock; dropping it frees the lock.
pub struct Guard {
    shared: Arc<SharedLock>,
}

/// A handle to wait for a lock on a thread that may block.
#[derive(Clone)]
pub struct Queue {
    shared: Arc<SharedLock>,
    inode: u64,
}

impl LockFile {
    /// Opens the lock file, or creates it. It is never deleted; in the place of a bus's lock, another one may come.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = disk::open_or_create_private(path, Writes::Anywhere)?;
        Self::of(file, path)
    }

    /// Opens an existing lock file, which this user may be allowed only to read.
    pub fn open_present(path: &Path) -> io::Result<Self> {
        Self::of(disk::open_as_allowed(path, Writes::Anywhere)?, path)
    }

    fn of(file: File, path: &Path) -> io::Result<Self> {
        let identity = FileIdentity::from(&file.metadata()?);
        Ok(Self {
            shared: Arc::new(SharedLock {
                file,
                turn: Mutex::new(LockTurn::Free),
                changed: Condvar::new(),
            }),
            path: path.to_owned(),
            identity,
        })
    }

    /// Takes the lock if it is free, or if the queue of this process has got it.
    pub fn try_acquire(&self) -> io::Result<Option<Guard>> {
        let mut turn = self.shared.turn();
        let got = match *turn {
            LockTurn::Granted => true,
            LockTurn::Free => self.shared.try_often()?,
            LockTurn::Waiting | LockTurn::Held => false,
        };
        if got {
            *turn = LockTurn::Held;
        }
        Ok(got.then(|| Guard { shared: Arc::clone(&self.shared) }))
    }

    /// Takes the lock; `None` if another holder keeps it for longer than the timeout.
    ///
    /// It keeps trying, out of turn, for rare actions such as the creation of a bus. So no thread stays behind that blocks for as long as
    /// another process holds the lock.
    pub fn acquire(&self, timeout: Duration) -> io::Result<Option<Guard>> {
        let begun = Instant::now();
        loop {
            if let Some(guard) = self.try_acquire()? {
                return Ok(Some(guard));
            }
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            // A thread of this process that frees the lock wakes this one; another process cannot.
            let waited = self.shared.changed.wait_timeout(self.shared.turn(), left.min(NEXT_TRY));
            drop(waited);
        }
    }

    /// Returns a handle to wait for the lock on another thread.
    pub fn queue(&self) -> Queue {
        Queue { shared: Arc::clone(&self.shared), inode: self.identity.inode }
    }

    /// Says whether the path still names the file that was opened.
    pub fn is_in_place(&self) -> bool {
        std::fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| FileIdentity::from(&metadata) == self.identity)
    }
}

impl Queue {
    /// Returns when this process has the lock, for the next [`LockFile::try_acquire`]. Blocks while another process holds it.
    pub fn wait(&self) -> io::Result<()> {
        let shared = &*self.shared;
        let mut turn = shared.turn();
        while *turn != LockTurn::Free {
            turn = unpoisoned(shared.changed.wait(turn));
        }
        *turn = LockTurn::Waiting;
        drop(turn);
        let outcome = exclusive(&shared.file);
        turn = shared.turn();
        if outcome.is_ok() {
            *turn = LockTurn::Granted;
        } else {
            *turn = LockTurn::Free;
            shared.changed.notify_all();
        }
        outcome
    }

    /// Frees a lock that was granted and not taken.
    pub fn release(&self) {
        let mut turn = self.shared.turn();
        if *turn == LockTurn::Granted {
            self.shared.free(&mut turn);
        }
    }

    /// Names the process that holds the lock, by pid and program if the system knows it.
    pub fn holder(&self) -> String {
        holder_of(self.inode).unwrap_or_else(|| "another process".to_owned())
    }
}

impl SharedLock {
    fn turn(&self) -> MutexGuard<'_, LockTurn> {
        // Each change is one assignment, so a panic of another thread does no harm.
        lock(&self.turn)
    }

    fn try_often(&self) -> io::Result<bool> {
        for _ in 0..ATTEMPTS {
            if try_exclusive(&self.file)? {
                return Ok(true);
            }
            std::thread::yield_now();
        }
        Ok(false)
    }

    fn free(&self, turn: &mut LockTurn) {
        release(&self.file);
        *turn = LockTurn::Free;
        self.changed.notify_all();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.free(&mut self.shared.turn());
    }
}

/// Finds the holder of an exclusive `flock` on a file, in the list of Linux: `1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF`. Does not
/// compare the device, because some file systems show another one there.
fn holder_of(inode: u64) -> Option<String> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words[..] else {
            return None;
        };
        let found: u64 = file.rsplit(':').next()?.parse().ok()?;
        (found == inode).then(|| pid.to_owned())
    })?;
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} {}", program.trim()).trim_end().to_owned())
}

/// A file whose lock shows that a session lives. The lock is held while any process has the file open.
#[derive(Debug)]
pub struct LifeLock {
    file: File,
}

impl LifeLock {
    /// Creates the file, which must not exist yet, and locks it.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = disk::create_private(path, Writes::Anywhere)?;
        if try_exclusive(&file)? {
            Ok(Self { file })
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// Records that the holder still works, by the time of the file.
    pub fn beat(&self) -> io::Result<()> {
        disk::touch(&self.file)
    }

    /// Returns another handle to the same open file: the lock is free only when both are closed.
    pub fn share(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Says whether any process holds the lock of a file; a missing file is not held.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let file = match disk::open_as_allowed(path, Writes::Anywhere) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // A shared lock, so that two checking processes do not take each other for the holder.
        match FileExt::try_lock_shared(&file) {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn try_exclusive(file: &File) -> io::Result<bool> {
    match FileExt::try_lock(file) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn exclusive(file: &File) -> io::Result<()> {
    loop {
        match FileExt::lock(file) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

fn release(file: &File) {
    // Unlocking an open file cannot fail. If it did, closing the file would free the lock.
    if let Err(error) = FileExt::unlock(file) {
        tracing::warn!(%error, "failed to unlock the bus");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const GENEROUS: Duration = Duration::from_secs(20);

    #[test]
    fn a_lock_has_one_holder_whose_name_others_see() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let one = LockFile::open(&path).unwrap();
        let other = LockFile::open(&path).unwrap();
        let guard = one.acquire(SOON).unwrap().unwrap();
        assert!(other.acquire(SOON).unwrap().is_none());
        if cfg!(target_os = "linux") {
            let holder = other.queue().holder();
            let named = format!("process {} ", std::process::id());
            assert!(holder.starts_with(&named), "{holder}");
        }
        drop(guard);
        assert!(other.acquire(GENEROUS).unwrap().is_some());
    }

    #[test]
    fn a_missed_deadline_leaves_the_lock_free_for_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let [one, late, third] = [(); 3].map(|()| LockFile::open(&path).unwrap());
        let guard = one.acquire(SOON).unwrap().unwrap();
        assert!(late.acquire(SOON).unwrap().is_none());
        drop(guard);
        let guard = third.acquire(GENEROUS).unwrap().unwrap();
        assert!(late.acquire(SOON).unwrap().is_none());
        drop(guard);
        assert!(late.acquire(GENEROUS).unwrap().is_some());
        assert!(one.acquire(GENEROUS).unwrap().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_wait_in_vain_leaves_no_thread_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let [one, other] = [(); 2].map(|()| LockFile::open(&path).unwrap());
        let guard = one.acquire(SOON).unwrap().unwrap();
        for _ in 0..3 {
            assert!(other.acquire(SOON).unwrap().is_none());
        }
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        let left: Vec<_> = names.filter(|name| name.trim() == "bus-lock").collect();
        assert!(left.is_empty(), "{left:?}");
        drop(guard);
    }

    #[test]
    fn a_granted_lock_is_taken_by_one_thread_or_released() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let [one, other] = [(); 2].map(|()| LockFile::open(&path).unwrap());
        one.queue().wait().unwrap();
        assert!(other.try_acquire().unwrap().is_none());
        let guard = one.try_acquire().unwrap().unwrap();
        assert!(one.try_acquire().unwrap().is_none(), "it is taken");
        one.queue().release();
        assert!(other.try_acquire().unwrap().is_none(), "it is still held");
        drop(guard);
        one.queue().wait().unwrap();
        one.queue().release();
        assert!(other.try_acquire().unwrap().is_some());
    }

    #[test]
    fn a_life_lock_is_free_once_its_last_handle_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("life");
        assert!(!LifeLock::is_held(&path).unwrap());
        let life = LifeLock::take(&path).unwrap();
        let shared = life.share().unwrap();
        assert!(LifeLock::is_held(&path).unwrap());
        drop(life);
        assert!(LifeLock::is_held(&path).unwrap());
        drop(shared);
        assert!(!LifeLock::is_held(&path).unwrap());
    }
}
