//! What members write to the user: it is shown in all windows, and answered in a form, at the command line, or by the orchestrator.

use std::sync::{Arc, Mutex};

use cli_team_bridge::mcp::client::{Forms, Lifecycle};
use serde_json::{Value, json};

use super::{done, json_of};
use crate::support::{Member, Raw, Stage, Terminal, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: ask"
steps = [
  { call = "send_message", with = { to = "human", content = "deploy?", signal = "request_approval", wait_seconds = 100 }, save = "asked" },
  { say = "{{asked.reply.content}} from {{asked.reply.from}}" },
]
"#;

/// The questions that wait for the person.
async fn questions(stage: &Stage) -> Vec<Value> {
    let board = json_of(stage, &["status"]).await;
    let needs = board["needs_you"].as_array().cloned().unwrap_or_default();
    needs.into_iter().filter(|need| need["kind"] == "question").collect()
}

async fn question(stage: &Stage) -> Value {
    until("an agent asks", || !stage.events_of("wait_started").is_empty()).await;
    let mut questions = questions(stage).await;
    assert_eq!(questions.len(), 1, "{questions:?}");
    questions.remove(0)
}

#[tokio::test]
async fn a_question_to_the_person_waits_in_the_windows_until_they_answer_it_there() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "ask").await;
    let asked = question(&stage).await;
    assert_eq!((&asked["who"], &asked["words"]), (&json!("ann"), &json!("\"deploy?\"")));
    let id = asked["id"].as_str().unwrap();
    // What does not name the question answers nothing, and says so.
    let said = done(&stage, &["send", "ann", "yes", "--no-wait"]).await;
    let hint = format!("; `ann` has asked you something: --reply-to {id} answers it\n");
    assert!(said.ends_with(&hint), "{said}");
    let unknown = ["send", "ann", "yes", "--no-wait", "--reply-to", "msg-aaaaaaab"];
    let said = done(&stage, &unknown).await;
    assert!(said.contains("; it answers nothing: `ann` has no message `msg-aaaaaaab`"), "{said}");
    let shown = done(&stage, &["status"]).await;
    let command = format!("`cli-team-bridge send ann TEXT --reply-to {id}`");
    assert!(shown.contains("question") && shown.contains(&command), "{shown}");
    done(&stage, &["send", "ann", "go ahead", "--reply-to", id]).await;
    assert_eq!(lead.done(&task).await, "go ahead from human");
    assert_eq!(questions(&stage).await, Vec::<Value>::new());
    // A second answer is sent, and is said not to be the first.
    let said = done(&stage, &["send", "ann", "no, wait", "--reply-to", id, "--no-wait"]).await;
    let already = format!("; {id} was already answered by you at 20");
    assert!(said.contains(&already), "{said}");
    assert!(said.ends_with("Z; your words were sent all the same\n"), "{said}");
    let decides =
        ["send", "ann", "so be it", "--reply-to", id, "--signal", "announce_decision", "--no-wait"];
    let said = done(&stage, &decides).await;
    assert!(said.contains("; it decides nothing: no disagreement in that thread"), "{said}");
    // The orchestrator, which was to pass it on, has nothing to do any more.
    let left = lead.call("check_messages", json!({})).await;
    let left = left["messages"].as_array().unwrap();
    assert!(!left.iter().any(|message| message["to"] == "human"), "{left:?}");
    lead.close().await;
}

#[tokio::test]
async fn the_user_of_a_client_that_shows_forms_answers_in_one() {
    for lifecycle in [Lifecycle::Session, Lifecycle::Stateless] {
        let stage = Stage::new(SCRIPT);
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&shown);
        let forms = Forms::new(move |text| {
            kept.lock().unwrap().push(text.to_owned());
            Some(true)
        });
        let lead = stage.orchestrator_of(lifecycle, forms).await;
        let work = json!({
            "agent": "scripted", "name": "ann", "prompt": "ask", "wait": true, "timeout_seconds": 100
        });
        let ended = lead.call("assign_task", work).await;
        assert_eq!(ended["output"], "yes from human", "{ended}");
        let shown = shown.lock().unwrap().clone();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].starts_with("ann asks you: \"deploy?\" (msg-"), "{shown:?}");
        lead.close().await;
    }
}

/// Reads on until the client is told something by this method.
async fn told(session: &mut Raw, method: &str) -> Value {
    loop {
        let message = session.hear().await;
        if message["method"] == method {
            return message;
        }
    }
}

