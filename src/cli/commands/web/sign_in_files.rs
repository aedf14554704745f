//! The files by which the user's own programs find the URL that signs in: the token, and a page that leads to the URL, so that the token
//! stands in no argument of a program, which other users could read. Both are private to the user, and go with the server; what a killed one
//! has left goes with the next start: the lock beside it is free. Another file keeps the base path of the pages, so that bookmarks and an
//! installed page last longer than one server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::sys::fs::user_state_dir::{StateDirectory, StateLock};
use crate::web::BasePath;

/// The directory of these files in the state directory.
const DIRECTORY: &str = "web";

/// The file of the base path.
const BASE_PATH: &str = "base-path";

/// Returns the user's base path, and makes one at the first time.
pub(super) fn base_path() -> Result<BasePath, Failure> {
    let directory = directory()?;
    if let Some(kept) = directory.read(BASE_PATH)?.and_then(|kept| BasePath::read(&kept)) {
        return Ok(kept);
    }
    let new = BasePath::random();
    directory.write(BASE_PATH, new.stored().as_bytes())?;
    Ok(new)
}

fn directory() -> Result<StateDirectory, Failure> {
    let directory = StateDirectory::of_process();
    let directory = directory.ok_or("there is no home directory to keep the sign-in token in")?;
    Ok(directory.inner(DIRECTORY))
}

/// The files of one server.
pub(super) struct SignInFiles {
    directory: StateDirectory,
    port: u16,
    /// Shows that the server lives.
    _lock: Option<StateLock>,
}

impl SignInFiles {
    /// Writes the files of the server at a port.
    pub(super) fn write(port: u16, url: &str) -> Result<Self, Failure> {
        Self::write_in(directory()?, port, url)
    }

    fn write_in(directory: StateDirectory, port: u16, url: &str) -> Result<Self, Failure> {
        // The port is ours, so whoever had files of it is gone.
        let lock = directory.lock(&lock_name(port))?;
        sweep(&directory);
        let files = Self { directory, port, _lock: lock };
        let token = url.rsplit('=').next().unwrap_or_default();
        files.directory.write(&files.token_name(), token.as_bytes())?;
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>cli-team-bridge</title>\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><p><a href=\"{url}\">Open the team</a></p>\n"
        );
        files.directory.write(&files.page_name(), page.as_bytes())?;
        Ok(files)
    }

    /// Returns the page that leads to the URL.
    pub(super) fn page(&self) -> PathBuf {
        self.directory.path().join(self.page_name())
    }

    /// Removes the files.
    pub(super) fn remove(&self) {
        remove(&self.directory, self.port);
    }

    fn token_name(&self) -> String {
        token_name(self.port)
    }

    fn page_name(&self) -> String {
        page_name(self.port)
    }
}

fn token_name(port: u16) -> String {
    format!("web-{port}.token")
}

fn page_name(port: u16) -> String {
    format!("web-{port}.html")
}

fn lock_name(port: u16) -> String {
    format!("web-{port}.lock")
}

/// Removes the files of a port. What stays holds a token of a server that is gone.
fn remove(directory: &StateDirectory, port: u16) {
    for name in [token_name(port), page_name(port)] {
        if let Err(error) = directory.remove(&name) {
            tracing::debug!(%error, "cannot remove a file with a used token");
        }
    }
}

/// Removes what killed servers have left: the files of a port whose lock nobody holds.
fn sweep(directory: &StateDirectory) {
    let names = directory.names().unwrap_or_default();
    let port = |(name, _): (String, i64)| {
        let (port, _) = name.strip_prefix("web-")?.split_once('.')?;
        port.parse::<u16>().ok()
    };
    let ports: BTreeSet<u16> = names.into_iter().filter_map(port).collect();
    for port in ports {
        match directory.lock(&lock_name(port)) {
            // The lock goes with its file.
            Ok(Some(_lock)) => remove(directory, port),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "cannot tell whether a server lives"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_dead_server_go_at_the_next_start_and_those_of_a_live_one_stay() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().canonicalize().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| place.clone().into()));
        let directory = state.unwrap().inner(DIRECTORY);
        let url = "http://127.0.0.1/sign-in?token=secret";
        let live = SignInFiles::write_in(directory.clone(), 4001, url).unwrap();
        // As a killed server leaves them: the lock ended with its process.
        for name in ["web-4002.token", "web-4002.html", "web-4002.lock", "base-path"] {
            directory.write(name, b"x").unwrap();
        }
        let next = SignInFiles::write_in(directory.clone(), 4003, url).unwrap();
        let names = || {
            let mut names: Vec<_> =
                directory.names().unwrap().into_iter().map(|(name, _)| name).collect();
            names.sort();
            names
        };
        let own = |port| [page_name(port), lock_name(port), token_name(port)];
        let expected = [&["base-path".to_owned()][..], &own(4001), &own(4003)].concat();
        assert_eq!(names(), expected);
        for files in [live, next] {
            files.remove();
        }
        assert_eq!(names(), ["base-path"]);
    }
}
