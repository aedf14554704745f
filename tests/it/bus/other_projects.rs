//! Messages from project to project, with the programs as users start them.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use cli_team_bridge::sys::fs::file_lock::LockFile;
use serde_json::json;

use crate::steer::{done, failed};
use crate::support::{Stage, Terminal, until};

/// Two projects of one user, `po` and `web`, and the tag of a third without a team.
fn two() -> (Stage, Stage) {
    let po = Stage::new("");
    let web = po.beside("web");
    let wiki = web.project().with_file_name("wiki");
    list(&po, &[("po", po.project()), ("web", web.project()), ("wiki", &wiki)]);
    (po, web)
}

fn list(stage: &Stage, projects: &[(&str, &Path)]) {
    let mut toml = "[limits]\nmessages_per_minute = 0\n[projects]\n".to_owned();
    for (tag, directory) in projects {
        writeln!(toml, "{tag} = \"{}\"", directory.display()).unwrap();
    }
    let folder = stage.home().join(".config/cli-team-bridge");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), toml).unwrap();
}

/// Returns the texts of what arrived from another project.
fn arrived(stage: &Stage) -> Vec<String> {
    let sent = stage.events_of("message_sent").into_iter();
    let sent = sent.filter(|sent| sent["from"].as_str().is_some_and(|from| from.contains(':')));
    sent.map(|sent| sent["body"]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn lock_of(stage: &Stage) -> LockFile {
    LockFile::open(&stage.bus().join("lock")).unwrap()
}

/// Holds the lock of a bus, on which all its writers wait.
macro_rules! held {
    ($lock:expr) => {
        $lock.acquire(Duration::from_mins(1)).unwrap().unwrap()
    };
}

#[tokio::test]
async fn a_question_crosses_and_its_answer_ends_the_wait_at_home() {
    let (po, web) = two();
    let lead = po.orchestrator().await;
    let alice = web.peer("alice").await;
    alice.names().await;
    let asking = lead.call(
        "send_message",
        json!({"to": "web:alice", "content": "Which port?", "signal": "question", "wait_seconds": 60}),
    );
    let answering = async {
        let asked = alice.hear(|message| message["from"] == "po:orchestrator").await;
        assert_eq!(asked["content"], "Which port?");
        let answer = json!({"to": "po:orchestrator", "content": "8080", "signal": "answer", "reply_to": asked["id"]});
        alice.call("send_message", answer).await
    };
    let (asked, answered) = tokio::join!(asking, answering);
    assert_eq!(asked["recipients"][0]["name"], "web:alice", "{asked}");
    assert_eq!(asked["reply"]["content"], "8080", "{asked}");
    assert_eq!(asked["reply"]["from"], "web:alice");
    assert_eq!(asked["reply"]["reply_to"], asked["message_id"]);
    assert_eq!(answered["recipients"][0]["name"], "po:orchestrator", "{answered}");

    // The receipts come back. Her next call proves that she has seen it.
    alice.names().await;
    let shown = lead
        .until("check_messages", json!({"id": asked["message_id"]}), |shown| {
            shown["receipts"][0]["state"] == "seen"
        })
        .await;
    assert_eq!(shown["receipts"][0]["name"], "web:alice");
    // Neither bus knows where the other one is.
    for (stage, other) in [(&po, &web), (&web, &po)] {
        let log = format!("{:?}", stage.events());
        assert!(!log.contains(&*other.project().to_string_lossy()), "{log}");
    }
    alice.close().await;
    lead.close().await;
}

/// The locks of the buses hold the courier between its two appends, where it is killed.
#[tokio::test]
async fn a_courier_that_is_killed_between_the_two_buses_leaves_one_message_there() {
    let (po, web) = two();
    let lead = po.orchestrator().await;
    let alice = web.peer("alice").await;
    alice.names().await;
    let (po_lock, web_lock) = (lock_of(&po), lock_of(&web));
    let web_held = held!(web_lock);
    lead.send("web:alice", "once").await;
    let po_held = held!(po_lock);
    drop(web_held);
    until("it is there", || arrived(&web).len() == 1).await;
    assert!(po.events_of("message_relayed").is_empty(), "it is not noted");
    lead.die().await;
    drop(po_held);

    let lead = po.orchestrator().await;
    lead.names().await;
    until("it is noted", || po.events_of("message_relayed").len() == 1).await;
    lead.send("web:alice", "twice").await;
    until("the next one is there", || arrived(&web).len() == 2).await;
    assert_eq!(arrived(&web), ["once", "twice"]);
    alice.close().await;
    lead.close().await;
}

/// Killed at moments that nobody chooses, and begun again each time.
#[tokio::test]
async fn couriers_that_are_killed_again_and_again_lose_and_double_nothing() {
    let (po, web) = two();
    let alice = web.peer("alice").await;
    alice.names().await;
    let writer = po.peer("writer").await;
    let mut sent = Vec::new();
    for round in 0..6 {
        let lead = po.orchestrator().await;
        lead.names().await;
        let text = format!("message {round}");
        writer.send("web:alice", &text).await;
        sent.push(text);
        if round % 2 == 0 {
            until("it arrives", || arrived(&web).len() == sent.len()).await;
        }
        lead.die().await;
    }
    let lead = po.orchestrator().await;
    lead.names().await;
    until("all are noted", || {
        let noted: std::collections::BTreeSet<_> = po
            .events_of("message_relayed")
            .iter()
            .map(|relayed| relayed["id"].as_str().unwrap().to_owned())
            .collect();
        noted.len() == sent.len()
    })
    .await;
    assert_eq!(arrived(&web), sent);
    for member in [writer, lead, alice] {
        member.close().await;
    }
}

#[tokio::test]
async fn where_no_team_is_the_message_waits_until_one_begins() {
    let (po, web) = two();
    let lead = po.orchestrator().await;
    let unknown = lead.refused("send_message", json!({"to": "wab:ann", "content": "x"})).await;
    assert!(unknown.contains("there are `web:`, `wiki:`"), "{unknown}");
    let sent = lead.call("send_message", json!({"to": "web:alice", "content": "for later"})).await;
    let queued = json!([{"name": "web:alice", "state": "queued"}]);
    assert_eq!((&sent["recipients"], &sent["delivered"]), (&queued, &json!(false)), "{sent}");
    lead.hear_notice("there is no team in that project yet").await;
    assert!(!web.bus().exists(), "a courier makes no bus");
    let alice = web.peer("alice").await;
    assert_eq!(alice.hear_from("po:orchestrator").await, "for later");
    // Who is not there is told at once, with those who are.
    let lost = lead.send("web:alise", "x").await;
    lead.hear_notice("no member there has that name; there are alice").await;
    let id = lost["message_id"].as_str().unwrap();
    let said = done(&po, &["trace", id]).await;
    assert!(said.contains("    not delivered: nobody got it\n"), "{said}");
    let said = done(&po, &["messages", "--thread", id]).await;
    assert!(said.contains(": undelivered to web:alise\n"), "{said}");
    alice.close().await;
    lead.close().await;
}

#[tokio::test]
async fn peers_without_an_orchestrator_take_their_messages_across_themselves() {
    let (po, web) = two();
    let (writer, alice) = (po.peer("writer").await, web.peer("alice").await);
    alice.names().await;
    writer.send("web:*", "hello").await;
    assert_eq!(alice.hear_from("po:writer").await, "hello");
    alice.close().await;
    writer.close().await;
}

/// The person needs no courier: what they write is on the bus there at once, and nothing of it here.
#[tokio::test]
async fn the_person_writes_to_another_project_by_its_tag() {
    let (po, web) = two();
    po.peer("ann").await.close().await;
    let alice = web.peer("alice").await;
    let said = done(&po, &["send", "web:alice", "Ship it.", "--no-wait"]).await;
    assert!(said.contains("`web:alice` will read it "), "{said}");
    let heard = alice.hear(|message| message["content"] == "Ship it.").await;
    assert_eq!(heard["from"], "human", "{heard}");
    let said = done(&po, &["send", "web:alice", "And.", "--no-wait", "--json"]).await;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["act"], &said["subject"]), (&json!("send"), &json!("web:alice")), "{said}");
    let said = done(&po, &["send", "web:*", "All.", "--no-wait", "--json"]).await;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["subject"], json!("web:*"), "{said}");
    let said = done(&po, &["send", "web:*", "All of you.", "--no-wait"]).await;
    let there =
        format!("`cli-team-bridge messages --project {} --thread msg-", web.project().display());
    assert!(said.contains(&there), "{said}");
    alice.hear(|message| message["content"] == "All of you.").await;
    assert!(po.events_of("message_sent").is_empty(), "nothing is here");
    done(&po, &["send", "po:ann", "Here.", "--no-wait"]).await;
    assert_eq!(po.events_of("message_sent").len(), 1, "a project has its own tag too");

    let said = failed(&po, &["send", "wep:alice", "x"]).await;
    let unknown = "error: no project of yours has the tag `wep`\nhint: there are `web:`, ";
    assert!(said.starts_with(unknown), "{said}");
    let said = failed(&po, &["send", "wiki:alice", "x"]).await;
    assert!(said.starts_with("error: cannot use the project `"), "{said}");
    let said = failed(&po, &["send", "web:alicia", "x"]).await;
    assert!(
        said.starts_with("error: no member is named \"alicia\"\nhint: did you mean `alice`?"),
        "{said}"
    );
    alice.close().await;
}

