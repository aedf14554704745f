//! Locks between processes: one that is waited for with a deadline, and one that says that somebody lives.
//!
//! Both are `flock(2)`: they belong to the open file, and the system frees them when the last process that has it open is gone.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use super::disk::{self, Identity, Writes};

/// How often a lock that is taken is asked for before this thread sleeps: it is held for about as long as these attempts take.
const ATTEMPTS: usize = 4;

/// The longest name of a holder, in bytes; the file always has this length, so that one write replaces it.
const HOLDER_BYTES: usize = 96;

/// A lock file that one process at a time holds.
///
/// A thread of its own blocks in `flock` when another process holds it: only a blocked one is served in turn. When the deadline
/// comes first, the wish stays with that thread, which gives the lock back as soon as it gets it, unless somebody here wants it again.
pub struct LockFile {
    shared: Arc<Shared>,
    path: PathBuf,
    identity: Identity,
    has_thread: bool,
}

struct Shared {
    file: File,
    wish: Mutex<Wish>,
    changed: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
enum Wish {
    /// Nobody here has it or wants it.
    None,
    /// The thread is to get it.
    Wanted,
    /// The thread still waits for it, and nobody here wants it any more.
    Withdrawn,
    /// The thread has got it for whoever wanted it.
    Granted,
    /// Somebody here has it.
    Held,
    /// The thread could not get it.
    Failed(io::ErrorKind),
    /// Nobody here will want it again.
    Closed,
}

/// The holding of a lock.
pub struct Guard {
    shared: Arc<Shared>,
}

impl LockFile {
    /// Opens the lock file, or makes it. It is never renamed or deleted.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = disk::open_or_create_private(path, Writes::Anywhere)?;
        let identity = Identity::from(&file.metadata()?);
        Ok(Self {
            shared: Arc::new(Shared {
                file,
                wish: Mutex::new(Wish::None),
                changed: Condvar::new(),
            }),
            path: path.to_owned(),
            identity,
            has_thread: false,
        })
    }

