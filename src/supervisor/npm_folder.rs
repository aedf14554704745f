//! Asks npm in which directory it puts the programs that it installs for all projects: that directory need not be on `PATH`.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::sys::process::{Signal, signal_group};

/// The longest answer that is read: a path and a line end.
const MAX_ANSWER_BYTES: u64 = 8 * 1024;

/// A place in which there can be no directory.
pub(crate) const NO_CACHE: &str = "/dev/null/none";

/// Returns the directory of npm's global programs; none if npm does not say it within the limit. Blocks.
pub(crate) fn global_programs(
    npm: &Path,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    limit: Duration,
) -> Option<PathBuf> {
    let mut command = Command::new(npm);
    // Outside of any project: its files must not say where programs are.
    command.args(["prefix", "-g"]).current_dir("/").env_clear().envs(environment);
    // It only looks: npm leaves no log of it and makes no cache, which it does without, and does not ask its registry for a newer npm.
    command.envs([
        ("npm_config_logs_max", "0"),
        ("npm_config_cache", NO_CACHE),
        ("npm_config_update_notifier", "false"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().ok()?;
    let out = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    let reader = thread::Builder::new().name("npm-answer".to_owned()).spawn(move || {
        let mut text = String::new();
        if let Some(out) = out
            && out.take(MAX_ANSWER_BYTES).read_to_string(&mut text).is_ok()
        {
            // The receiver may have given up.
            let _ = sender.send(text);
        }
    });
    let answer = reader.is_ok().then(|| receiver.recv_timeout(limit).ok()).flatten();
    // It has answered or is late. It is not reaped yet, so the number of its group is its own.
    let _ = signal_group(child.id(), Signal::SIGKILL);
    let _ = child.wait();
    let answer = answer?;
    let mut lines = answer.lines().filter(|line| !line.trim().is_empty());
    let prefix = Path::new(lines.next()?.trim());
    (lines.next().is_none() && prefix.is_absolute()).then(|| prefix.join("bin"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Asks an npm that is this script of a shell.
    fn asked(script: &str, limit: Duration) -> Option<PathBuf> {
        let folder = tempfile::tempdir().unwrap();
        let npm = folder.path().join("npm");
        fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
        global_programs(&npm, std::env::vars_os(), limit)
    }

    #[test]
    fn the_directory_is_below_the_prefix_that_npm_names() {
        let long = Duration::from_mins(1);
        let named = asked("[ \"$1 $2\" = 'prefix -g' ] && echo /opt/node", long);
        assert_eq!(named.as_deref(), Some(Path::new("/opt/node/bin")));
        for wrong in ["exit 1", "echo here", "echo /a; echo /b"] {
            assert_eq!(asked(wrong, long), None, "{wrong}");
        }
    }

    /// As npm makes its cache: where it cannot, it goes on.
    #[test]
    fn npm_makes_no_cache_when_it_is_asked() {
        let script = "test -n \"$npm_config_cache\" || exit 1\n\
            mkdir -p \"$npm_config_cache\" 2>/dev/null && exit 1\necho /opt/node";
        let named = asked(script, Duration::from_mins(1));
        assert_eq!(named.as_deref(), Some(Path::new("/opt/node/bin")));
    }

    #[test]
    fn an_npm_that_does_not_answer_is_ended() {
        assert_eq!(asked("exec sleep 1000", Duration::from_millis(50)), None);
    }
}
