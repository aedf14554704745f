//! The files by which the user's own programs find the URL that signs in: the token, and a page that leads to the URL, so that the token
//! stands in no argument of a program, which other users could read. Both are private to the user, and go with the server. A third file
//! keeps the base path of the pages, so that bookmarks and an installed page last longer than one server.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::sys::fs::user_state_dir::StateDirectory;
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
}

impl SignInFiles {
    /// Writes the files of the server at a port.
    pub(super) fn write(port: u16, url: &str) -> Result<Self, Failure> {
        let files = Self { directory: directory()?, port };
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

    /// Removes the files. What stays holds a token of a server that is gone.
    pub(super) fn remove(&self) {
        for name in [self.token_name(), self.page_name()] {
            if let Err(error) = self.directory.remove(&name) {
                tracing::debug!(%error, "cannot remove a file with a used token");
            }
        }
    }

    fn token_name(&self) -> String {
        format!("web-{}.token", self.port)
    }

    fn page_name(&self) -> String {
        format!("web-{}.html", self.port)
    }
}
