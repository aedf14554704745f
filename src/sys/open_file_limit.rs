//! The limit of open files of this process: a team of fifty needs hundreds, and the systems' default is 1,024 or 256.
//!
//! The soft limit is low because programs that use `select` break beyond 1,024. This program does not; its children get the old limit
//! back.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit to request if the system refuses its own maximum, as macOS does.
const ENOUGH: u64 = 10_240;

/// The soft limit that this process was started with, once it has been raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit to the hard one.
pub fn raise() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let Some(before) = limit.current else {
        return Ok(());
    };
    let raised = set(limit.maximum).or_else(|error| {
        let enough = limit.maximum.map_or(ENOUGH, |max| max.min(ENOUGH));
        if enough > before { set(Some(enough)) } else { Err(error) }
    });
    raised?;
    // A second call finds nothing to raise.
    let _ = BEFORE.set(before);
    Ok(())
}

/// Returns the limit for children, if it differs from that of this process.
pub fn before() -> Option<u64> {
    BEFORE.get().copied()
}

/// Sets the soft limit of this process and its later children.
pub fn lower(limit: u64) -> io::Result<()> {
    set(Some(limit))
}

fn set(soft: Option<u64>) -> io::Result<()> {
    let limit = Rlimit { current: soft, maximum: getrlimit(Resource::Nofile).maximum };
    Ok(setrlimit(Resource::Nofile, limit)?)
}
