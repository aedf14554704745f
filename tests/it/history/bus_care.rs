//! `bus verify`, `bus export` and `bus prune`, run by a person beside a team and after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{done, ended, json_of};
use crate::support::{Stage, Terminal};

const SCRIPT: &str = r#"
[[agents.cay.turns]]
when = "Your task: "
steps = [{ say = "one \u001b[31mred word" }]
"#;

/// Returns every file below a directory with its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

async fn with_history() -> Stage {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("cay", &format!("read this: {}", "long ".repeat(20_000))).await;
    assert_eq!(json_of(&stage, &["bus", "verify"]).await["findings"], json!([]), "beside a team");
    lead.close().await;
    stage
}

#[tokio::test]
async fn verify_says_where_the_damage_is_and_its_exit_code_tells() {
    let stage = with_history().await;
    let before = files(&stage.bus());
    let said = done(&stage, &["bus", "verify"]).await;
    assert!(said.ends_with("The bus is whole.\n"), "{said}");
    assert!(said.contains("long texts   1\n"), "{said}");
    assert_eq!(files(&stage.bus()), before);

    let log = stage.bus().join("log/00000000000000000001.jsonl");
    let mut bytes = std::fs::read(&log).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[second + 20] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let before = files(&stage.bus());
    let (code, said) = ended(&stage, &["bus", "verify"]).await;
    assert_eq!(code, Some(1), "{said}");
    let place = format!("✗ log/00000000000000000001.jsonl from byte {second}: ");
    assert!(said.contains(&place), "{said}");
    assert!(said.contains("    lost: at most "), "{said}");
    assert!(said.contains("    to do: restore the file"), "{said}");
    assert!(said.contains("1 problem, "), "{said}");
    assert_eq!(files(&stage.bus()), before);

    // What cannot be verified is neither fine nor damaged.
    let copy = stage.copied();
    let (code, said) = ended(&copy, &["bus", "verify"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("was not created here, so it is not read"), "{said}");
    let (code, said) = ended(&copy, &["bus", "export"]).await;
    assert_eq!(code, Some(1), "{said}");
    let none = Stage::new("");
    for action in ["verify", "export", "prune"] {
        assert!(done(&none, &["bus", action]).await.contains("There is no team in `"));
    }
    assert!(!none.bus().exists());
}

#[tokio::test]
async fn an_export_is_the_whole_history_and_does_nothing_to_a_terminal() {
    let stage = with_history().await;
    let said = done(&stage, &["bus", "export", "--transcripts"]).await;
    let (lines, told) = said.rsplit_once("exported ").unwrap();
    assert!(told.contains(" events and "), "{told}");
    assert!(
        !lines.contains(['\u{1b}', '\u{fffd}']),
        "nothing acts on a terminal, and nothing is replaced"
    );
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["export"], 1);
    let exported: Vec<_> = lines.iter().filter_map(|line| line.get("event")).collect();
    let kinds = |events: &[&Value]| -> Vec<String> {
        events
            .iter()
            .map(|event| event.as_object().unwrap().keys().next().unwrap().clone())
            .collect()
    };
    let logged = stage.events();
    assert_eq!(kinds(&exported), kinds(&logged.iter().collect::<Vec<_>>()));
    let prompt =
        exported.iter().find_map(|event| event["task_assigned"]["prompt"]["text"].as_str());
    assert_eq!(prompt.unwrap().matches("long ").count(), 20_000, "a long text is resolved");
    let output =
        exported.iter().find_map(|event| event["task_finished"]["output"]["text"].as_str());
    assert_eq!(output, Some("one \u{1b}[31mred word"));
    assert!(lines.iter().any(|line| line["transcript"]["line"]["kind"] == "text"));
    assert_eq!(lines.last().unwrap()["end"]["missing_texts"], 0);

    let file = stage.home().join("history.jsonl");
    let path = file.to_str().unwrap();
    done(&stage, &["bus", "export", path]).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), exported.len() + 2);
    let (code, said) = ended(&stage, &["bus", "export", path]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("is already there\nhint: name a new file"), "{said}");

    // A text that is gone is said, and the rest is there.
    for blob in std::fs::read_dir(stage.bus().join("blobs")).unwrap() {
        std::fs::remove_file(blob.unwrap().path()).unwrap();
    }
    let said = done(&stage, &["bus", "export"]).await;
    assert!(said.contains("\"missing\":\"the log no longer holds this\""), "{said}");
    assert!(said.contains("warning: the history is not whole: 1 missing text; "), "{said}");
}

#[tokio::test]
async fn prune_asks_first_and_never_below_an_agent() {
    let stage = with_history().await;
    // The transcript of a wakeup long ago.
    let old = stage.bus().join("tasks/task-aaaaaaaaaaab.jsonl");
    std::fs::write(&old, "{}\n").unwrap();
    let long_ago =
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();

    let said = done(&stage, &["bus", "prune", "--dry-run"]).await;
    assert!(
        said.contains(", would be removed: 0 files of the log, 0 long texts, 1 transcript"),
        "{said}"
    );
    let (code, said) = ended(&stage, &["bus", "prune"]).await;
    assert_eq!(code, Some(1));
    assert!(
        said.contains("error: there is no terminal to ask at, so nothing was removed"),
        "{said}"
    );
    let below = vec![("BRIDGE_RUN".into(), "0198c0de-0000-7000-8000-000000000000".into())];
    let agent = stage.copied().with_env(below);
    let (code, said) = ended(&agent, &["bus", "prune", "--yes"]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("an agent cannot remove history of its team"), "{said}");
    let mut terminal = Terminal::run(&stage, &["bus", "prune"], (24, 100));
    terminal.until_shows("[y/N]").await;
    terminal.press("n\n");
    assert_eq!(terminal.ended("Nothing was removed.").await, Some(0));
    assert!(old.exists());

    let pruned = json_of(&stage, &["bus", "prune", "--yes"]).await;
    assert_eq!((&pruned["removed"], &pruned["transcripts"]), (&json!(true), &json!(1)));
    assert!(!old.exists());
    let said = done(&stage, &["bus", "prune", "--older-than", "1h", "--yes"]).await;
    assert!(said.starts_with("There is nothing to remove that is older than 1 hour"), "{said}");
    assert_eq!(json_of(&stage, &["bus", "verify"]).await["findings"], json!([]));
    let (code, said) = ended(&stage, &["bus", "prune", "--older-than", "soon"]).await;
    assert_eq!(code, Some(2), "{said}");
}
