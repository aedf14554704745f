//! A disk that keeps only synced data, and whose power can be cut at any operation.
//!
//! Each file has a written and a synced content; each directory has the same for its names. After a power cut there is the synced
//! part, plus a random part of the rest: some of the first writes, the last of them in part or as zeros, and any of the changes of
//! names.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::sys::fs::disk::{Disk, DiskFile, FileIdentity, Stamp};

/// The unit in which a disk writes.
const SECTOR_BYTES: usize = 512;

/// A fault of the next operation of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Only this many bytes are written.
    ShortWrite(usize),
    NoSpace,
    /// The sync of a file fails, and no later one saves its unsynced writes.
    Sync,
}

/// An operation on a file, before its caller sees the result.
pub(crate) enum Done<'a> {
    /// These bytes were read. The observer may change them.
    Read(&'a mut [u8]),
    Append,
}

/// Observes operations until it breaks.
type Observer = Box<dyn FnMut(Done<'_>) -> ControlFlow<()> + Send>;

/// The disk.
#[derive(Clone, Default)]
pub(crate) struct SimulatedDisk {
    shared: Arc<Mutex<Contents>>,
}

#[derive(Default)]
struct Contents {
    files: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    /// Unsynced changes of names. A power cut keeps or loses each as a whole.
    changes: Vec<Vec<(PathBuf, Option<usize>)>>,
    operations: usize,
    cut_at: Option<usize>,
    faults: Vec<Fault>,
    /// Runs before the next check whether a directory has changed.
    before_look: Option<Box<dyn FnOnce() + Send>>,
    /// Observes reads and appends.
    observer: Option<Observer>,
}

#[derive(Clone, Default)]
struct Content {
    written: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Write>,
    /// Whether a sync failed: the earlier writes are not on disk, whatever a later sync reports.
    is_lost: bool,
}

#[derive(Clone)]
enum Write {
    Append(Vec<u8>),
    Truncate(usize),
}

struct SimulatedFile {
    shared: Arc<Mutex<Contents>>,
    index: usize,
}

impl SimulatedDisk {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.shared.lock().unwrap()
    }

    /// Returns the number of changing operations so far.
    pub(crate) fn operations(&self) -> usize {
        self.contents().operations
    }

    /// Fails this operation and all later ones.
    pub(crate) fn cut_power_at(&self, operation: usize) {
        self.contents().cut_at = Some(operation);
    }

    /// Fails the next operation of this kind.
    pub(crate) fn fail_next(&self, fault: Fault) {
        self.contents().faults.push(fault);
    }

    /// Runs something before the next check whether a directory has changed.
    pub(crate) fn before_next_look(&self, action: impl FnOnce() + Send + 'static) {
        self.contents().before_look = Some(Box::new(action));
    }

    /// Runs something after each read and append, until it breaks.
    pub(crate) fn after_each(
        &self,
        action: impl FnMut(Done<'_>) -> ControlFlow<()> + Send + 'static,
    ) {
        self.contents().observer = Some(Box::new(action));
    }

    /// Returns the disk as found when the power is back.
    pub(crate) fn after_power_cut(&self, seed: u64) -> Self {
        let mut random = Random(seed);
        let contents = self.contents();
        let mut names = contents.synced_names.clone();
        let in_order = random.below(2) == 0;
        let kept = random.below(contents.changes.len() + 1);
        for (number, change) in contents.changes.iter().enumerate() {
            let is_there = if in_order { number < kept } else { random.below(2) == 0 };
            if is_there {
                perform(&mut names, change);
            }
        }
        let files = contents.files.iter().map(|file| file.after_power_cut(&mut random)).collect();
        Self {
            shared: Arc::new(Mutex::new(Contents {
                files,
                synced_names: names.clone(),
                names,
                ..Contents::default()
            })),
        }
    }
}

impl Content {
    fn after_power_cut(&self, random: &mut Random) -> Self {
        let mut bytes = self.synced.clone();
        // After a failed sync, any part may be there.
        let is_lost = self.is_lost && random.below(2) == 0;
        if !is_lost {
            let kept = random.below(self.unsynced.len() + 1);
            for write in &self.unsynced[..kept] {
                write.perform(&mut bytes);
            }
            if let Some(Write::Append(next)) = self.unsynced.get(kept) {
                let part = random.below(next.len() + 1);
                match random.below(3) {
                    0 => {}
                    1 => bytes.extend_from_slice(&next[..part]),
                    _ => bytes.resize(bytes.len() + part, 0),
                }
            }
            // Any unsynced sector may be missing.
            if random.below(4) == 0 && bytes.len() > self.synced.len() {
                let fresh = &mut bytes[self.synced.len()..];
                let start = random.below(fresh.len());
                let end = fresh.len().min(start + SECTOR_BYTES);
                fresh[start..end].fill(0);
            }
        }
        Self { written: bytes.clone(), synced: bytes, ..Self::default() }
    }
}

impl Write {
    fn perform(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Append(more) => bytes.extend_from_slice(more),
            Self::Truncate(length) => bytes.truncate(*length),
        }
    }
}

fn perform(names: &mut BTreeMap<PathBuf, usize>, change: &[(PathBuf, Option<usize>)]) {
    for (path, file) in change {
        match file {
            Some(file) => names.insert(path.clone(), *file),
            None => names.remove(path),
        };
    }
}

