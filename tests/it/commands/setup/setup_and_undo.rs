//! `setup` with the real binary, in a home of its own, with programs that have the names of vendors' programs and do nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::Value;

use crate::support::home_files::{everything, same};
use crate::support::{Stage, Terminal};

/// A script that does nothing.
pub(super) const IDLE: &str = "#!/bin/sh\n";

/// Builds a home in which only these programs are on `PATH`.
pub(super) fn stage(programs: &[(&str, &str)]) -> Stage {
    let stage = Stage::new("[agents.default]");
    let bin = stage.home().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, text) in programs {
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = bin.into_os_string();
    stage.with_env(vec![("PATH".into(), path)])
}

pub(super) fn write(stage: &Stage, file: &str, text: &str) {
    let path = stage.home().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Copies this program. Another process does it: a child that is started meanwhile would inherit the open file, and a program that is
/// open for writing cannot be started.
pub(super) fn copy_program(to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let copied = std::process::Command::new("cp").arg(own).arg(to).status().unwrap();
    assert!(copied.success());
}

pub(in crate::commands) async fn setup(stage: &Stage, arguments: &[&str]) -> (bool, String) {
    let (exit, said) = stage.ended(&[&["setup"], arguments].concat(), None).await;
    (exit.code == Some(0), said)
}

/// Runs setup in the project's directory, without naming it.
fn setup_here(stage: &Stage, arguments: &[&str]) -> (bool, String) {
    setup_by(Path::new(env!("CARGO_BIN_EXE_cli-team-bridge")), stage, arguments)
}

/// Runs setup in the project's directory with a program that is somewhere else.
pub(super) fn setup_by(program: &Path, stage: &Stage, arguments: &[&str]) -> (bool, String) {
    let output = std::process::Command::new(program)
        .arg("setup")
        .args(arguments)
        .env_clear()
        .envs(stage.environment())
        .current_dir(stage.project())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn everything_that_setup_writes_is_undone_byte_for_byte() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE), ("cursor", IDLE), ("zed", IDLE)]);
    write(
        &stage,
        ".claude.json",
        "{\"numStartups\":3,\"mcpServers\":{\"other\":{\"command\":\"x\"}}}",
    );
    write(&stage, ".codex/config.toml", "# mine\nmodel = \"x\"   # why\n\n[tui]\na = 1");
    write(&stage, "dotfiles/zed.json", "// mine\n{\n  \"theme\": \"One\", // dark\n}\n");
    fs::create_dir_all(stage.home().join(".config/zed")).unwrap();
    let zed = stage.home().join(".config/zed/settings.json");
    symlink("../../dotfiles/zed.json", &zed).unwrap();
    let codex = stage.home().join(".codex/config.toml");
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o640)).unwrap();
    let before = everything(&stage);

    let (is_done, said) = setup(&stage, &["--dry-run"]).await;
    assert!(is_done, "{said}");
    assert!(said.contains("+ mcp_servers.bridge: {"), "{said}");
    assert!(said.contains("`codex` is installed, its adapter `codex-acp` is not"), "{said}");
    same(&before, &everything(&stage));

    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let claude = json(&stage.home().join(".claude.json"));
    assert_eq!(claude["mcpServers"]["bridge"]["command"], own, "{claude}");
    assert_eq!(claude["mcpServers"]["other"]["command"], "x");
    let settings = json(&stage.home().join(".claude/settings.json"));
    assert_eq!(settings["permissions"]["allow"][0], "mcp__bridge", "{settings}");
    let cursor = json(&stage.home().join(".cursor/mcp.json"));
    assert_eq!(cursor["mcpServers"]["bridge"]["args"], serde_json::json!(["orchestrator"]));
    assert!(zed.is_symlink());
    assert!(fs::read_to_string(&zed).unwrap().contains("// dark"), "comments stay");
    assert_eq!(codex.metadata().unwrap().permissions().mode() & 0o777, 0o640);

    let done = everything(&stage);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    same(&done, &everything(&stage));

    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
    assert!(!stage.home().join(".local").exists(), "setup made it for its records");
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done && said.contains("Nothing to undo"), "{said}");
}

