//! `doctor`: it names each missing or broken part with its remedy, and goes on to check the rest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use cli_team_bridge::supervisor::Exit;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Stage, Terminal, until};

/// A script of agents that start and do nothing.
const QUIET: &str = "[agents.default]\n[[agents.default.turns]]\nsteps = [{ say = 'done' }]\n";

/// A project of a user who has only the system's own programs, and those that a test puts into `bin`.
pub(super) fn stage() -> Stage {
    furnished(Stage::new(QUIET))
}

/// The same where agents are tried out.
pub(super) fn stage_of_trials() -> Stage {
    furnished(Stage::with_root(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), QUIET))
}

fn furnished(stage: Stage) -> Stage {
    for folder in ["bin", "tmp"] {
        fs::create_dir(stage.home().join(folder)).unwrap();
    }
    let bin = stage.home().join("bin").into_os_string();
    let path = [bin, OsString::from("/usr/bin:/bin")].join(&OsString::from(":"));
    let tmp = stage.home().join("tmp").into_os_string();
    stage.with_env(vec![("PATH".into(), path), ("TMPDIR".into(), tmp)])
}

/// Puts a shell script into `bin`.
pub(super) fn install(stage: &Stage, program: &str, shell: &str) {
    write_program(&stage.home().join("bin").join(program), shell);
}

fn write_program(path: &Path, shell: &str) {
    fs::write(path, format!("#!/bin/sh\n{shell}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Shell of a program that speaks ACP, whatever its arguments are.
pub(super) fn speaks_acp(stage: &Stage) -> String {
    let script = stage.home().join("script.toml");
    let binary = env!("CARGO_BIN_EXE_cli-team-bridge");
    format!("exec {binary} scripted-agent --script {}", script.display())
}

/// Runs the doctor in the project; returns its exit code and its report.
pub(super) async fn examined(stage: &Stage, arguments: &[&str]) -> (Option<i32>, Value) {
    let project = stage.project().to_str().unwrap();
    let all = [&["doctor", "--json", "--project", project], arguments].concat();
    let (Exit { code, .. }, said) = stage.ended(&all, None).await;
    // The text of stderr follows.
    let report = serde_json::Deserializer::from_str(&said).into_iter().next();
    let report: Value =
        report.unwrap_or_else(|| panic!("no report: {said}")).unwrap_or_else(|_| panic!("{said}"));
    let left = fs::read_dir(stage.home().join("tmp"));
    let left: Vec<_> = left.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "temporary directories are left: {left:?}");
    (code, report)
}

/// Returns the finding of a check of a subject. An agent is found by its name.
#[track_caller]
pub(super) fn finding<'a>(report: &'a Value, subject: &str, check: &str) -> &'a Value {
    let is_it = |finding: &&Value| {
        let named = finding.get("name").unwrap_or(&finding["subject"]);
        named == subject && finding["check"] == check
    };
    let found = report["findings"].as_array().unwrap().iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {check} of {subject}: {report:#}"))
}

/// Checks a finding's level, and parts of its text and of its remedy.
#[track_caller]
pub(super) fn check(
    report: &Value,
    (subject, about): (&str, &str),
    level: &str,
    says: &str,
    remedy: &str,
) {
    let finding = finding(report, subject, about);
    assert_eq!(finding["level"], level, "{finding:#}");
    let has = |field: &str, part: &str| finding[field].as_str().unwrap_or_default().contains(part);
    assert!(has("says", says) && has("remedy", remedy), "{finding:#}");
}

/// Returns every file of the bus with its content.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

#[tokio::test]
async fn a_file_in_the_place_of_the_bus_is_named() {
    for file in [".claude/bridge", ".claude"] {
        let stage = stage();
        let path = stage.project().join(file);
        if path.exists() {
            fs::remove_dir_all(&path).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let project = stage.project().to_str().unwrap();
        let (_, report) = stage.ended(&["doctor", "--no-start", "--project", project], None).await;
        let says = format!("cannot use {}: it is not a directory", path.display());
        assert!(report.contains(&says) && report.contains("→ move it away"), "{report}");
        let (_, said) = stage.ended(&["status", "--project", project], None).await;
        let says = format!("cannot use `{}`: it is not a directory", path.display());
        assert!(said.contains(&says), "{said}");
    }
}

#[tokio::test]
async fn with_nothing_installed_the_bridge_is_ok_and_each_agent_has_an_install_command() {
    let stage = stage_of_trials();
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!((code, report["result"].as_str()), (Some(1), Some("problems")));
    check(&report, ("agents", "installed"), "problem", "no agent is installed", "install one");
    check(&report, ("bridge", "start"), "ok", "serves it its tools", "");
    check(&report, ("bus", "place"), "ok", "none yet", "");
    check(&report, ("project", "trust"), "ok", "no bridge.toml", "");
    for (agent, package) in [
        ("codex", "@agentclientprotocol/codex-acp"),
        ("claude-code", "@agentclientprotocol/claude-agent-acp"),
        ("gemini", "@google/gemini-cli"),
        ("qwen", "@qwen-code/qwen-code"),
        ("droid", "droid"),
    ] {
        let remedy = format!("npm install -g {package}");
        check(&report, (agent, "program"), "note", "not installed", &remedy);
    }
    assert!(!stage.bus().exists(), "it makes no bus");
    assert!(!stage.home().join(".local").exists(), "nor a state directory");
}

#[tokio::test]
async fn an_agent_that_works_is_tried_out_and_a_cli_without_its_adapter_is_named() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    install(&stage, "gemini", &speaks_acp(&stage));
    install(&stage, "codex", "echo codex");
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!(code, Some(1), "{report:#}");
    check(&report, ("gemini", "login"), "ok", "GEMINI_API_KEY", "");
    check(&report, ("gemini", "start"), "ok", "has the bridge's tools after", "");
    let facts = &finding(&report, "gemini", "start")["facts"];
    assert!(facts["memory_bytes"].as_u64().unwrap() > 0, "{facts}");
    assert!(facts["delivery"].as_array().unwrap().contains(&json!("prompt")), "{facts}");
    check(
        &report,
        ("codex", "program"),
        "problem",
        "not its ACP adapter: `codex-acp` is not on PATH",
        "npm install -g @agentclientprotocol/codex-acp",
    );
    // The same holds without starting any agent.
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("codex", "program"), "problem", "codex-acp", "npm install");
    let starts =
        report["findings"].as_array().unwrap().iter().filter(|one| one["check"] == "start");
    assert_eq!(starts.count(), 0, "{report:#}");
}

