//! `host`: a bridge without a client, which starts agents on this machine for members on other machines.

mod host_command;

pub(crate) use self::host_command::{HostArguments, run};
