//! Opens a page in the user's browser, if there is a display.

use std::path::PathBuf;
use std::process::Stdio;

use crate::sys::process::find_program;

/// The programs that open a page, by the system that has them.
const OPENERS: [&str; 1] = [if cfg!(target_os = "macos") { "open" } else { "xdg-open" }];

/// Opens a page in the background. Without a display, or without a program for it, the printed URL remains.
pub(super) fn open_browser(page: PathBuf) {
    let has_display = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let path = std::env::var_os("PATH");
    let opener = OPENERS.iter().find_map(|name| find_program(name.as_ref(), path.as_deref()));
    let Some(opener) = opener.filter(|_| has_display) else { return };
    let mut command = tokio::process::Command::new(opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // The runtime reaps it.
        Ok(mut child) => drop(tokio::spawn(async move { child.wait().await })),
        Err(error) => tracing::debug!(%error, "cannot open a browser"),
    }
}