#[tokio::test]
async fn a_missing_login_says_how_to_log_in() {
    let stage = stage_of_trials();
    install(&stage, "gemini", "echo 'Authentication required: no key' >&2; exit 41");
    for program in ["qwen", "claude-agent-acp"] {
        install(&stage, program, &speaks_acp(&stage));
    }
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!(code, Some(1));
    check(&report, ("gemini", "login"), "problem", "not logged in", "set GEMINI_API_KEY");
    // An agent that opens a session has a login.
    check(&report, ("qwen", "login"), "ok", "it opens a session", "");
    let how = "to log in, run `claude`";
    check(&report, ("claude-code", "login"), "unknown", "no sign of a login", how);
    check(&report, ("claude-code", "start"), "ok", "tools", "");
}

#[tokio::test]
async fn a_wrong_path_an_old_version_and_a_program_that_is_no_agent_are_named() {
    let stage = stage_of_trials()
        .with_profiles("[agents.codex]\ncommand = '/nowhere/codex-acp'\n")
        .with_variable("GEMINI_API_KEY", "x");
    let package = stage.home().join("lib/node_modules/@google/gemini-cli");
    fs::create_dir_all(package.join("dist")).unwrap();
    let about = r#"{"name":"@google/gemini-cli","version":"0.1.0"}"#;
    fs::write(package.join("package.json"), about).unwrap();
    write_program(&package.join("dist/index.js"), "echo 'unknown option --acp' >&2; exit 2");
    symlink(package.join("dist/index.js"), stage.home().join("bin/gemini")).unwrap();
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!(code, Some(1));
    check(
        &report,
        ("codex", "program"),
        "problem",
        "`/nowhere/codex-acp` does not exist or is not executable",
        "correct `command` of [agents.codex] (it comes from the user's own `config.toml`)",
    );
    let update = "npm install -g @google/gemini-cli@latest";
    check(&report, ("gemini", "program"), "note", "version 0.1.0, older than", update);
    check(&report, ("gemini", "start"), "problem", "unknown option --acp", update);
}