#[tokio::test]
async fn a_form_that_is_answered_elsewhere_is_withdrawn_and_is_not_shown_again() {
    let stage = Stage::new(SCRIPT);
    let started = stage.start(&["orchestrator"]).await;
    let mut lead = Raw::open_with(started, json!({ "elicitation": {} })).await;
    lead.call("list_agents", json!({})).await;
    let bob = stage.peer("bob").await;
    let ask = async |words: &str| {
        let question = json!({ "to": "human", "content": words, "signal": "question" });
        let sent = bob.call("send_message", question).await;
        sent["message_id"].as_str().unwrap().to_owned()
    };
    let first = ask("which colour?").await;
    let form = told(&mut lead, "elicitation/create").await;
    let text = form["params"]["message"].as_str().unwrap();
    assert_eq!(text, format!("bob asks you: \"which colour?\" ({first})"));
    done(&stage, &["send", "bob", "red", "--reply-to", &first]).await;
    let withdrawn = told(&mut lead, "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], form["id"]);
    // The receipts of the question have the answer.
    let receipts = bob.call("check_messages", json!({ "id": first })).await;
    let receipts = receipts["receipts"].as_array().unwrap().clone();
    let of_user = receipts.iter().find(|one| one["name"] == "human");
    let answer = stage.events_of("message_sent").into_iter();
    let mut answer = answer.filter(|sent| sent["from"] == "human");
    let answer = answer.next().unwrap()["id"].clone();
    assert_eq!(of_user.map(|one| (&one["state"], &one["answer"])), Some((&json!("seen"), &answer)));
    // Whoever asks, leaves and comes back is shown no second time.
    let second = ask("which size?").await;
    let form = told(&mut lead, "elicitation/create").await;
    bob.close().await;
    let bob = stage.peer("bob").await;
    let third = json!({ "to": "human", "content": "which day?", "signal": "question" });
    bob.call("send_message", third).await;
    let next = told(&mut lead, "elicitation/create").await;
    assert!(next["params"]["message"].as_str().unwrap().contains("which day?"), "{next}");
    assert_ne!(next["id"], form["id"]);
    let open = questions(&stage).await;
    assert!(open.iter().any(|question| question["id"] == second.as_str()), "{open:?}");
    bob.close().await;
    lead.close().await;
}

#[tokio::test]
async fn the_orchestrator_answers_for_its_user_and_a_later_one_has_what_a_dead_one_left() {
    let stage = Stage::new(SCRIPT);
    let bob = stage.peer("bob").await;
    let first = stage.orchestrator().await;
    let sent = bob.send("human", "which colour?").await;
    assert_eq!((&sent["queued"], &sent["delivered"]), (&json!(0), &json!(true)), "{sent}");
    first.die().await;
    let next = stage.orchestrator().await;
    let heard = next.hear(|message| message["to"] == "human").await;
    assert_eq!((&heard["from"], &heard["content"]), (&json!("bob"), &json!("which colour?")));
    let answer = json!({ "to": "bob", "content": "red", "reply_to": heard["id"] });
    next.call("send_message", answer).await;
    let heard = bob.hear(|message| message["content"] == "red").await;
    assert_eq!(heard["reply_to"], sent["message_id"]);
    bob.close().await;
    next.close().await;
}

/// Answers the first message of the person.
async fn answer(member: &Member, text: &str) {
    let heard = member.hear(|message| message["from"] == "human").await;
    assert_eq!(heard["signal"], "question", "{heard}");
    // What it writes to others about it is no answer to the person.
    let aside = json!({ "to": "cay", "content": "look", "reply_to": heard["id"] });
    member.call("send_message", aside).await;
    let answer = json!({ "to": "human", "content": text, "reply_to": heard["id"] });
    member.call("send_message", answer).await;
}

#[tokio::test]
async fn the_person_waits_for_an_answer_and_reads_it_without_control_characters() {
    let stage = Stage::new(SCRIPT);
    let cay = stage.peer("cay").await;
    let bob = stage.peer("bob").await;
    let ask = ["send", "bob", "done?", "--signal", "question", "--wait", "100"];
    let (said, ()) = tokio::join!(done(&stage, &ask), answer(&bob, "nearly\u{1b}[2J"));
    assert!(said.starts_with("`bob` answers (msg-"), "{said}");
    assert!(said.ends_with(":\nnearly\n"), "{said:?}");
    let (outcome, ()) = tokio::join!(json_of(&stage, &ask), answer(&bob, "now"));
    assert_eq!((&outcome["status"], &outcome["outcome"]), (&json!("answered"), &json!("done")));
    assert_eq!(
        (&outcome["reply"]["from"], &outcome["reply"]["text"]),
        (&json!("bob"), &json!("now"))
    );
    let said = done(&stage, &["send", "bob", "still?", "--wait", "1"]).await;
    assert!(said.starts_with("`bob` has not answered after 1."), "{said}");
    bob.close().await;
    cay.close().await;
}

#[tokio::test]
async fn the_person_asks_and_answers_in_a_terminal() {
    let stage = Stage::new("");
    let ann = stage.peer("ann").await;
    ann.names().await;
    let question = ["send", "ann", "which port?", "--signal", "question", "--wait", "60"];
    let asking = Terminal::run(&stage, &question, (24, 100));
    let asked = ann.hear(|message| message["from"] == "human").await;
    let answer = json!({"to": "human", "content": "port 8080", "reply_to": asked["id"]});
    ann.call("send_message", answer).await;
    asking.until_shows("port 8080").await;

    let asked = json!({"to": "human", "content": "deploy?", "signal": "request_approval"});
    let asked = ann.call("send_message", asked).await;
    let id = asked["message_id"].as_str().unwrap();
    let shown = Terminal::run(&stage, &["status"], (40, 120));
    shown.until_shows("\"deploy?\"").await;
    let _answering =
        Terminal::run(&stage, &["send", "ann", "yes", "--reply-to", id, "--no-wait"], (24, 100));
    let said = ann.hear(|message| message["from"] == "human").await;
    assert_eq!((&said["content"], &said["reply_to"]), (&json!("yes"), &json!(id)));
    ann.close().await;
}
