//! The anchors: how long this machine takes for the least work that the bus could do.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Outcome;
use super::child_process::{self, ChildProcess};
use super::project::text;
use super::samples::{Samples, monotonic_ns};

/// The pause between two messages, in which the receiver falls asleep again.
pub(crate) const PACE: Duration = Duration::from_millis(1);

/// The text that ends a receiver.
pub(crate) const END: &str = "end";

/// Appends lines to an open file, each with an fdatasync.
pub(crate) fn append_and_sync(path: &Path, count: usize) -> Outcome<Samples> {
    let mut file = appendable(path)?;
    let line = text("");
    let mut samples = Samples::default();
    for _ in 0..count {
        let begun = Instant::now();
        file.write_all(line.as_bytes())?;
        file.sync_data()?;
        samples.push(begun.elapsed());
    }
    Ok(samples)
}

/// Appends a record every millisecond to a file that another process watches, and returns how long each took to be read.
pub(crate) async fn append_to_reader(path: &Path, count: usize) -> Outcome<Samples> {
    let mut file = appendable(path)?;
    let mut reader = ChildProcess::start("raw-reader", &[&path.to_string_lossy()])?;
    for _ in 0..count {
        tokio::time::sleep(PACE).await;
        file.write_all(text(&format!("{} ", monotonic_ns())).as_bytes())?;
    }
    tokio::time::sleep(PACE).await;
    file.write_all(text(END).as_bytes())?;
    Samples::from_line(&reader.hear()?)
}

/// The other side of [`append_to_reader`].
#[cfg(target_os = "linux")]
pub(crate) fn raw_reader(path: &Path) -> Outcome {
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
    use std::os::unix::fs::FileExt as _;

    use super::project::MESSAGE_BYTES;

    let file = File::open(path)?;
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC)?;
    inotify.add_watch(path, AddWatchFlags::IN_MODIFY)?;
    child_process::reply("ready")?;
    let (mut samples, mut offset) = (Samples::default(), 0);
    let mut record = [0; MESSAGE_BYTES];
    loop {
        inotify.read_events()?;
        while file.read_at(&mut record, offset)? == MESSAGE_BYTES {
            let now = monotonic_ns();
            offset += MESSAGE_BYTES as u64;
            let record = std::str::from_utf8(&record)?;
            if record.starts_with(END) {
                return child_process::reply(&samples.to_line());
            }
            let (sent, _) = record.split_once(' ').ok_or("a record without a time")?;
            samples.push_ns(now.saturating_sub(sent.parse()?));
        }
    }
}

/// Fails: the benchmark measures with interfaces that only Linux has.
#[cfg(not(target_os = "linux"))]
pub(crate) fn raw_reader(_path: &Path) -> Outcome {
    Err("only Linux has inotify, which this anchor sleeps in".into())
}

/// One of several writers of one file: appends under a lock, and syncs after it has released the lock.
pub(crate) fn raw_writer(path: &Path, count: usize) -> Outcome {
    let mut file = appendable(path)?;
    let line = text("");
    let mut samples = Samples::default();
    child_process::reply("ready")?;
    child_process::listen()?;
    for _ in 0..count {
        let begun = Instant::now();
        file.lock()?;
        file.write_all(line.as_bytes())?;
        file.unlock()?;
        file.sync_data()?;
        samples.push(begun.elapsed());
    }
    child_process::reply(&samples.to_line())
}

fn appendable(path: &Path) -> Outcome<File> {
    Ok(OpenOptions::new().create(true).append(true).open(path)?)
}
