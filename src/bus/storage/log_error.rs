//! The errors of storage.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::name::Name;
use crate::domain::text::shown_path::ShownPath as _;

/// Why an operation of the log failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// Another process holds the lock for too long.
    #[error("the bus is busy: {holder} holds its lock; try again")]
    Busy {
        /// The holder as named by the lock.
        holder: String,
    },
    /// The directory of the bus is no longer the one that was opened.
    #[error("the bus was removed while this session was using it")]
    Removed,
    /// A newer version wrote something that this one must not skip.
    #[error("a newer cli-team-bridge uses this bus: restart this one")]
    Newer,
    /// The directory cannot be trusted or used.
    #[error("cannot use `{}`: {reason}", path.shown())]
    Refused {
        /// The directory of the bus, or a part of it.
        path: PathBuf,
        /// The reason, and what to do.
        reason: String,
    },
    /// Sessions on another machine use the bus. Their deadlines and locks mean nothing here.
    #[error(
        "the bus is in use on another machine or in a virtual machine, where `{member}` is live: \
            use it from one machine at a time"
    )]
    OtherMachine {
        /// One of its members.
        member: Name,
    },
    /// One entry does not fit into a line.
    #[error("the command is {bytes} bytes long, over the limit of {limit} for one append")]
    TooLong { bytes: usize, limit: usize },
    /// The entry may or may not be on disk.
    #[error("it is unknown whether this took effect, because storing it failed: {source}")]
    OutcomeUnknown { source: Arc<std::io::Error> },
    /// The log does not hold it any more.
    #[error("the log no longer holds this")]
    Gone,
    /// A long text differs from the stored one: another program cut or changed its file.
    #[error("this text is damaged on disk: {found} bytes are there, and {stored} were stored")]
    DamagedText {
        /// The bytes that were read.
        found: u64,
        /// The bytes that the log names.
        stored: u64,
    },
    /// A long text has another hash than the stored one: another program changed its file.
    #[error("this text is damaged on disk: its file has another SHA-256 than what was stored")]
    ChangedText,
    /// The server that keeps the order of the bus cannot be reached.
    #[error("the server of the bus, {server}, cannot be reached: {reason}")]
    Away {
        server: String,
        reason: String,
        /// Whether it says itself that it serves nobody now.
        is_down: bool,
    },
    /// The server refuses to serve, or must not be used.
    #[error("cannot use the server of the bus, {server}: {reason}")]
    Unfit { server: String, reason: String },
    /// The server does not have the log that the mirror continues.
    #[error(
        "the server of the bus has not the team {team} that this machine knows: {why}. It was restored from a backup, a failover lost its newest part, or it is another server. Nothing is written until you decide: `cli-team-bridge bus status` says what each side has"
    )]
    ServerLost { team: String, why: String },
    /// The team was copied from the server into files, and has ended there.
    #[error(
        "the team {team} was copied from the server into files on the machine {host:?}, and goes on only there: move `.claude/bridge` aside to join or begin another team"
    )]
    CopiedAway { team: String, host: String },
    /// The server has another line than the one that follows here.
    #[error(
        "the server of the bus has event {seq} where {expected} follows here: it is another bus, or has lost its newest part"
    )]
    OutOfOrder { seq: u64, expected: u64 },
    /// The operating system reported an error.
    #[error("failed to {action} `{}`: {source}{}", path.shown(), what_helps(source))]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
}

impl LogError {
    /// Says whether a text is lost for good, so that what it belongs to is shown without it.
    pub fn is_lost_text(&self) -> bool {
        matches!(self, Self::Gone | Self::DamagedText { .. } | Self::ChangedText)
    }
}

/// What helps where nothing can be written: behind the words of the system, which say only that.
pub(crate) const MOUNT_IT: &str =
    "; its file system can only be read: mount it so that it can be written to";

/// What helps where a file system is full.
pub(crate) const MAKE_ROOM: &str = "; its file system is full: free some space on it";

fn what_helps(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::ReadOnlyFilesystem => MOUNT_IT,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => MAKE_ROOM,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_what_helps_where_a_disk_can_only_be_read() {
        let says = |kind: ErrorKind| {
            let source = Arc::new(kind.into());
            LogError::Io { action: "open", path: "/p/lock".into(), source }.to_string()
        };
        let said = says(ErrorKind::ReadOnlyFilesystem);
        assert!(said.starts_with("failed to open `/p/lock`: read-only"), "{said}");
        assert!(said.ends_with("mount it so that it can be written to"), "{said}");
        let full = says(ErrorKind::StorageFull);
        assert!(!full.contains("mount") && full.contains("free some space"), "{full}");
    }
}
