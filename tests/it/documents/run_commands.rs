//! Runs the command lines of each file in their order, as a reader would: in one shell, with this binary, in a copy of the examples
//! and a home directory of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use futures::StreamExt as _;

use super::find_commands::{Found, all, root};
use super::known_commands::{How, Known};
use crate::support::{DEADLINE, Stage};

/// Documents that run at the same time; each waits most of its time.
const AT_ONCE: usize = 4;

/// A plan without gates, as `plan.toml` of the documents stands for any.
const PLAN: &str =
    "name = \"one\"\n[[steps]]\nname = \"only\"\nagent = \"writer\"\nprompt = \"x\"\n";

/// Programs that a machine may lack; a line that begins with one of them is then skipped.
const OPTIONAL: [&str; 2] = ["jq", "python3"];

/// Makes the place of a file's commands: a project with the examples, and this binary on `PATH`.
fn stage() -> Stage {
    let stage = Stage::new("").with_plan(PLAN);
    copy(&root().join("examples"), &stage.project().join("examples"));
    for file in ["Cargo.toml", "README.md"] {
        std::fs::copy(root().join(file), stage.project().join(file)).unwrap();
    }
    let programs = stage.home().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    std::os::unix::fs::symlink(program, programs.join("cli-team-bridge")).unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(programs).chain(std::env::split_paths(&others));
    let path = std::env::join_paths(path).unwrap();
    stage.with_env(vec![("PATH".into(), path)])
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            std::fs::copy(&path, &copied).unwrap();
        }
    }
}

fn shell(stage: &Stage, script: &str) -> tokio::process::Command {
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", script]).current_dir(stage.project());
    shell.env_clear().envs(stage.environment()).env("CLONE", stage.project());
    shell.stdin(Stdio::null()).kill_on_drop(true);
    shell
}

async fn has(stage: &Stage, program: &str) -> bool {
    let asked = shell(stage, &format!("{program} --version")).output().await;
    asked.is_ok_and(|asked| asked.status.success())
}

/// Runs the commands of one file; returns what went wrong.
async fn run(file: &str, commands: &[(String, String)]) -> Option<String> {
    let stage = stage();
    let mut script = "set -eu\n".to_owned();
    for (line, command) in commands {
        let program = command.split_whitespace().next().unwrap_or_default();
        if OPTIONAL.contains(&program) && !has(&stage, program).await {
            println!("{file}: `{line}` is skipped, because there is no {program}");
            continue;
        }
        let shown = line.replace('\'', "'\\''");
        write!(script, "printf '@ %s\\n' '{shown}' >&2\n{command}\n").unwrap();
    }
    // Each command may take as long as one of a test.
    let most = u32::try_from(commands.len()).unwrap() * DEADLINE;
    let running = tokio::time::timeout(most, shell(&stage, &script).output()).await;
    let Ok(output) = running else {
        return Some(format!("{file}: its commands do not end"));
    };
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.rfind("@ ").map_or("", |at| &said[at..]);
    let failed = format!("{file}: {}\n{last}", output.status);
    (!output.status.success()).then_some(failed)
}

#[tokio::test]
async fn the_command_lines_that_are_printed_run() {
    let known = Known::read();
    let mut by_file: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for Found { file, command } in all() {
        let command = match known.of(&command) {
            Some((line, How::Runs)) => (line.to_owned(), command),
            Some((line, How::RunsAs(stand_in))) => (line.to_owned(), stand_in.clone()),
            _ => continue,
        };
        by_file.entry(file).or_default().push(command);
    }
    assert!(by_file.len() > 8, "files with commands are found: {}", by_file.len());
    let running = futures::stream::iter(&by_file).map(|(file, commands)| run(file, commands));
    let wrong: Vec<_> = running.buffer_unordered(AT_ONCE).collect().await;
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
