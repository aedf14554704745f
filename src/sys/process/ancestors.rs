//! The ancestors of this process. Two processes compare theirs to learn that the same client started both.
//!
//! Exact on Linux. Elsewhere, without `/proc`, no ancestor is known.

use std::fs;
use std::path::Path;

use super::proc_stat;
use crate::sys::process;

/// The most generations to search: far more than usually lie between a program and its helpers.
const MOST: usize = 32;

/// Programs that often stand between a process and its real starter.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "fish"];

/// What this program is called, and so the link by which npm starts it.
const NAME: &str = "cli-team-bridge";

/// The file of the npm package that starts it.
const LAUNCHER: &str = "cli-team-bridge/bin.js";

/// How `npx` begins the title that it gives its own process.
const NPX: &str = "npm exec ";

/// An ancestor of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ancestor {
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

/// Returns the ancestors of this process, the nearest first, without the init process, which adopts all orphans.
pub fn ancestors() -> Vec<Ancestor> {
    let mut all = Vec::new();
    let mut next = process::own_pid().and_then(proc_stat::stat).map(|own| own.parent);
    while let Some(pid) = next.filter(|pid| *pid > 1 && all.len() < MOST) {
        let Some(stat) = proc_stat::stat(pid) else {
            break;
        };
        let started = stat.started;
        all.push(Ancestor { pid, started });
        next = Some(stat.parent);
    }
    all
}

/// Returns the process that started this one, ignoring shells that only run a command, and what npm puts in between.
pub fn client() -> Option<Ancestor> {
    let mut all = ancestors().into_iter();
    all.find(|ancestor| {
        let command_line = fs::read(format!("/proc/{}/cmdline", ancestor.pid));
        let command_line = command_line.unwrap_or_default();
        !only_runs(&command_line) && !is_launcher(&command_line)
    })
}

/// Says whether a command line, with a zero byte after each word, is that of a shell that runs a command or a file. An interactive
/// shell counts as a program of its own.
fn only_runs(command_line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(command_line);
    let mut words = text.split('\0').filter(|word| !word.is_empty());
    let program = words.next().unwrap_or_default();
    let is_shell = Path::new(program)
        .file_name()
        .is_some_and(|name| SHELLS.iter().any(|shell| name == *shell));
    let is_option = |word: &&str| word.starts_with('-');
    let is_command = |word: &str| !word.starts_with("--") && word.contains('c');
    let mut words = words.peekable();
    is_shell
        && (words.peek().is_some_and(|word| !is_option(word))
            || words.take_while(is_option).any(is_command))
}

/// Says whether a command line is that of `npx`, or of Node.js with the file of the npm package that starts this program.
fn is_launcher(command_line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(command_line);
    let mut words = text.split('\0');
    let program = words.next().unwrap_or_default();
    let script = Path::new(words.next().unwrap_or_default());
    let is_node = Path::new(program).file_name().is_some_and(|name| name == "node");
    let is_ours = script.ends_with(LAUNCHER) || script.file_name().is_some_and(|name| name == NAME);
    program.starts_with(NPX) || (is_node && is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shell_that_runs_a_command_is_ignored() {
        let runs = |words: &[&str]| only_runs((words.join("\0") + "\0").as_bytes());
        assert!(runs(&["/bin/sh", "-c", "bridge peer"]));
        assert!(runs(&["bash", "-lc", "bridge peer"]));
        assert!(runs(&["bash", "--norc", "-c", "bridge peer"]));
        assert!(runs(&["sh", "start.sh"]));
        assert!(!runs(&["-bash"]));
        assert!(!runs(&["bash", "-i"]));
        assert!(!runs(&["bash", "--init-file", "shell.sh"]));
        assert!(!runs(&["claude", "-c"]));
        assert!(!runs(&[]));
    }

    #[test]
    fn what_npm_puts_in_between_is_passed_over() {
        let passed = |words: &[&str]| is_launcher((words.join("\0") + "\0").as_bytes());
        assert!(passed(&["node", "/usr/local/bin/cli-team-bridge", "orchestrator"]));
        assert!(passed(&["/usr/bin/node", "/lib/node_modules/cli-team-bridge/bin.js"]));
        assert!(passed(&["npm exec cli-team-bridge orchestrator"]));
        assert!(!passed(&["node", "/usr/local/bin/gemini"]));
        assert!(!passed(&["node", "/src/cli-team-bridge/cli.js"]));
        assert!(!passed(&["vi", "/usr/local/bin/cli-team-bridge"]));
        assert!(!passed(&[]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_ancestors_begin_with_the_parent_and_grow_older() {
        let all = ancestors();
        assert!(all.len() < MOST);
        // A test binary may be a child of the init process.
        if let Some(parent) = all.first() {
            assert_eq!(parent.pid, std::os::unix::process::parent_id());
            assert_eq!(process::start_time(parent.pid), Some(parent.started));
        }
        assert!(all.is_sorted_by(|child, parent| child.started >= parent.started));
    }
}
