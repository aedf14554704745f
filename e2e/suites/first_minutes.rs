//! The first minutes of a new user with the real Claude Code: from the packages by `npx` to a task that an agent has done, without a
//! flag, a permission or a dialog in between, and back to the files as they were.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::claude_code::{claude, print_as_set_up, result};
use crate::model::{Api, ModelServer, Newest, Rule};
use crate::programs::Programs;
use crate::real_project::{shown_to_models, stage};
use crate::support::home_files::{SETUP_SCREEN, everything_but_caches, same};
use crate::support::npm::Packages;
use crate::support::{Stage, Terminal, until};

/// Makes a home with the user's files, Claude Code on `PATH`, and a profile of the user's own whose agent plays a script.
fn fresh_home(model: &ModelServer) -> Stage {
    let stage = stage(&[], model).with_odd_files_and_a_worker();
    let path = Programs::find().path(&["claude"]);
    stage.with_env(vec![("PATH".into(), path)])
}

/// Runs a program at a terminal until it has said its last words, and checks that it succeeded.
async fn succeeds(program: &mut std::process::Command, last: &str) {
    let mut terminal = Terminal::run_program(program, SETUP_SCREEN);
    let code = terminal.ended(last).await;
    assert_eq!(code, Some(0), "{:#?}", terminal.all());
}

/// Runs `npx -y cli-team-bridge setup --yes`, and clears the cache of npx, which may happen at any time.
async fn set_up(stage: &Stage) {
    let packages = Packages::of_this_binary().unwrap();
    let registry = packages.registry();
    let mut npx = packages.npx(&registry, stage);
    succeeds(npx.args(["setup", "--yes"]), "start Claude Code in a project").await;
    fs::remove_dir_all(stage.home().join(".npm/_npx")).unwrap();
}

/// Undoes the setup with the copy of the program that it has made.
async fn remove(stage: &Stage) {
    let copy = stage.home().join(".local/bin/cli-team-bridge");
    let mut program = std::process::Command::new(copy);
    program.args(["setup", "--remove", "--yes"]).env_clear().envs(stage.environment());
    program.env("TERM", "xterm-256color").current_dir(stage.project());
    succeeds(&mut program, "Removed ").await;
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Without a run of Claude Code in between, every file has its bytes again, and no file is left.
pub(crate) async fn is_set_up_by_npx_and_restored_byte_for_byte() {
    let model = ModelServer::start(Vec::new()).await;
    let stage = fresh_home(&model);
    let before = everything_but_caches(&stage);
    set_up(&stage).await;
    let entry = json(&stage.home().join(".claude.json"))["mcpServers"]["bridge"].clone();
    let copy = stage.home().join(".local/bin/cli-team-bridge");
    assert_eq!(entry["command"], copy.to_str().unwrap(), "{entry}");
    remove(&stage).await;
    same(&before, &everything_but_caches(&stage));
}

/// Claude Code itself rewrites `~/.claude.json` while it runs, in its own form and with figures of its own, and keeps sessions and
/// backups of that file in `~/.claude`. So after a run of it there are no earlier bytes of `~/.claude.json` to come back to: its
/// content must be what Claude Code left, less our entry. All other files of the user must have their bytes.
pub(crate) async fn delegates_a_task_right_after_setup_and_keeps_its_own_changes() {
    let work =
        json!({ "agent": "worker", "prompt": "count", "wait": true, "timeout_seconds": 100 });
    let model = ModelServer::start(vec![
        Rule::user("count the beans").calls("assign_task", work),
        Rule::result("there are 97 beans").says("It is done."),
        Rule::user("say hello").says("Hello."),
    ])
    .await;
    let stage = fresh_home(&model);
    let before = everything_but_caches(&stage);
    set_up(&stage).await;

    let delegating: Command = claude(&stage, &model);
    let printed = print_as_set_up(delegating, "count the beans", &model).await;
    assert_eq!(result(&printed), "It is done.", "{printed}\n{}", shown_to_models(&model));
    let was_shown = model.was_shown_to(Api::Anthropic, Newest::ToolResult, "there are 97 beans");
    assert!(was_shown, "{}", shown_to_models(&model));
    let calls: Vec<_> = model.shown().into_iter().flat_map(|shown| shown.calls).collect();
    assert!(calls.iter().any(|call| call == "mcp__bridge__assign_task"), "{calls:?}");
    until("nothing runs any more", || stage.processes().is_empty()).await;

    // The hooks of the next session do not tell it of a result that this one has got. Only the next answer of a tool has that notice,
    // marked `again`: an answer that was written is no proof that a model was shown it.
    let asked = model.shown().len();
    let printed = print_as_set_up(claude(&stage, &model), "say hello", &model).await;
    assert_eq!(result(&printed), "Hello.", "{printed}\n{}", shown_to_models(&model));
    let shown = model.shown().split_off(asked);
    assert!(!shown.is_empty(), "{printed}");
    let is_told = shown.iter().any(|shown| shown.whole.contains("unread message from your team"));
    assert!(!is_told, "{}", shown_to_models(&model));
    until("nothing runs any more", || stage.processes().is_empty()).await;

    let main_file = stage.home().join(".claude.json");
    let with_claude = everything_but_caches(&stage);
    let mut expected = json(&main_file);
    let ours = expected["mcpServers"].as_object_mut().unwrap().remove("bridge");
    assert!(ours.is_some(), "Claude Code keeps the entry: {expected}");
    remove(&stage).await;
    assert_eq!(json(&main_file), expected, "only our entry is gone");

    let after = everything_but_caches(&stage);
    let except_main = |files: &BTreeMap<PathBuf, String>| {
        let mut files = files.clone();
        files.remove(&main_file);
        files
    };
    let (before, after) = (except_main(&before), except_main(&after));
    let changed: Vec<_> =
        before.iter().filter(|(path, text)| after.get(*path) != Some(text)).collect();
    assert!(changed.is_empty(), "the user's own files: {changed:#?}");
    // What is left beside the user's own files was there right before the removal, and is Claude Code's: nothing has our name.
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        assert!(with_claude.contains_key(path), "the removal made {}", path.display());
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(!name.contains("cli-team-bridge") && !name.ends_with(".tmp"), "{}", path.display());
        let is_settings = name.ends_with(".json") && path.parent() == main_file.parent();
        assert!(!is_settings, "a file of settings is left: {}", path.display());
    }
}