#[tokio::test]
async fn a_damaged_bus_is_named_and_nothing_of_a_bus_is_changed() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "x").await, "done");
    lead.close().await;
    let before = files(&stage.bus());
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "log"), "ok", "no damage", "");
    check(&report, ("bus", "sessions"), "ok", "none is live", "");
    check(&report, ("bus", "leftovers"), "ok", "", "");
    assert!(files(&stage.bus()) == before, "the bus is as it was");
    // The next session makes what is missing.
    fs::remove_dir(stage.bus().join("bell")).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let is_closed = |finding: &Value| finding["check"] == "writable";
    assert!(!report["findings"].as_array().unwrap().iter().any(is_closed), "{report:#}");

    let (log, mut bytes) = before
        .iter()
        .find(|(path, _)| path.to_str().unwrap().contains("/log/"))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    bytes[end / 2] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let place = format!(
        "1 line is damaged: `log/{}` from byte 0",
        log.file_name().unwrap().to_str().unwrap()
    );
    check(&report, ("bus", "log"), "problem", &place, "restore that file");
    assert!(fs::read(&log).unwrap() == bytes, "the damage is left as it is");

    fs::write(stage.bus().join("bus.json"), "{").unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "use"), "problem", "it is damaged", "--adopt");
}

#[tokio::test]
async fn a_copied_bus_and_one_that_others_may_write_to_are_named() {
    let stage = stage();
    stage.orchestrator().await.close().await;
    let open = |mode| fs::set_permissions(stage.bus(), fs::Permissions::from_mode(mode)).unwrap();
    open(0o770);
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "use"), "problem", "others may write to it", "chmod go-w");
    open(0o700);
    // What `chmod` mends is neither foreign nor put aside.
    let identity = stage.bus().join("bus.json");
    fs::set_permissions(&identity, fs::Permissions::from_mode(0o660)).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "use"), "problem", "others may write to it", "chmod go-w");
    check(&report, ("bus", "rights"), "problem", "`bus.json`", "doctor --fix");
    let (_, report) = examined(&stage, &["--no-start", "--fix"]).await;
    check(&report, ("bus", "place"), "ok", "bridge", "");
    let beside = fs::read_dir(stage.bus().parent().unwrap()).unwrap().flatten();
    let names: Vec<_> = beside.map(|one| one.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("foreign")), "{names:?}");
    let copy = stage.copied();
    let (_, report) = examined(&copy, &["--no-start"]).await;
    check(&report, ("bus", "place"), "problem", "was not created there", "--adopt");
}

#[tokio::test]
async fn a_bus_whose_record_cannot_be_read_is_not_called_foreign() {
    let stage = stage();
    stage.orchestrator().await.close().await;
    let records = stage.home().join(".local/state/cli-team-bridge/buses");
    let record = fs::read_dir(&records).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let why = "the record of where it was created cannot be read";
    check(&report, ("bus", "use"), "problem", why, "HOME or XDG_STATE_HOME");
}

