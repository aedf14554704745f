//! Sends a POST with curl, signed with a secret of the environment if there is one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::run_program::run;
use super::webhook_request::{ARGS, Post, answered, request};
use crate::sys::process::find_program;

/// A variable of the environment with a secret, and the key of the configuration that names it.
#[derive(Clone, Copy, Debug)]
pub(in crate::alerts) struct SecretVariable<'a> {
    pub(in crate::alerts) key: &'static str,
    pub(in crate::alerts) name: &'a str,
}

/// Sends a POST. Without the secret that the user has named, nothing is sent.
pub(in crate::alerts) async fn send_post(
    post: &Post,
    secret: Option<SecretVariable<'_>>,
) -> Result<(), String> {
    let secret = secret.map(secret_of).transpose()?;
    let config = request(post, secret.as_deref());
    let curl = program_named("curl")?;
    let printed = run(&curl, ARGS.map(OsString::from).into(), [], &config).await?;
    answered(&printed)
}

fn secret_of(variable: SecretVariable<'_>) -> Result<Vec<u8>, String> {
    let SecretVariable { key, name } = variable;
    let secret = std::env::var_os(name).filter(|secret| !secret.is_empty());
    let missing = || format!("the variable {name} of `{key}` is not set");
    Ok(secret.ok_or_else(missing)?.into_encoded_bytes())
}

/// Finds a program where the user's shell finds it, but not in the current directory.
pub(super) fn program_named(name: &str) -> Result<PathBuf, String> {
    let search_path = std::env::var_os("PATH");
    find_program(Path::new(name), search_path.as_deref().map(OsStr::new))
        .ok_or_else(|| format!("the program `{name}` is not on PATH"))
}