#[tokio::test]
async fn remove_undoes_only_our_changes_and_keeps_later_ones() {
    let stage = stage(&[("claude", IDLE)]);
    write(&stage, ".claude.json", "{\n  \"numStartups\": 3\n}\n");
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let file = stage.home().join(".claude.json");
    let changed = fs::read_to_string(&file).unwrap().replace(": 3", ": 4");
    fs::write(&file, changed).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"numStartups\": 4\n}\n");
    assert!(!stage.home().join(".claude").exists(), "it was made for the settings alone");
}

#[tokio::test]
async fn a_client_with_the_plugin_gets_no_entry_beside_it() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE)]);
    let settings = "{\"enabledPlugins\": {\"cli-team-bridge@cli-team-bridge\": true}}";
    write(&stage, ".claude/settings.json", settings);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done && said.contains("Claude Code has the bridge as a plugin"), "{said}");
    assert!(!stage.home().join(".claude.json").exists());
    let now = fs::read_to_string(stage.home().join(".claude/settings.json")).unwrap();
    assert_eq!(now, settings);
    assert!(stage.home().join(".codex/config.toml").exists(), "{said}");
}

#[tokio::test]
async fn a_damaged_record_is_named_and_the_other_changes_are_undone() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE)]);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let files = everything(&stage);
    let is_record = |path: &&PathBuf| {
        path.extension().is_some_and(|kind| kind == "json")
            && path.parent().is_some_and(|folder| folder.ends_with("setup"))
    };
    let records: Vec<_> = files.keys().filter(is_record).collect();
    let of_codex = |path: &&&PathBuf| json(&stage.home().join(path))["client"] == "codex";
    let damaged = stage.home().join(records.iter().find(of_codex).unwrap());
    fs::write(&damaged, "{").unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(!is_done && said.contains("this record of a change is damaged"), "{said}");
    assert!(!stage.home().join(".claude.json").exists(), "{said}");
    assert!(stage.home().join(".codex/config.toml").exists(), "{said}");
    assert!(damaged.exists(), "its user may want to look at it");
    // Setup has made that file, so there is no original.
    assert!(said.contains("no original is kept beside it. Remove this record"), "{said}");
    fs::remove_file(&damaged).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--client", "codex"]).await;
    assert!(is_done && said.contains("setup has no record of these files"), "{said}");
    let text = fs::read_to_string(stage.home().join(".codex/config.toml")).unwrap();
    assert!(!text.contains("bridge"), "{text}");
}

#[tokio::test]
async fn a_file_with_a_second_name_is_left_alone() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE)]);
    write(&stage, ".codex/config.toml", "a = 1\n");
    let (file, backup) = (stage.home().join(".codex/config.toml"), stage.home().join("backup"));
    fs::hard_link(&file, &backup).unwrap();
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(!is_done && said.contains(".codex/config.toml\": it has further names"), "{said}");
    assert!(stage.home().join(".claude.json").exists(), "the others go on: {said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a = 1\n");
    assert_eq!(file.metadata().unwrap().ino(), backup.metadata().unwrap().ino());
}