#[tokio::test]
async fn a_suspended_agent_is_named_with_how_to_continue_it() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "x").await, "done");
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "sessions"), "ok", "2 are live, all well", "");
    let runs = stage.events_of("agent_runs");
    let agent = runs.last().unwrap()["agent"]["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(agent).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    let stat = format!("/proc/{agent}/stat");
    until("it is stopped", || fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    check(
        &report,
        ("bus", "sessions"),
        "problem",
        "`ann` was stopped by a signal",
        &format!("kill -CONT {agent}"),
    );
    kill(pid, Signal::SIGCONT).unwrap();
    lead.close().await;
}

#[tokio::test]
async fn an_agent_that_hangs_is_given_up_and_does_not_delay_the_others() {
    let stage = stage_of_trials()
        .with_variable("GEMINI_API_KEY", "x")
        .with_variable("FACTORY_API_KEY", "x");
    install(&stage, "gemini", "kill -STOP $$");
    install(&stage, "droid", &speaks_acp(&stage));
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!(code, Some(1));
    check(&report, ("gemini", "start"), "problem", "was not ready within 30 s", "by hand");
    check(&report, ("droid", "start"), "ok", "tools", "");
}

#[tokio::test]
async fn a_home_that_cannot_be_written_to_is_named() {
    // Not even root can write there.
    let stage = stage().with_variable("HOME", "/proc");
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    check(&report, ("bridge", "state"), "problem", "cannot write to /proc", "set XDG_STATE_HOME");
}

#[tokio::test]
async fn leftovers_of_dead_sessions_are_removed_only_on_request() {
    let stage = stage();
    stage.orchestrator().await.close().await;
    let left = stage.bus().join("presence/0198c0de-0000-7000-8000-000000000000");
    let young = stage.bus().join("bell/0198c0de-0000-7000-8000-000000000001");
    for path in [&left, &young] {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    // Its age is measured against the youngest file.
    let file = fs::File::options().write(true).open(&left).unwrap();
    file.set_modified(
        fs::metadata(&young).unwrap().modified().unwrap() - std::time::Duration::from_mins(5),
    )
    .unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "presences"), "note", "1 file was left", "--fix");
    assert!(left.exists());
    let (_, report) = examined(&stage, &["--no-start", "--fix"]).await;
    assert_eq!(finding(&report, "bus", "presences")["fix"], "done", "{report:#}");
    assert!(!left.exists());
}

#[tokio::test]
async fn an_agents_last_words_are_one_short_line_without_escapes() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    let gap = "printf '\\n%400s\\n' '' >&2";
    let words = "printf 'first\\033]0;x\\007\\n' >&2";
    install(&stage, "gemini", &format!("{words}; {gap}; echo last >&2; exit 3"));
    let (_, report) = examined(&stage, &[]).await;
    let says = finding(&report, "gemini", "start")["says"].as_str().unwrap();
    assert!(says.contains("first]0;x last"), "{says:?}");
}

#[tokio::test]
async fn an_agent_that_the_user_has_not_approved_is_not_started() {
    let stage = stage_of_trials();
    let marker = stage.home().join("ran");
    let profile = format!(
        "[agents.mine]\ncommand = '/bin/sh'\nargs = ['-c', 'touch {}']\n",
        marker.display()
    );
    let stage = stage.with_project_file(&profile);
    let (code, report) = examined(&stage, &[]).await;
    assert_eq!(code, Some(1));
    check(
        &report,
        ("project", "trust"),
        "problem",
        "you have not approved",
        "cli-team-bridge trust",
    );
    check(&report, ("mine", "start"), "unknown", "not started", "cli-team-bridge trust");
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_broken_configuration_is_a_finding_and_the_rest_is_checked() {
    let stage = stage().with_profiles("[agents.codex\n");
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    check(&report, ("project", "config"), "problem", "config.toml", "correct that;");
    check(&report, ("codex", "program"), "note", "not installed", "npm install");
}

#[tokio::test]
async fn below_an_agent_it_is_refused() {
    let stage = stage().with_variable("BRIDGE_RUN", "0198c0de-0000-7000-8000-000000000000");
    let (exit, said) = stage.ended(&["doctor"], None).await;
    assert_eq!(exit.code, Some(2), "{said}");
    assert!(said.contains("an agent cannot start agents"), "{said}");
}

#[tokio::test]
async fn a_person_sees_each_agent_at_work_and_then_a_report_with_remedies() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    install(&stage, "npm", "exit 0");
    let go = stage.home().join("go");
    let waits = format!("until [ -e {} ]; do /bin/sleep 0.05; done", go.display());
    install(&stage, "gemini", &format!("{waits}\n{}", speaks_acp(&stage)));
    let mut terminal = Terminal::run(&stage, &["doctor"], (60, 160));
    terminal.until_shows(" gemini         ").await;
    fs::write(go, "").unwrap();
    let code = terminal.ended("No problems").await;
    assert_eq!(code, Some(0), "{}", terminal.screen());
    let screen = terminal.screen();
    for part in [
        "\ngemini\n  ✓ program",
        "has the bridge's tools after",
        "→ to use it, run `npm install -g @agentclientprotocol/codex-acp`",
    ] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    assert!(!screen.contains(" gemini         "), "the line is gone then:\n{screen}");
}