/// Whoever is asked from elsewhere answers there, wherever they read it.
#[tokio::test]
async fn the_person_answers_a_member_of_another_project_from_a_window_and_at_the_command_line() {
    let (po, web) = two();
    let lead = po.orchestrator().await;
    let alice = web.peer("alice").await;
    alice.names().await;
    let asked = alice
        .call("send_message", json!({"to": "po:orchestrator", "content": "Which port?"}))
        .await;
    let here = lead.hear(|message| message["from"] == "web:alice").await;
    assert_ne!(here["id"], asked["message_id"], "it has an id of its own here");
    let mut window = Terminal::run(&po, &["top"], (24, 100));
    window.until_shows("2 Messages").await;
    window.press("2");
    window.until_shows("Which port?").await;
    window.press("m8080\r");
    let heard = alice.hear(|message| message["content"] == "8080").await;
    assert_eq!((&heard["from"], &heard["reply_to"]), (&json!("human"), &asked["message_id"]));
    window.press("q");
    window.ended("").await;
    let id = here["id"].as_str().unwrap();
    done(&po, &["send", "web:alice", "8081.", "--reply-to", id, "--no-wait"]).await;
    let heard = alice.hear(|message| message["content"] == "8081.").await;
    assert_eq!(heard["reply_to"], asked["message_id"]);
    alice.close().await;
    lead.close().await;
}