#[tokio::test]
async fn a_changed_file_keeps_its_attributes_and_leftovers_of_a_killed_setup_go() {
    let stage = stage(&[("codex", IDLE)]);
    write(&stage, ".codex/config.toml", "a = 1\n");
    let file = stage.home().join(".codex/config.toml");
    let set = setxattr(&file, "user.mine", b"kept", XattrFlags::empty());
    let left = ".codex/.config.toml.01a0b1c2-d3e4-7f56-8a9b-0c1d2e3f4a5b.tmp";
    write(&stage, left, "a = 1\n[mcp_ser");
    write(&stage, ".codex/.config.toml.mine.tmp", "");
    for arguments in [&["--yes"][..], &["--remove", "--yes"]] {
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(is_done, "{said}");
        assert!(!stage.home().join(left).exists(), "{said}");
        assert!(stage.home().join(".codex/.config.toml.mine.tmp").exists(), "{said}");
        // Not every file system has such attributes.
        if set.is_ok() {
            let mut value = [0; 8];
            let length = getxattr(&file, "user.mine", value.as_mut_slice()).unwrap();
            assert_eq!(&value[..length], b"kept");
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_changed_is_named_and_the_others_go_on() {
    let stage = stage(&[]);
    write(&stage, ".claude.json", "{\"mcpServers\":{\"bridge\":{\"command\":\"mine\"}}}");
    write(&stage, ".gemini/settings.json", "{ \"a\": ");
    write(&stage, ".cursor/mcp.json", "{}");
    let cursor = stage.home().join(".cursor/mcp.json");
    fs::set_permissions(cursor, fs::Permissions::from_mode(0o444)).unwrap();
    fs::create_dir_all(stage.home().join(".qwen")).unwrap();
    symlink("nowhere", stage.home().join(".qwen/settings.json")).unwrap();
    let before = everything(&stage);
    let names = ["claude-code", "gemini", "cursor", "qwen", "droid"];
    let arguments: Vec<_> = names.iter().flat_map(|name| ["--client", name]).collect();
    let (is_done, said) = setup(&stage, &[&arguments[..], &["--yes"]].concat()).await;
    assert!(!is_done, "{said}");
    for reason in [
        "`mcpServers.bridge` already exists, and setup did not write it: `mine`",
        ".gemini/settings.json\": it does not parse:",
        ".cursor/mcp.json\": it is read-only",
        ".qwen/settings.json is a broken link",
    ] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
    assert!(stage.home().join(".factory/mcp.json").exists(), "{said}");
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
}

/// A permission for a server named `bridge` would let another author's server run.
#[tokio::test]
async fn a_client_with_an_entry_of_another_author_is_left_alone() {
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let foreign =
        "{\"mcpServers\":{\"bridge\":{\"command\":\"sh\",\"args\":[\"-c\",\"sk-SECRET\"]}}}";
    fs::write(project.join(".mcp.json"), foreign).unwrap();
    let named = project.to_str().unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", named]).await;
    assert!(!is_done && said.contains("setup did not write it: `sh`"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    assert!(!project.join(".claude/settings.local.json").exists(), "{said}");
    let (exit, report) = stage.ended(&["doctor", "--no-start", "--project", named], None).await;
    assert_eq!(exit.code, Some(1), "{report}");
    assert!(report.contains("starts another program: `sh`"), "{report}");
}

/// Writes an entry as `claude mcp add` does without `--scope`.
fn add_for_one_project(stage: &Stage, program: &str) {
    let entry = serde_json::json!({ "command": program, "args": ["orchestrator"] });
    let mut all = serde_json::json!({ "projects": {} });
    let servers = serde_json::json!({ "mcpServers": { "bridge": entry } });
    all["projects"][stage.project().to_str().unwrap()] = servers;
    write(stage, ".claude.json", &all.to_string());
}

#[tokio::test]
async fn a_project_with_an_entry_in_the_users_own_file_gets_no_second_one() {
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let named = project.to_str().unwrap();
    add_for_one_project(&stage, env!("CARGO_BIN_EXE_cli-team-bridge"));
    let (is_done, said) = setup(&stage, &["--yes", "--project", named]).await;
    assert!(is_done && said.contains("scope \"local\""), "{said}");
    assert!(!project.join(".mcp.json").exists(), "{said}");
    let local = json(&project.join(".claude/settings.local.json"));
    assert_eq!(local["permissions"]["allow"][0], "mcp__bridge", "{local}");
    // It would let a server run that the project brings later.
    assert!(local.get("enabledMcpjsonServers").is_none(), "{local}");
    // The entry for all projects is another one, and the user learns which of them runs here.
    let (is_done, said) = setup_here(&stage, &["--yes"]);
    assert!(is_done && said.contains("takes precedence"), "{said}");
    let all = json(&stage.home().join(".claude.json"));
    assert!(all["mcpServers"]["bridge"].is_object(), "{all}");
}

#[tokio::test]
async fn a_client_with_an_entry_of_another_author_for_one_project_is_left_alone() {
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    add_for_one_project(&stage, "sh");
    let before = everything(&stage);
    let named = project.to_str().unwrap();
    for arguments in [&["--yes", "--project", named][..], &["--yes"]] {
        let (is_done, said) = setup_here(&stage, arguments);
        assert!(!is_done && said.contains("setup did not write it: `sh`"), "{said}");
        same(&before, &everything(&stage));
        assert!(!project.join(".mcp.json").exists(), "{said}");
    }
}

#[tokio::test]
async fn the_next_step_is_to_lead_only_if_an_agent_can_be_started() {
    let stage = stage(&[("claude", IDLE)]);
    let (_, said) = setup(&stage, &["--yes"]).await;
    assert!(said.contains("next: install one of the agents above, and log in."), "{said}");

    let gemini = stage.home().join("bin/gemini");
    fs::write(&gemini, IDLE).unwrap();
    fs::set_permissions(&gemini, fs::Permissions::from_mode(0o755)).unwrap();
    let (_, said) = setup(&stage, &["--yes"]).await;
    assert!(said.contains("next: no login of gemini was found. To log in, run `gemini`"), "{said}");

    let stage = stage.with_variable("GEMINI_API_KEY", "x");
    let (_, said) = setup(&stage, &["--yes"]).await;
    assert!(said.contains("next: start Claude Code in a project, and say: Ask gemini "), "{said}");
}

#[tokio::test]
async fn no_value_of_the_users_files_is_shown() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE), ("gemini", IDLE)]);
    let servers = "{\"mcpServers\":{\"gh\":{\"command\":\"npx\",\"env\":{\"TOKEN\":\"SECRET\"}}}}";
    write(&stage, ".claude.json", servers);
    write(&stage, ".gemini/settings.json", &servers.replace(',', ",\n"));
    write(
        &stage,
        ".codex/config.toml",
        "env={ TOKEN=\"SECRET\" }\nnote = \"\"\"\nSECRET = 1\n\"\"\"\n",
    );
    for arguments in [&["--dry-run"][..], &["--yes"], &["--remove", "--yes"]] {
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(is_done && said.contains("bridge"), "{said}");
        assert!(!said.contains("SECRET"), "{said}");
    }
}

#[tokio::test]
async fn additions_of_the_user_to_our_entry_stay() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE)]);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    for (file, from, to) in [
        (".claude.json", "150000", "600000, \"env\": { \"KEY\": \"x\" }"),
        (".codex/config.toml", "150", "600 # mine"),
    ] {
        let file = stage.home().join(file);
        let changed = fs::read_to_string(&file).unwrap().replacen(from, to, 1);
        assert!(changed.contains(to), "{changed}");
        fs::write(&file, changed).unwrap();
    }
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
}

