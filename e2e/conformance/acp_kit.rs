//! The compatibility kit of ACP. It is on no package registry, so it judges the scripted agent where somebody has installed it.

use std::path::{Path, PathBuf};

use cli_team_bridge::sys::process::find_program;
use serde_json::Value;

use super::judged;
use super::mcp_suite::DOCUMENT;
use crate::support::Stage;

/// Why the kit cannot judge, where it is not installed.
pub(crate) const IS_MISSING: &str = "`acp-tck` is not on PATH: see docs/conformance.md";

/// An agent that offers all that it can, and would like to have the client's files.
const SCRIPT: &str = r#"
[agents.default.start]
models = ["small", "large"]
modes = ["work", "plan"]
load = true
[[agents.default.turns]]
when = "take your time"
steps = [{ say = "I hang." }, { hang = true }]
[[agents.default.turns]]
steps = [
  { think = "How to begin." },
  { plan = ["begin", "end"] },
  { usage = { used = 1200, size = 200000 } },
  { read_file = "notes.txt", expect_error = true },
  { write_file = "notes.txt", content = "new", expect_error = true },
  { ask_permission = "look at the notes", kind = "read", paths = ["notes.txt"] },
  { say = "{{prompt}} {{model}} {{mode}}" },
]
"#;

/// Finds the kit's program.
pub(crate) fn program() -> Option<PathBuf> {
    find_program(Path::new("acp-tck"), std::env::var_os("PATH").as_deref())
}

/// The kit finds nothing wrong, and the document names what it did not try.
pub(crate) async fn the_kit_finds_the_scripted_agent_conformant() {
    let stage = Stage::new(SCRIPT);
    // The kit's own temporary files.
    let folder = stage.home().as_os_str().to_owned();
    let stage = stage.with_env(vec![("TMPDIR".into(), folder)]);
    let report = stage.home().join("report.json");
    let binary = env!("CARGO_BIN_EXE_cli-team-bridge");
    let path = report.to_str().unwrap();
    let options = ["--protocol-version", "1", "--cancel-prompt", "take your time"];
    let agent = ["--report-json", path, "--", binary, "scripted-agent"];
    let all = options.into_iter().chain(agent).map(Into::into).collect();
    let kit = program().expect("the test is skipped without the kit");
    let (exit, said) = judged(&stage, kit, all).await;
    let report = std::fs::read(report).unwrap_or_else(|_| panic!("the kit reports: {said}"));
    let report: Value = serde_json::from_slice(&report).unwrap();
    let is_good = |one: &&Value| match (one["tier"].as_str(), one["status"].as_str()) {
        (_, Some("PASS")) | (Some("ADVISORY" | "INFORMATIONAL"), _) => true,
        (Some("CAPABILITY"), Some("SKIPPED")) => DOCUMENT.contains(one["id"].as_str().unwrap()),
        _ => false,
    };
    let (good, bad): (Vec<_>, Vec<_>) =
        report["requirements"].as_array().unwrap().iter().partition(is_good);
    assert!(bad.is_empty() && !good.is_empty(), "{bad:#?}");
    assert_eq!((exit.code, &report["verdict"]["conformant"]), (Some(0), &true.into()), "{said}");
}
