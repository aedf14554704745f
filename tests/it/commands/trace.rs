//! `trace` of what is not there, is damaged, or was removed: each has its own words, and nothing is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::Stage;

async fn traced(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let project = stage.project().to_str().unwrap();
    let all = [&["trace"], arguments, &["--project", project]].concat();
    let (exit, said) = stage.ended(&all, None).await;
    (exit.code, said)
}

/// Returns every file below a directory with its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

#[tokio::test]
async fn a_trace_of_a_wrong_id_says_what_to_do_and_none_makes_or_changes_a_bus() {
    let stage = Stage::new("");
    let (code, said) = traced(&stage, &["msg-aaaaaaaaaaaa"]).await;
    assert!(code == Some(1) && said.starts_with("error: there is no team in `"), "{said}");
    assert!(!stage.bus().exists());
    let (code, said) = traced(&stage, &["seven"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("\"seven\" is no id of a message or of a request"), "{said}");
    let (code, said) = traced(&stage, &["task-aaaaaaaaaaaa"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`cli-team-bridge task task-aaaaaaaaaaaa` shows it"), "{said}");

    let (ann, ben) = (stage.peer("ann").await, stage.peer("ben").await);
    let id =
        ann.send("ben", "\u{1b}[2J# one; two").await["message_id"].as_str().unwrap().to_owned();
    ann.close().await;
    ben.close().await;
    let before = files(&stage.bus());
    for arguments in [&[&*id][..], &[&id, "--json"], &[&id, "--mermaid"]] {
        let (code, said) = traced(&stage, arguments).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    let (code, said) = traced(&stage, &["req-aaaaaaaaaaaa"]).await;
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "error: there is no request `req-aaaaaaaaaaaa` in this project\nhint: `cli-team-bridge \
         messages` and `log` show ids; --project names another project\n"
    );
    assert_eq!(files(&stage.bus()), before);
}

#[tokio::test]
async fn a_long_text_is_checked_against_the_hash_that_the_log_has() {
    let stage = Stage::new("");
    let (ann, ben) = (stage.peer("ann").await, stage.peer("ben").await);
    let text = format!("the whole plan {}", "x".repeat(70_000));
    let id = ann.send("ben", &text).await["message_id"].as_str().unwrap().to_owned();
    let proof = async || {
        let (code, said) = traced(&stage, &[&id, "--json"]).await;
        assert_eq!(code, Some(0), "{said}");
        let trace: Value = serde_json::from_str(&said).unwrap();
        trace["nodes"][0]["texts"][0].clone()
    };
    let whole = proof().await;
    assert_eq!(whole["file_is"], "matches", "{whole}");
    let path = stage.bus().join(whole["file"].as_str().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[69_000] = b'y';
    fs::write(&path, &bytes).unwrap();
    assert_eq!(
        proof().await,
        json!({
            "bytes": text.len(), "place": "file", "file": whole["file"], "sha256": whole["sha256"],
            "file_is": "does_not_match",
        })
    );
    let (_, said) = traced(&stage, &[&id]).await;
    assert!(said.contains(": does not match\n"), "{said}");
    fs::remove_file(&path).unwrap();
    assert_eq!(proof().await["file_is"], "missing");
    let (_, said) = traced(&stage, &[&id]).await;
    assert!(said.contains("(its text cannot be shown: ") && said.contains(": missing\n"), "{said}");
    ann.close().await;
    ben.close().await;
}

#[tokio::test]
async fn damage_near_an_exchange_is_told_and_what_is_lost_is_named() {
    let stage = Stage::new("");
    let (ann, ben) = (stage.peer("ann").await, stage.peer("ben").await);
    let first = ann.send("ben", "the first words").await["message_id"].as_str().unwrap().to_owned();
    let reply = json!({ "to": "ann", "content": "the next ones", "reply_to": first });
    ben.call("send_message", reply).await;
    ann.close().await;
    ben.close().await;
    for snapshot in fs::read_dir(stage.bus().join("snapshot")).unwrap() {
        fs::remove_file(snapshot.unwrap().path()).unwrap();
    }
    let log = fs::read_dir(stage.bus().join("log")).unwrap().next().unwrap().unwrap().path();
    let damaged = fs::read_to_string(&log).unwrap().replace("the first words", "the worst words");
    fs::write(&log, damaged).unwrap();
    let (code, said) = traced(&stage, &[&first]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the next ones") && !said.contains("worst"), "{said}");
    assert!(
        said.contains(&format!("No longer in the log, or damaged there: {first}.\n")),
        "{said}"
    );
    assert!(said.contains("The log has 1 damaged line"), "{said}");
}
