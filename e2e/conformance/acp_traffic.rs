//! Records what an ACP client and its agent say to each other, and has it judged by the schema that the protocol publishes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::judged;
use crate::programs::Programs;
use crate::support::Stage;

/// The programs that a judgement needs: the validator of JSON Schema comes with the suite of MCP.
pub(super) const PROGRAMS: [&str; 3] = ["node", "conformance", "acp-schema"];

/// The ends of the names of recorded files.
const CLIENT: &str = "client.jsonl";
const AGENT: &str = "agent.jsonl";

/// Writes a program into the stage's home that plays the stage's script and records each process's messages; returns its path.
pub(super) fn write_recorder(stage: &Stage) -> PathBuf {
    let home = stage.home().display();
    let binary = env!("CARGO_BIN_EXE_cli-team-bridge");
    let text = format!(
        "traffic='{home}/traffic'-$$\n\
         tee \"$traffic-{CLIENT}\" | '{binary}' scripted-agent | tee \"$traffic-{AGENT}\"\n"
    );
    let path = stage.home().join("recorded-agent.sh");
    std::fs::write(&path, text).unwrap();
    path
}

/// What a judge found.
pub(super) struct Judgement {
    found: Value,
}

impl Judgement {
    /// Checks that no message violates the schema, and that these were among them, so that they were judged.
    pub(super) fn check(&self, of_client: &[&str], of_agent: &[&str]) {
        assert_eq!(self.found["violations"], serde_json::json!([]), "{:#}", self.found);
        for (side, messages) in [("client", of_client), ("agent", of_agent)] {
            for message in messages {
                let count = self.found[side][message].as_u64();
                assert!(count.is_some(), "no `{message}` of the {side}: {:#}", self.found);
            }
        }
    }

    /// Returns the violations.
    pub(super) fn violations(&self) -> Vec<String> {
        let all = self.found["violations"].as_array().unwrap().iter();
        all.map(|one| one.as_str().unwrap().to_owned()).collect()
    }
}

/// Judges all that was recorded in a stage.
pub(super) async fn judge_recorded(stage: &Stage) -> Judgement {
    let entries = std::fs::read_dir(stage.home()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_clients = paths.filter(|path| path.to_string_lossy().ends_with(CLIENT));
    let pairs: Vec<_> = of_clients
        .map(|client| {
            let agent = client.to_str().unwrap().replace(CLIENT, AGENT);
            [client, PathBuf::from(agent)]
        })
        .collect();
    assert!(!pairs.is_empty(), "something was recorded");
    judge(stage, pairs.as_flattened()).await
}

/// Judges the messages of these files: of a client, of its agent, and so on.
pub(super) async fn judge(stage: &Stage, files: &[PathBuf]) -> Judgement {
    let programs = Programs::find();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/conformance/judge_acp.cjs");
    let schema = "@agentclientprotocol/sdk/schema/v1/schema.json";
    let mut args: Vec<OsString> = vec![
        own.into(),
        programs.modules("conformance").join("ajv").into(),
        programs.modules("acp-schema").join(schema).into(),
    ];
    args.extend(files.iter().map(OsString::from));
    let (exit, said) = judged(stage, programs.command("node", "node"), args).await;
    assert_eq!(exit.code, Some(0), "{exit}: {said}");
    let found = said.lines().next().and_then(|line| serde_json::from_str(line).ok());
    Judgement { found: found.unwrap_or_else(|| panic!("the judge says what it found: {said}")) }
}
