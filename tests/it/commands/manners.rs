//! Manners that all commands share: help, errors, exit codes, output without a reader, and the program without a command.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::Signal;

use crate::support::{Stage, Terminal, until};

const PLAN: &str = "name = \"w\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"look\"\n";

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "no way" }]
[[agents.default.turns]]
steps = [{ say = "done it" }]
"#;

const SIZE: (u16, u16) = (30, 400);

/// Builds a project with a plan, and without programs on `PATH`.
fn stage() -> Stage {
    let bin = vec![("PATH".into(), "".into())];
    Stage::new(SCRIPT).with_plan(PLAN).with_env(bin)
}

/// Prepares this binary in a directory, with the environment of a stage, and without input.
fn bridge(stage: &Stage, directory: &Path, arguments: &[&str]) -> Command {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    bridge.args(arguments).current_dir(directory).env_clear().envs(stage.environment());
    bridge.stdin(Stdio::null());
    bridge
}

fn ended(stage: &Stage, arguments: &[&str]) -> Output {
    bridge(stage, stage.project(), arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the arguments that play the plan by the script.
fn played<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "plan.toml", "--scripted", script], more].concat()
}

#[test]
fn exit_codes_are_as_documented() {
    let stage = stage();
    let script = stage.home().join("script.toml");
    let script = script.to_str().unwrap();
    let failing = PLAN.replace("look", "fail");
    std::fs::write(stage.project().join("failing.toml"), failing).unwrap();
    let bad_config = stage.home().join("bad.toml");
    std::fs::write(&bad_config, "x = [").unwrap();
    let bad_config = bad_config.to_str().unwrap();

    let done = [
        vec!["--help"],
        vec!["--version"],
        vec!["help", "run"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["trust"],
        vec!["trust", "--list"],
        vec!["setup", "--dry-run"],
        vec!["run", "--resume"],
        vec!["run", "plan.toml", "--scripted", script, "--dry-run"],
        vec!["run", "plan.toml", "--scripted", script],
        // These serve until their input ends, which is at once.
        vec!["orchestrator"],
        vec!["peer", "--name", "ann"],
        vec!["agent"],
        // A hook never fails a session.
        vec!["hook"],
        vec!["hook", "--wrong"],
    ];
    let failed = [
        vec!["run", "missing.toml"],
        vec!["run", "plan.toml"],
        vec!["run", "failing.toml", "--scripted", script],
        vec!["run", "--resume", "wf-zzzzzzzzzzzz"],
        vec!["trust", "--revoke"],
        vec!["peer", "--name", "ann", "--project", "missing"],
        vec!["run", "plan.toml", "--config", bad_config],
        // No agent is installed.
        vec!["doctor", "--no-start"],
    ];
    let refused = [
        vec![],
        vec!["unknown"],
        vec!["run"],
        vec!["run", "plan.toml", "--resume", "x"],
        vec!["peer", "--name", "all"],
        vec!["setup", "--client", "unknown"],
        vec!["setup", "--install-agents"],
        // The examination itself fails.
        vec!["doctor", "--project", "missing"],
    ];
    let check = |arguments: &[&str], code: i32| {
        let output = ended(&stage, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        let is_explained = stderr(&output).contains("error: ") || arguments.is_empty();
        // What the doctor finds is its report.
        assert!(code == 0 || is_explained || arguments[0] == "doctor", "{arguments:?}");
    };
    for arguments in done {
        check(&arguments, 0);
    }
    for arguments in failed {
        check(&arguments, 1);
    }
    for arguments in refused {
        check(&arguments, 2);
    }
}

#[test]
fn an_unknown_command_gets_the_nearest_and_a_run_without_a_plan_both_its_forms() {
    let stage = stage();
    let unknown = stderr(&ended(&stage, &["docter"]));
    assert!(unknown.starts_with("error: unrecognized subcommand 'docter'\n"), "{unknown}");
    assert!(unknown.contains("\nhint: a similar subcommand exists: 'doctor'\n"), "{unknown}");
    let run = stderr(&ended(&stage, &["run"]));
    assert!(run.contains("<FILE|--resume [<WORKFLOW>]>"), "{run}");
}

#[test]
fn an_error_is_reported_once_with_its_hint_on_a_line_of_its_own() {
    let stage = stage();
    let home = bridge(&stage, stage.home(), &["run", "--resume"]).output().unwrap();
    let expected = format!(
        "error: `{}` cannot be a project: it is or contains your home directory\n\
         hint: start in the project's directory, or name that directory\n",
        stage.home().display()
    );
    assert_eq!(stderr(&home), expected);
}

#[test]
fn a_bus_that_git_tracks_is_refused_in_one_error() {
    let stage = Stage::new(SCRIPT).with_plan(PLAN);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        git.current_dir(stage.project()).env("HOME", stage.home());
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    std::fs::create_dir(stage.bus()).unwrap();
    std::fs::write(stage.bus().join("x"), "").unwrap();
    git(&["init", "-q"]);
    git(&["add", "-f", ".claude"]);
    git(&["commit", "-q", "-m", "x"]);
    let script = stage.home().join("script.toml");
    let output = ended(&stage, &played(script.to_str().unwrap(), &[]));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.starts_with("error: cannot use `/"), "{said}");
    assert_eq!(said.matches("git tracks files in it").count(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Runs a command whose output has no reader: stdout alone, or stderr too. Returns what it says on stderr, if that is read.
fn unread(stage: &Stage, arguments: &[&str], with_stderr: bool) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut bridge = bridge(stage, stage.project(), arguments);
    bridge.stderr(if with_stderr { writer.try_clone().unwrap().into() } else { Stdio::piped() });
    bridge.stdout(writer).spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_command_without_a_reader_ends_quietly_and_a_run_does_its_work() {
    let stage = stage();
    let script = stage.home().join("script.toml");
    let play = played(script.to_str().unwrap(), &[]);
    let cases: [(&[&str], i32); 6] = [
        (&["--help"], 0),
        (&["completions", "bash"], 0),
        (&["man"], 0),
        (&["trust", "--list"], 0),
        (&["watch"], 0),
        (&["doctor", "--json", "--no-start"], 1),
    ];
    for (arguments, code) in cases.into_iter().chain([(&play[..], 0)]) {
        for with_stderr in [false, true] {
            let output = unread(&stage, arguments, with_stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
            let said = stderr(&output);
            assert!(!said.contains("panicked") && !said.contains("error: "), "{said}");
        }
    }
    let ends = stage.events_of("workflow_ended");
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(ends.iter().all(|end| end["status"] == "done"), "{ends:?}");
    stage.check_nobody_is_left();
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_a_full_disk_does_not_take_is_an_error() {
    let stage = stage();
    for arguments in [&["--help"][..], &["completions", "bash"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = bridge(&stage, stage.project(), arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            stderr(&output).starts_with("error: cannot write to stdout: No space"),
            "{output:?}"
        );
    }
}

/// Runs the program without a command at a terminal; returns what it shows.
async fn overview(stage: &Stage, directory: &Path) -> String {
    let mut terminal = Terminal::run_in(stage, directory, &[], SIZE);
    assert_eq!(terminal.ended("lists all commands").await, Some(0));
    assert!(!terminal.sent().contains('\u{1b}'), "{:?}", terminal.sent());
    terminal.screen()
}

#[tokio::test]
async fn without_a_command_a_terminal_shows_what_is_there_and_the_next_step() {
    let stage = stage();
    let bin = stage.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["claude", "gemini"] {
        let path = bin.join(name);
        std::fs::File::create(&path).unwrap().write_all(b"#!/bin/sh\nexit 1\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let stage = stage.with_env(vec![("PATH".into(), bin.into())]);
    let shown = overview(&stage, stage.project()).await;
    for line in [
        "clients  not connected: Claude Code, Gemini CLI",
        "agents   installed: gemini",
        "         without their adapter: claude-code",
        "next: `cli-team-bridge setup` connects Claude Code",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains("project\": no team yet"), "{shown}");
    assert!(!stage.bus().exists() && !stage.home().join(".local").exists(), "it writes nothing");

    let set_up = ended(&stage, &["setup", "--yes", "--client", "claude-code"]);
    assert_eq!(set_up.status.code(), Some(0), "{}", stderr(&set_up));
    let shown = overview(&stage, stage.project()).await;
    assert!(
        shown.contains("next: no login of gemini was found. To log in, run `gemini`"),
        "{shown}"
    );

    let stage = stage.with_variable("GEMINI_API_KEY", "x");
    let shown = overview(&stage, stage.project()).await;
    let say = "next: start Claude Code here, and say: Ask gemini to review my last commit.";
    assert!(shown.contains("connected: Claude Code\n"), "{shown}");
    assert!(shown.contains(say), "{shown}");

    std::fs::create_dir_all(stage.project().join(".claude")).unwrap();
    let file = stage.project().join(".claude/bridge.toml");
    std::fs::write(&file, "[agents.mine]\ncommand = 'sh'\n").unwrap();
    let shown = overview(&stage, stage.project()).await;
    let remedy = "the project's own bridge.toml would run programs or raise limits; `cli-team-bridge trust` shows it";
    assert!(shown.replace('\n', "").contains(remedy), "{shown}");
    assert!(shown.contains("next: `cli-team-bridge trust` shows what "), "{shown}");
    std::fs::write(&file, "[agnets]\n").unwrap();
    let shown = overview(&stage, stage.project()).await;
    assert!(shown.contains("no tool works until this is corrected: "), "{shown}");
    assert!(shown.contains("next: correct "), "{shown}");

    let shown = overview(&stage, stage.home()).await;
    assert!(shown.contains("project  none: "), "{shown}");
    assert!(shown.contains("next: start Claude Code in a project's directory"), "{shown}");
}

#[tokio::test]
async fn the_overview_sees_an_entry_for_one_project() {
    let stage = stage();
    std::fs::create_dir(stage.home().join(".claude")).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let entry = serde_json::json!({ "bridge": { "command": own, "args": ["orchestrator"] } });
    let mut all = serde_json::json!({ "projects": {} });
    let project = stage.project().to_str().unwrap();
    all["projects"][project] = serde_json::json!({ "mcpServers": entry });
    std::fs::write(stage.home().join(".claude.json"), all.to_string()).unwrap();
    let shown = overview(&stage, stage.project()).await;
    assert!(shown.contains("clients  connected: Claude Code\n"), "{shown}");
    let shown = overview(&stage, stage.home()).await;
    assert!(shown.contains("clients  not connected: Claude Code\n"), "{shown}");
}

/// Nobody records the end of a bridge that is killed, until the next one comes.
#[tokio::test]
async fn the_overview_tells_of_a_task_that_was_lost_with_its_bridge() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ hang = true }]\n");
    let lead = stage.orchestrator().await;
    let task = serde_json::json!({ "agent": "scripted", "name": "worker", "prompt": "work" });
    let task = lead.call("assign_task", task).await;
    until("the agent works", || !stage.events_of("task_started").is_empty()).await;
    let id = task["task_id"].as_str().unwrap();
    let told = format!("`cli-team-bridge task {id}` shows it");
    let shown = overview(&stage, stage.project()).await;
    assert!(!shown.replace('\n', "").contains(&told), "{shown}");
    lead.die().await;
    until("nothing runs any more", || stage.processes().is_empty()).await;
    let shown = overview(&stage, stage.project()).await.replace('\n', "");
    assert!(shown.contains("1 task ended with its agent before it was done"), "{shown}");
    assert!(shown.contains(&told), "{shown}");
    // The next bridge is told, and records it.
    let next = stage.orchestrator().await;
    let heard = next.all_heard().await;
    assert!(heard.iter().any(|one| one["content"].as_str().unwrap().contains(id)), "{heard:?}");
    next.close().await;
}

/// Claude Code closes its server's input and signals it at once, so the agents at work are stopped.
#[tokio::test]
async fn the_overview_tells_of_a_task_whose_client_closed_until_a_session_is_told() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ hang = true }]\n");
    let lead = stage.orchestrator().await;
    let task = serde_json::json!({ "agent": "scripted", "name": "worker", "prompt": "work" });
    lead.call("assign_task", task).await;
    until("the agent works", || !stage.events_of("task_started").is_empty()).await;
    lead.signal(Signal::SIGINT);
    lead.signal(Signal::SIGTERM);
    lead.exit().await;
    drop(lead);
    until("nothing runs any more", || stage.processes().is_empty()).await;
    let is_told = |shown: &str| shown.contains("1 task ended with its agent before it was done");
    let shown = overview(&stage, stage.project()).await.replace('\n', "");
    assert!(is_told(&shown), "{shown}");
    let next = stage.orchestrator().await;
    let heard = next.all_heard().await;
    assert!(heard[0]["content"].as_str().unwrap().contains("was cancelled"), "{heard:?}");
    next.close().await;
    let shown = overview(&stage, stage.project()).await.replace('\n', "");
    assert!(!is_told(&shown), "{shown}");
}

/// Who has an entry means to use that client, even if another one could be connected.
#[tokio::test]
async fn the_overview_names_the_client_whose_entry_does_not_work_with_its_remedy() {
    let stage = stage();
    for folder in [".claude", ".cursor"] {
        std::fs::create_dir(stage.home().join(folder)).unwrap();
    }
    let entry = |program: &str, args: &[&str]| {
        let bridge = serde_json::json!({ "command": program, "args": args });
        let all = serde_json::json!({ "mcpServers": { "bridge": bridge } });
        std::fs::write(stage.home().join(".cursor/mcp.json"), all.to_string()).unwrap();
    };
    entry("/gone/cli-team-bridge", &["orchestrator"]);
    let shown = overview(&stage, stage.project()).await.replace('\n', "");
    for part in [
        "connected by an entry that does not work: Cursor",
        "starts `/gone/cli-team-bridge`, which does not exist or is not executable",
        "next: to connect Cursor, run `cli-team-bridge setup --client cursor`, which sets its program to",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    entry(env!("CARGO_BIN_EXE_cli-team-bridge"), &["peer", "--name", "ann"]);
    let shown = overview(&stage, stage.project()).await;
    assert!(shown.contains("connected as a peer, which leads no team: Cursor"), "{shown}");
    assert!(shown.contains("next: `cli-team-bridge setup` connects Claude Code"), "{shown}");
}

/// A repository may bring a file for each client. The old parser of 8 MB of empty lines took five seconds for each.
#[tokio::test]
async fn files_of_a_repository_cannot_delay_the_overview() {
    let stage = stage();
    let long = format!("{{{}}}", "\n".repeat(8 * 1024 * 1024 - 2));
    for (folder, file) in [
        (".claude", ".mcp.json"),
        (".gemini", ".gemini/settings.json"),
        (".qwen", ".qwen/settings.json"),
        (".factory", ".factory/mcp.json"),
        (".cursor", ".cursor/mcp.json"),
    ] {
        std::fs::create_dir(stage.home().join(folder)).unwrap();
        let path = stage.project().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &long).unwrap();
    }
    let began = std::time::Instant::now();
    let shown = overview(&stage, stage.project()).await;
    let took = began.elapsed();
    assert!(shown.contains("unknown, see `cli-team-bridge doctor`: Claude Code"), "{shown}");
    // Five such files took over twenty seconds.
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn the_overview_counts_live_members_and_quotes_the_project() {
    let stage = stage();
    let odd = stage.project().join("a\u{1b}[2J\nnext: run evil");
    std::fs::create_dir(&odd).unwrap();
    let shown = overview(&stage, &odd).await;
    assert!(shown.contains("/a[2J next: run evil\": no team yet"), "{shown}");

    let lead = stage.orchestrator().await;
    let shown = overview(&stage, stage.project()).await;
    assert!(shown.contains("project\": 1 live member, no unfinished workflows"), "{shown}");
    assert!(shown.contains("as `cli-team-bridge status` shows it:\n1 member"), "{shown}");
    lead.close().await;
    let before = stage.events().len();
    let shown = overview(&stage, stage.project()).await;
    assert!(shown.contains("project\": no live members"), "{shown}");
    assert!(!shown.contains("cli-team-bridge status"), "{shown}");
    assert_eq!(stage.events().len(), before, "it only reads the bus");
}
