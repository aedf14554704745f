//! The first minutes of a new user: from the packages by `npx` to a task that an agent has done, and back to the files as they were.
//!
//! This has a fake Claude Code, `fake_claude.cjs`; `e2e/suites/first_minutes.rs` does the same with the real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::npm_packages::packages;
use crate::support::home_files::{SETUP_SCREEN, everything_but_caches, same};
use crate::support::npm::checked;
use crate::support::{Stage, Terminal};

/// Makes a home with the user's files, the fake Claude Code, and a profile of the user's own whose agent plays a script.
fn fresh_home() -> Stage {
    let stage = Stage::new("").with_odd_files_and_a_worker();
    let bin = stage.home().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), include_str!("fake_claude.cjs")).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = [bin].into_iter().chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(path).unwrap();
    stage.with_env(vec![("PATH".into(), path)])
}

/// Returns what a terminal shows without spaces and line ends, because the terminal wraps long lines anywhere.
fn unwrapped(shown: &[String]) -> String {
    shown.concat().split_whitespace().collect()
}

#[tokio::test]
async fn npx_setup_and_a_delegated_task_need_no_further_step_and_leave_no_trace() {
    let Some(packages) = packages() else { return };
    let stage = fresh_home();
    let registry = packages.registry();
    let before = everything_but_caches(&stage);

    let mut setup = packages.npx(&registry, &stage);
    let mut terminal = Terminal::run_program(setup.args(["setup", "--yes"]), SETUP_SCREEN);
    let code = terminal.ended("start Claude Code in a project").await;
    assert_eq!(code, Some(0), "{:#?}", terminal.all());
    // The launcher in the cache is no second program, and the copy is not called by its name here.
    let said = unwrapped(&terminal.all());
    assert!(!said.contains("anotherfile"), "{:#?}", terminal.all());
    assert!(said.contains("/.local/binisnotonPATH"), "{:#?}", terminal.all());
    assert!(said.contains("/.local/bin/cli-team-bridgesetup--remove`undoes"), "{said}");

    // Once npm has cleared its cache, only the copy outside of it is left.
    fs::remove_dir_all(stage.home().join(".npm/_npx")).unwrap();
    let mut claude = Command::new(stage.home().join("bin/claude"));
    claude.args(["-p", "count the beans"]).env_clear().envs(stage.environment());
    let printed = checked(claude.current_dir(stage.project()).stdin(Stdio::null()));
    assert!(printed.contains("there are 97 beans"), "{printed}");

    let mut remove = packages.npx(&registry, &stage);
    let mut terminal =
        Terminal::run_program(remove.args(["setup", "--remove", "--yes"]), SETUP_SCREEN);
    let code = terminal.ended("Removed ").await;
    assert_eq!(code, Some(0), "{:#?}", terminal.all());
    assert!(unwrapped(&terminal.all()).contains("`npx-ycli-team-bridgesetup`connects"));
    same(&before, &everything_but_caches(&stage));
}