impl Contents {
    fn has_power(&self) -> io::Result<()> {
        match self.cut_at {
            Some(cut) if self.operations > cut => Err(io::Error::other("the power is cut")),
            _ => Ok(()),
        }
    }

    /// Counts an operation. The one at which the power is cut may still take effect on the disk.
    fn operate(&mut self) -> io::Result<()> {
        self.has_power()?;
        self.operations += 1;
        Ok(())
    }

    fn fault(&mut self, is_it: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let index = self.faults.iter().position(is_it)?;
        Some(self.faults.remove(index))
    }

    fn change(&mut self, change: Vec<(PathBuf, Option<usize>)>) -> io::Result<()> {
        perform(&mut self.names, &change);
        self.changes.push(change);
        self.has_power()
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.has_power()?;
        let found = self.names.get(path).copied();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for SimulatedDisk {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut contents = self.contents();
        contents.operate()?;
        if contents.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let index = contents.files.len();
        contents.files.push(Content::default());
        contents.change(vec![(path.to_owned(), Some(index))])?;
        let shared = Arc::clone(&self.shared);
        Ok(Arc::new(SimulatedFile { shared, index }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let index = self.contents().find(path)?;
        let shared = Arc::clone(&self.shared);
        Ok(Arc::new(SimulatedFile { shared, index }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut contents = self.contents();
        contents.operate()?;
        let index = contents.find(from).or_else(|error| {
            // The last operation may still find its file.
            contents.names.get(from).copied().ok_or(error)
        })?;
        contents.change(vec![(to.to_owned(), Some(index)), (from.to_owned(), None)])
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.contents().names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        let mut contents = self.contents();
        if contents.find(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(io::ErrorKind::NotFound.into());
        }
        contents.operate()?;
        contents.change(vec![(path.to_owned(), None)])
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let contents = self.contents();
        contents.has_power()?;
        let here = |path: &&PathBuf| path.parent() == Some(directory);
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        Ok(contents.names.keys().filter(here).filter_map(name).collect())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut contents = self.contents();
        contents.operate()?;
        contents.has_power()?;
        let (synced, rest) = std::mem::take(&mut contents.changes)
            .into_iter()
            .partition(|change| change[0].0.parent() == Some(directory));
        contents.changes = rest;
        let synced: Vec<_> = synced;
        for change in synced {
            perform(&mut contents.synced_names, &change);
        }
        Ok(())
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.contents().find(path).map(identity)
    }

    fn stamp(&self, directory: &Path) -> io::Result<Stamp> {
        let before = self.contents().before_look.take();
        if let Some(action) = before {
            action();
        }
        let contents = self.contents();
        contents.has_power()?;
        Ok(Stamp {
            identity: identity(directory.as_os_str().len()),
            // It changes with every operation, and is never too fresh to be trusted.
            modified_ns: contents.operations as i128,
        })
    }
}

fn identity(index: usize) -> FileIdentity {
    FileIdentity { device: 0, inode: index as u64 }
}

impl SimulatedFile {
    /// Runs the observer, which may use the disk: it is not called for that.
    fn observe(&self, done: Done<'_>) {
        let observer = self.shared.lock().unwrap().observer.take();
        if let Some(mut action) = observer
            && action(done).is_continue()
        {
            self.shared.lock().unwrap().observer = Some(action);
        }
    }

    fn write(&self, write: Write) -> io::Result<()> {
        let mut contents = self.shared.lock().unwrap();
        contents.operate()?;
        let file = &mut contents.files[self.index];
        write.perform(&mut file.written);
        file.unsynced.push(write);
        contents.has_power()
    }
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let contents = self.shared.lock().unwrap();
        contents.has_power()?;
        let written = &contents.files[self.index].written;
        let start = written.len().min(usize::try_from(offset).unwrap());
        let length = buffer.len().min(written.len() - start);
        buffer[..length].copy_from_slice(&written[start..start + length]);
        drop(contents);
        self.observe(Done::Read(&mut buffer[..length]));
        Ok(length)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let fault = self.shared.lock().unwrap().fault(|fault| *fault != Fault::Sync);
        let length = match fault {
            Some(Fault::ShortWrite(length)) => length.min(bytes.len()),
            Some(_) => return Err(io::ErrorKind::StorageFull.into()),
            None => bytes.len(),
        };
        self.write(Write::Append(bytes[..length].to_vec()))?;
        self.observe(Done::Append);
        Ok(length)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.write(Write::Truncate(usize::try_from(length).unwrap()))
    }

    fn sync(&self) -> io::Result<()> {
        let mut contents = self.shared.lock().unwrap();
        contents.operate()?;
        contents.has_power()?;
        let fault = contents.fault(|fault| *fault == Fault::Sync);
        let file = &mut contents.files[self.index];
        if fault.is_some() {
            file.is_lost = true;
            return Err(io::Error::other("the disk failed"));
        }
        if !file.is_lost {
            file.synced.clone_from(&file.written);
            file.unsynced.clear();
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let contents = self.shared.lock().unwrap();
        contents.has_power()?;
        Ok(contents.files[self.index].written.len() as u64)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.shared.lock().unwrap().has_power()?;
        Ok(identity(self.index))
    }
}

/// Random numbers from a seed: `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((value ^ (value >> 31)) % limit as u64).unwrap()
    }
}