#[tokio::test]
async fn a_repository_has_no_say_in_what_is_installed() {
    let npm = "#!/bin/sh\n[ \"$1\" = prefix ] || echo \"$@\" >> \"$HOME/npm-calls\"\n";
    let stage = stage(&[("codex", IDLE), ("npm", npm)])
        .with_project_file("[agents.codex]\ninstall = \"npm run pwn\"\nlogin = \"run pwn\"\n");
    let named = stage.project().to_str().unwrap().to_owned();
    let arguments = ["--yes", "--install-agents", "--project", &named];
    let (_, said) = setup(&stage, &arguments).await;
    assert!(!said.contains("pwn"), "{said}");
    let called = fs::read_to_string(stage.home().join("npm-calls")).unwrap();
    assert_eq!(called, "install -g @agentclientprotocol/codex-acp\n");
    let (_, report) = stage.ended(&["doctor", "--no-start", "--project", &named], None).await;
    assert!(!report.contains("pwn"), "{report}");
}

#[tokio::test]
async fn a_link_in_a_repository_is_not_followed() {
    let stage = stage(&[("codex", IDLE)]);
    let project = stage.project().to_owned();
    fs::create_dir_all(project.join(".codex")).unwrap();
    fs::write(project.join("other.toml"), "a = 1\n").unwrap();
    symlink("../other.toml", project.join(".codex/config.toml")).unwrap();
    let named = project.to_str().unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", named]).await;
    assert!(!is_done && said.contains("its path in the project contains a link"), "{said}");
    assert_eq!(fs::read_to_string(project.join("other.toml")).unwrap(), "a = 1\n");
}

