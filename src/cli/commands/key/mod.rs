//! `key`: makes, lists and revokes the keys with which programs use the HTTP API.

mod key_command;

pub(crate) use self::key_command::{KeyArguments, run};