    /// Takes the lock; none when somebody else holds it for longer than `patience`.
    pub fn acquire(&mut self, patience: Duration) -> io::Result<Option<Guard>> {
        let shared = Arc::clone(&self.shared);
        let mut wish = shared.wish();
        if *wish == Wish::None {
            for _ in 0..ATTEMPTS {
                if try_exclusive(&shared.file)? {
                    *wish = Wish::Held;
                    return Ok(Some(self.guard()));
                }
                std::thread::yield_now();
            }
            self.ensure_thread()?;
        }
        *wish = Wish::Wanted;
        shared.changed.notify_all();
        let deadline = Instant::now() + patience;
        loop {
            match *wish {
                Wish::Granted => {
                    *wish = Wish::Held;
                    return Ok(Some(self.guard()));
                }
                Wish::Failed(kind) => {
                    *wish = Wish::None;
                    return Err(kind.into());
                }
                _ => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                *wish = Wish::Withdrawn;
                return Ok(None);
            }
            wish = shared
                .changed
                .wait_timeout(wish, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Starts the thread that blocks. It is not joined: it may be blocked for as long as another process likes, and ends after that.
    fn ensure_thread(&mut self) -> io::Result<()> {
        if !self.has_thread {
            let shared = Arc::clone(&self.shared);
            std::thread::Builder::new()
                .name("bus-lock".to_owned())
                .spawn(move || shared.serve())?;
            self.has_thread = true;
        }
        Ok(())
    }

    fn guard(&self) -> Guard {
        Guard {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Says whether the path still names the file that was opened.
    pub fn is_in_place(&self) -> bool {
        std::fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| Identity::from(&metadata) == self.identity)
    }

    /// Returns the one who noted its name last.
    pub fn holder(&self) -> String {
        let mut bytes = [0; HOLDER_BYTES];
        let read = self.shared.file.read_at(&mut bytes, 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]).trim().to_owned();
        if text.is_empty() {
            "another process".to_owned()
        } else {
            text
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        *self.shared.wish() = Wish::Closed;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn wish(&self) -> MutexGuard<'_, Wish> {
        // The wish is whole after each assignment, so a panic of another thread does not spoil it.
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks for the lock whenever somebody here wants it.
    fn serve(&self) {
        let mut wish = self.wish();
        loop {
            while *wish != Wish::Wanted {
                if *wish == Wish::Closed {
                    return;
                }
                wish = self
                    .changed
                    .wait(wish)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            drop(wish);
            let outcome = exclusive(&self.file);
            wish = self.wish();
            match (outcome, &*wish) {
                (Err(error), Wish::Wanted) => *wish = Wish::Failed(error.kind()),
                (Ok(()), Wish::Wanted) => *wish = Wish::Granted,
                (outcome, state) => {
                    let closed = *state == Wish::Closed;
                    if outcome.is_ok() {
                        release(&self.file);
                    }
                    if closed {
                        return;
                    }
                    *wish = Wish::None;
                }
            }
            self.changed.notify_all();
        }
    }
}

impl Guard {
    /// Notes who holds the lock, for those who wait for it; writes only what is not there already.
    pub fn note(&self, holder: &str) -> io::Result<()> {
        let mut wanted = [b' '; HOLDER_BYTES];
        wanted[HOLDER_BYTES - 1] = b'\n';
        for (place, byte) in wanted[..HOLDER_BYTES - 1].iter_mut().zip(holder.bytes()) {
            *place = byte;
        }
        let mut present = [0; HOLDER_BYTES];
        let read = self.shared.file.read_at(&mut present, 0)?;
        if read < HOLDER_BYTES || present != wanted {
            self.shared.file.write_all_at(&wanted, 0)?;
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut wish = self.shared.wish();
        release(&self.shared.file);
        if *wish == Wish::Held {
            *wish = Wish::None;
        }
    }
}

/// A file whose lock says that somebody lives, held for as long as it is open anywhere.
#[derive(Debug)]
pub struct LifeLock {
    file: File,
}

impl LifeLock {
    /// Makes the file, which must not be there yet, and locks it.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = disk::create_private(path, Writes::Anywhere)?;
        if try_exclusive(&file)? {
            Ok(Self { file })
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// Shows that the holder still does its work.
    pub fn beat(&self) -> io::Result<()> {
        disk::touch(&self.file)
    }

    /// Returns another handle to the same open file: the lock is free only when both are closed.
    pub fn share(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Says whether somebody holds the lock of that file; a file that is not there is held by nobody.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let file = match disk::open_private(path, Writes::Anywhere) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // Shared, so that two who look at once do not take each other for the holder.
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
    // Unlocking a file that is open cannot fail; if it did, closing it would free the lock.
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
    fn a_lock_is_held_by_one_and_named_to_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (mut one, mut other) = (
            LockFile::open(&path).unwrap(),
            LockFile::open(&path).unwrap(),
        );
        let guard = one.acquire(SOON).unwrap().unwrap();
        guard.note("one").unwrap();
        assert!(other.acquire(SOON).unwrap().is_none());
        assert_eq!(other.holder(), "one");
        drop(guard);
        let guard = other.acquire(GENEROUS).unwrap().unwrap();
        guard.note("the other").unwrap();
        assert_eq!(one.holder(), "the other");
    }

    #[test]
    fn a_lock_that_comes_too_late_is_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (mut one, mut late, mut third) = (
            LockFile::open(&path).unwrap(),
            LockFile::open(&path).unwrap(),
            LockFile::open(&path).unwrap(),
        );
        let guard = one.acquire(SOON).unwrap().unwrap();
        assert!(late.acquire(SOON).unwrap().is_none());
        drop(guard);
        let guard = third.acquire(GENEROUS).unwrap().unwrap();
        assert!(late.acquire(SOON).unwrap().is_none());
        drop(guard);
        assert!(late.acquire(GENEROUS).unwrap().is_some());
        assert!(one.acquire(GENEROUS).unwrap().is_some());
    }

    #[test]
    fn a_life_is_over_when_its_last_handle_is_closed() {
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