/// The sessions of a bus of the first format know no messages from elsewhere, and would stop at one.
#[tokio::test]
async fn a_bus_of_the_first_format_takes_no_message_and_its_sessions_go_on() {
    let (po, web) = two();
    let alice = web.peer("alice").await;
    alice.names().await;
    let path = web.bus().join("bus.json");
    let raised = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, raised.replace("\"format\":2", "\"format\":1")).unwrap();
    let writer = po.peer("writer").await;
    writer.send("web:alice", "hello").await;
    let is_told = |message: &serde_json::Value| message["content"].to_string().contains("an older");
    let told = writer.hear(is_told).await;
    let told = told["content"].as_str().unwrap();
    assert!(told.contains("an older cli-team-bridge works in that project"), "{told}");
    assert_eq!(arrived(&web), Vec::<String>::new());
    alice.close().await;
    writer.close().await;
}

/// Copies the files of a bus, in place of those that are there.
fn copy_bus(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for old in std::fs::read_dir(to).unwrap().map(|old| old.unwrap().path()) {
        if old.is_dir() { std::fs::remove_dir_all(old) } else { std::fs::remove_file(old) }
            .unwrap();
    }
    for file in std::fs::read_dir(from).unwrap().map(|file| file.unwrap().path()) {
        let copy = to.join(file.file_name().unwrap());
        if file.is_dir() {
            copy_bus(&file, &copy);
        } else {
            std::fs::copy(&file, &copy).unwrap();
        }
    }
}

#[tokio::test]
async fn a_bus_that_was_put_back_finds_the_receipts_and_the_answer_that_it_has_forgotten() {
    let (po, web) = two();
    let (writer, alice) = (po.peer("writer").await, web.peer("alice").await);
    alice.names().await;
    let question = json!({"to": "web:alice", "content": "Which port?", "signal": "question"});
    let asked = writer.call("send_message", question).await;
    until("it is there", || !po.events_of("message_relayed").is_empty()).await;
    let backup = po.project().with_file_name("backup");
    copy_bus(&po.bus(), &backup);
    let heard = alice.hear(|message| message["content"] == "Which port?").await;
    let answer =
        json!({"to": "po:writer", "content": "8080", "signal": "answer", "reply_to": heard["id"]});
    alice.call("send_message", answer).await;
    let resolve = json!({"ids": [heard["id"]], "status": "resolved", "note": "8080 is free"});
    alice.call("acknowledge", resolve).await;
    assert_eq!(writer.hear_from("web:alice").await, "8080");
    let receipt = |shown: &serde_json::Value| shown["receipts"][0]["state"] == "resolved";
    writer.until("check_messages", json!({"id": asked["message_id"]}), receipt).await;
    writer.close().await;

    copy_bus(&backup, &po.bus());
    let writer = po.peer("writer").await;
    let again = writer.hear(|message| message["content"] == "8080").await;
    assert_eq!((&again["from"], &again["reply_to"]), (&json!("web:alice"), &asked["message_id"]));
    let shown = writer.until("check_messages", json!({"id": asked["message_id"]}), receipt).await;
    assert_eq!(shown["receipts"][0]["note"], "8080 is free", "{shown}");
    writer.close().await;
    // Nothing of this is found twice.
    let (writer, before) = (po.peer("writer").await, po.events().len());
    alice.send("po:writer", "last").await;
    writer.hear(|message| message["content"] == "last").await;
    assert_eq!(arrived(&po), ["8080", "last"]);
    assert_eq!(po.events_of("message_relayed").len(), 2, "{:?}", &po.events()[before..]);
    alice.close().await;
    writer.close().await;
}