#[tokio::test]
async fn nothing_is_written_without_a_yes() {
    let stage = stage(&[("claude", IDLE), ("claude-agent-acp", IDLE)]);
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &[]).await;
    assert!(!is_done && said.contains("there is no terminal to ask at"), "{said}");
    same(&before, &everything(&stage));

    let mut terminal = Terminal::run_with(&stage, &["setup"], (100, 140));
    terminal.until_shows("Set up Claude Code this way? [y/N]").await;
    terminal.press("maybe\n");
    terminal.until_shows("Type y for yes, or n for no.").await;
    terminal.press("no\n");
    assert_eq!(terminal.ended("No client was set up.").await, Some(0));
    same(&before, &everything(&stage));

    let mut terminal = Terminal::run_with(&stage, &["setup"], (100, 140));
    terminal.until_shows("Set up Claude Code this way? [y/N]").await;
    terminal.press("y\n");
    assert_eq!(terminal.ended("next:").await, Some(0));
    let all = terminal.all();
    let line = |part: &str| all.iter().rposition(|line| line.contains(part)).unwrap();
    assert!(line("doctor --no-start") < line("next:"), "the next step stands last: {all:#?}");
    assert!(stage.home().join(".claude.json").exists());
}

#[tokio::test]
async fn a_project_gets_files_of_its_own_and_files_outside_are_left_alone() {
    let stage = stage(&[("claude", IDLE), ("cursor", IDLE), ("claude-desktop", IDLE)]);
    let project = stage.project().to_owned();
    write(&stage, "outside.json", "{}");
    fs::create_dir(project.join(".cursor")).unwrap();
    symlink(stage.home().join("outside.json"), project.join(".cursor/mcp.json")).unwrap();
    let before = everything(&stage);
    let named = project.to_str().unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", named]).await;
    assert!(!is_done && said.contains("its path leads out of the project"), "{said}");
    assert!(said.contains("Claude Desktop has no project files"), "{said}");
    assert!(json(&project.join(".mcp.json"))["mcpServers"]["bridge"].is_object());
    let local = json(&project.join(".claude/settings.local.json"));
    assert_eq!(local["enabledMcpjsonServers"], serde_json::json!(["bridge"]), "{local}");
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--project", named]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
    assert!(!project.join(".mcp.json").exists());
}

#[tokio::test]
async fn a_program_in_a_package_cache_is_copied_first() {
    let stage = stage(&[("claude", IDLE)]);
    let cached = stage.home().join("_npx/1f/cli-team-bridge");
    copy_program(&cached);
    let before = everything(&stage).into_keys().collect::<Vec<_>>();
    let run = |arguments: &[&str]| {
        let (is_done, said) = setup_by(&cached, &stage, arguments);
        assert!(is_done, "{said}");
    };
    run(&["--yes"]);
    let copy = stage.home().join(".local/bin/cli-team-bridge");
    let claude = json(&stage.home().join(".claude.json"));
    assert_eq!(claude["mcpServers"]["bridge"]["command"], copy.to_str().unwrap());
    assert_eq!(copy.metadata().unwrap().len(), cached.metadata().unwrap().len());
    run(&["--remove", "--yes"]);
    assert_eq!(everything(&stage).into_keys().collect::<Vec<_>>(), before);
    assert!(!stage.home().join(".local").exists());
}

#[tokio::test]
async fn adapters_are_installed_with_the_users_npm_and_only_on_request() {
    let npm = "#!/bin/sh\n[ \"$1\" = prefix ] || echo \"$@\" >> \"$HOME/npm-calls\"\n";
    let stage = stage(&[("codex", IDLE), ("npm", npm)]);
    let calls = stage.home().join("npm-calls");
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done && !calls.exists(), "{said}");
    let (is_done, said) = setup(&stage, &["--yes", "--install-agents"]).await;
    assert!(is_done, "{said}");
    let called = fs::read_to_string(&calls).unwrap();
    assert_eq!(called, "install -g @agentclientprotocol/codex-acp\n");
    fs::write(stage.home().join("bin/npm"), "#!/bin/sh\nexit 7\n").unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--install-agents"]).await;
    assert!(!is_done && said.contains("codex-acp` failed (exit status: 7)"), "{said}");
}

/// A process with an agent's mark may not change its user's settings.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_cannot_change_its_users_settings() {
    let stage = stage(&[("claude", IDLE)]).with_variable("BRIDGE_RUN", "some-session");
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(!is_done && said.contains("an agent cannot change its user's settings"), "{said}");
    assert!(!stage.home().join(".claude.json").exists());
}
