//! The specification of a child, and the pipes to it, for a start with or without a shim.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::process::{ChildStdin, ChildStdout};

/// The specification of a child.
#[derive(Clone)]
pub struct ChildSpec {
    /// A path, or a name that is looked up on the `PATH` in `env`.
    pub program: PathBuf,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    /// The complete environment: the child inherits no variable of ours.
    pub env: Vec<(OsString, OsString)>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// The shim between this process and the child; `None` starts the child directly.
    pub shim: Option<Shim>,
}

/// The process between this one and a child, which ends the child with all its descendants even after this process has died.
#[derive(Clone, Debug)]
pub struct Shim {
    pub binary: PathBuf,
    /// The child's presence, which the shim holds too. The child does not inherit it.
    pub presence: Option<Arc<OwnedFd>>,
}

impl fmt::Debug for ChildSpec {
    /// Names the variables without their values, because some are secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("ChildSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .field("shim", &self.shim)
            .finish()
    }
}

/// Our ends of the child's stdin and stdout. Dropping `stdin` closes it.
#[derive(Debug)]
pub struct Pipes {
    /// The child reads from it.
    pub stdin: ChildStdin,
    /// The child writes to it.
    pub stdout: ChildStdout,
}
