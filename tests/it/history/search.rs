//! `search`: what it finds of a real team, and that its index survives everything.

use std::path::PathBuf;

use cli_team_bridge::bus::event::{Entry, Event};
use cli_team_bridge::bus::storage::file::line_format;
use cli_team_bridge::sys::clock;
use serde_json::json;

use super::{done, ended, json_of};
use crate::support::{Stage, Terminal, until};

const SCRIPT: &str = r#"
[[agents.cay.turns]]
when = "Your task: "
steps = [{ say = "seven \u001b[31mred beans" }]
"#;

fn index(stage: &Stage) -> PathBuf {
    let folder = stage.home().join(".cache/cli-team-bridge/search");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files = entries.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|kind| kind == "sqlite")).unwrap_or_default()
}

#[tokio::test]
async fn a_word_is_found_wherever_the_team_has_said_it() {
    let stage = Stage::new(SCRIPT);
    assert!(done(&stage, &["search", "beans"]).await.contains("There is no team in `"));
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let task = lead.start("cay", "count the beans").await;
    lead.done(&task).await;
    ann.send("orchestrator", "how many Beans?").await;

    let found = json_of(&stage, &["search", "beans"]).await;
    let kinds: Vec<_> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "result", "prompt"], "{found}");
    assert_eq!(found["hits"][1]["text"], "seven red beans");
    assert_eq!(found["hits"][1]["from"], "cay");
    assert_eq!(found["hits"][2]["open"], format!("cli-team-bridge task {task}"));
    let said = done(&stage, &["search", "red beans"]).await;
    assert!(
        said.contains("cay → orchestrator: \"seven red beans\"\n    cli-team-bridge task "),
        "{said}"
    );
    assert!(done(&stage, &["search", "absent"]).await.ends_with("Nothing was found.\n"));
    let of_ann = json_of(&stage, &["search", "beans", "--member", "ann"]).await;
    assert_eq!(of_ann["hits"].as_array().unwrap().len(), 1, "{of_ann}");
    let one = json_of(&stage, &["search", "beans", "--limit", "1"]).await;
    assert_eq!((one["hits"].as_array().unwrap().len(), &one["has_more"]), (1, &json!(true)));
    let later = json_of(&stage, &["search", "beans", "--since", "2999-01-01"]).await;
    assert_eq!(later, json!({ "hits": [], "has_more": false }));
    let (code, said) = ended(&stage, &["search", "!?"]).await;
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "error: there is no word to search for: write letters or digits\n")
    );

    // What it writes is in the cache directory alone.
    assert!(index(&stage).exists());
    ann.send("orchestrator", "no more beans").await;
    assert_eq!(
        json_of(&stage, &["search", "no more beans"]).await["hits"].as_array().unwrap().len(),
        1
    );
    lead.close().await;
    ann.close().await;
    let copy = stage.copied();
    let (code, said) = ended(&copy, &["search", "beans"]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("was not created here, so it is not read"), "{said}");
}

/// Appends messages to the log of a bus that no session uses.
fn add_messages(stage: &Stage, count: u64) {
    let path = stage.bus().join("log/00000000000000000001.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let line_format::Decoded::Entry { entry, .. } = line_format::decode(last.as_bytes()) else {
        panic!("{last}");
    };
    let mut lines = Vec::new();
    let event: Event = serde_json::from_value(json!({ "message_sent": {
        "id": "msg-aaaaaaaaaaab", "kind": "message", "from": "ann", "audience": "bob", "to": ["bob"],
        "body": { "text": format!("a busy bee {}", "flies over the hills ".repeat(40)) },
    } }))
    .unwrap();
    for number in 0..count {
        let (seq, events) = (entry.next_seq() + number, vec![event.clone()]);
        let ts = clock::now().wall_ms;
        lines.extend(line_format::encode(&Entry { seq, ts, events, ..entry.clone() }));
    }
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    std::io::Write::write_all(&mut file, &lines).unwrap();
}

#[tokio::test]
async fn a_search_that_is_killed_leaves_an_index_for_the_next_one() {
    let stage = Stage::new(SCRIPT);
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    ann.send("bob", "the first needle").await;
    ann.close().await;
    bob.close().await;
    add_messages(&stage, 10_000);
    let mut killed = 0;
    for round in 0..6_u64 {
        let (child, _pipes) = stage.start(&["search", "needle"]).await;
        // After the file is there and has grown a little further than in the last round.
        let size = || std::fs::metadata(index(&stage)).map_or(0, |found| found.len());
        let wal = || {
            let mut wal = index(&stage).into_os_string();
            wal.push("-wal");
            std::fs::metadata(PathBuf::from(wal)).map_or(0, |found| found.len())
        };
        let goal = round * 130_000;
        let ended = tokio::spawn(child.exited());
        until("the index grows", || ended.is_finished() || size() + wal() > goal).await;
        if !ended.is_finished() {
            child.kill().await.unwrap();
            killed += 1;
        }
        ended.await.unwrap();
    }
    assert!(killed > 0, "the first search takes longer than a moment");
    let found = json_of(&stage, &["search", "first needle"]).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    let bees = json_of(&stage, &["search", "busy bee", "--limit", "40000"]).await;
    assert_eq!(bees["hits"].as_array().unwrap().len(), 10_000);
}

#[tokio::test]
async fn the_first_search_of_a_large_bus_shows_its_progress_at_a_terminal() {
    let stage = Stage::new(SCRIPT);
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    ann.send("bob", "the first needle").await;
    ann.close().await;
    bob.close().await;
    add_messages(&stage, 40_000);
    let mut terminal = Terminal::run(&stage, &["search", "needle"], (24, 100));
    terminal.until_shows("MB of history for the index: ").await;
    assert_eq!(terminal.ended("cli-team-bridge messages --thread ").await, Some(0));
    assert!(!terminal.screen().contains("MB of history"), "{}", terminal.screen());
}
