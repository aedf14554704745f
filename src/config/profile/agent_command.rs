//! The program that a profile names for its agents.

use std::path::PathBuf;

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// This binary, written `$self`.
    OwnBinary,
    /// The file at an absolute path.
    Absolute(PathBuf),
    /// A bare name, looked up on `PATH`.
    OnPath(String),
}
