//! `send`: how a message of the person reaches a model, and how the person learns of that.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::{done, failed, json_of};
use crate::support::{DEADLINE, Stage, until};

const SCRIPT: &str = r#"
[[agents.ann.turns]]
when = "Your task: wait"
steps = [
  { wait_for = { seconds = 60 }, save = "got" },
  { call = "send_message", with = { to = "human", content = "seen" } },
  { say = "{{got.message.from}}: {{got.message.content}}" },
]
[[agents.ann.turns]]
when = "human, your user at the command line → you] faster"
steps = [
  { call = "send_message", with = { to = "orchestrator", content = "woken by the user" } },
  { say = "I go faster now." },
]
[[agents.ann.turns]]
when = "Your task: look"
steps = [{ say = "{{name}} has done it" }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "on it" }, { hang = true }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

#[tokio::test]
async fn a_waiting_agent_reads_the_person_and_writes_back() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let outcome = json_of(&stage, &["send", "ann", "use the new parser"]).await;
    assert_eq!(outcome["act"], "send");
    assert!(outcome["message_id"].as_str().unwrap().starts_with("msg-"), "{outcome}");
    let words = lead.done(&task).await;
    assert!(words.starts_with("human: use the new parser"), "{words}");
    let shown = done(&stage, &["messages", "--member", "ann"]).await;
    assert!(shown.contains("human → ann: \"use the new parser\""), "{shown}");
    assert!(shown.contains("ann → human: \"seen\""), "{shown}");
    lead.close().await;
}

#[tokio::test]
async fn an_idle_agent_is_woken_by_the_person() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look").await;
    lead.until_idle("ann").await;
    let said = done(&stage, &["send", "ann", "faster"]).await;
    assert!(said.contains("`ann` ") || said.contains("model of `ann`"), "{said}");
    assert_eq!(lead.hear_from("ann").await, "woken by the user");
    // What it says in such a turn is in no message and in no result.
    lead.until_idle("ann").await;
    let log = done(&stage, &["log", "--member", "ann"]).await;
    let words = "ann has read its messages and says: \"I go faster now.\"";
    assert!(log.contains(words), "{log}");
    lead.close().await;
}

#[tokio::test]
async fn a_busy_agent_reads_it_later_and_an_absent_one_when_it_is_back() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let task = lead.start("ben", "hang").await;
    lead.until_said(&task, "on it").await;
    let said = done(&stage, &["send", "ben", "-x", "--no-wait"]).await;
    assert!(said.starts_with("the message is stored; `ben` will read it "), "{said}");
    let peer = stage.peer("cay").await;
    peer.close().await;
    let said = done(&stage, &["send", "cay", "hello"]).await;
    let later =
        "the message is stored; `cay` is not here: the next member of this name will read it\n";
    assert_eq!(said, later);
    let peer = stage.peer("cay").await;
    let heard = peer.hear(|message| message["content"] == "hello").await;
    assert_eq!(heard["from"], "human", "{heard}");
    peer.close().await;
    done(&stage, &["kill", "ben"]).await;
    lead.close().await;
}

#[tokio::test]
async fn stdin_is_one_message_and_never_more_than_a_message_may_be() {
    let stage = Stage::new(SCRIPT);
    let ann = stage.peer("ann").await;
    let ask = async |input: &[u8]| {
        let (child, mut pipes) = stage.start(&["send", "--no-wait", "ann", "-"]).await;
        // It stops reading where the limit is.
        let _ = pipes.stdin.write_all(input).await;
        drop(pipes.stdin);
        let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
        (exit.code, child.stderr_tail())
    };
    assert_eq!(ask(b"one\ntwo\n").await.0, Some(0));
    let (code, said) = ask(&vec![b'x'; 3 * 1024 * 1024]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("longer than 1048576 bytes (1 MiB)"), "{said}");
    let (code, said) = ask(&[0xff, 0, 1]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("no text in UTF-8"), "{said}");
    let (code, said) = ask(b" \n").await;
    assert_eq!(code, Some(1));
    assert!(said.contains("the message is empty"), "{said}");
    // As long as it may be: it is stored beside the log.
    assert_eq!(ask(&vec![b'y'; 1024 * 1024]).await.0, Some(0));
    until("both are there", || stage.events_of("message_sent").len() == 2).await;
    let heard = ann.call("check_messages", json!({})).await;
    assert_eq!(heard["messages"][0]["content"], "one\ntwo", "{heard}");
    assert_eq!(heard["messages"][1]["content_bytes"], 1024 * 1024);
    ann.close().await;
    let unknown = failed(&stage, &["send", "\u{1b}[2Jan", "x"]).await;
    assert!(unknown.starts_with("error: no member is named \"[2Jan\"\nhint: "), "{unknown}");
}

#[tokio::test]
async fn the_person_decides_what_two_members_disagree_about() {
    let stage = Stage::new(SCRIPT);
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    let first = ann.send("bob", "a queue").await["message_id"].as_str().unwrap().to_owned();
    let against = json!({
        "to": "ann", "content": "a log", "reply_to": first, "signal": "disagree_with",
    });
    bob.call("send_message", against).await;
    let shown = done(&stage, &["status"]).await;
    assert!(shown.contains("bob and ann") && shown.contains("round 1 of 3"), "{shown}");
    let said = done(&stage, &["send", "bob", "a log it is", "--reply-to", &first]).await;
    let decided = format!("; it decides the disagreement in the thread of {first}");
    assert!(said.trim_end().ends_with(&decided), "{said}");
    for member in [&ann, &bob] {
        let thread = member.call("check_messages", json!({ "thread": first })).await;
        let conflict = &thread["conflict"];
        assert_eq!((&conflict["status"], &conflict["by"]), (&json!("decided"), &json!("human")));
        let last = thread["messages"].as_array().unwrap().iter();
        assert!(last.clone().any(|message| message["content"] == "a log it is"), "{thread}");
    }
    let shown = done(&stage, &["status"]).await;
    assert!(shown.contains("decided by the user with msg-"), "{shown}");
    let found = done(&stage, &["search", "log it is"]).await;
    assert!(found.contains("human"), "{found}");
    ann.close().await;
    bob.close().await;
}
