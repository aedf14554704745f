//! A question to an agent is answered in its thread: the agent is shown how to answer, and its answer settles the question.

use serde_json::{Value, json};

use crate::agent_kinds::Kind;
use crate::model::Rule;
use crate::real_project::Scene;

/// The words before the id of the message to answer, in what an agent is shown of a question.
const ANSWER_TO: &str = "with reply_to ";

/// Returns the id that a question names for its answer.
fn asked(text: &str) -> &str {
    let (_, rest) = text.rsplit_once(ANSWER_TO).unwrap_or_default();
    rest.split(']').next().unwrap_or_default()
}

/// A peer asks an idle agent, whose model answers the message that it was shown.
pub(crate) async fn answers_in_its_thread(kind: &'static Kind) {
    let scene = Scene::new(
        &[kind],
        vec![
            Rule::result("msg-").says("I have answered."),
            Rule::user("which port is free").calls_with("send_message", |text| {
                json!({
                    "to": "asker", "content": "port 4716", "reply_to": asked(text), "signal": "answer",
                })
            }),
            Rule::user("say hello").says("hello"),
        ],
    )
    .await;
    let asker = scene.stage.peer("asker").await;
    let hello = scene.start(kind, "say hello").await;
    scene.done(&hello).await;
    scene.lead.until_idle(kind.name).await;
    let question = json!({
        "to": kind.name, "content": "which port is free", "signal": "question", "wait_seconds": 120,
    });
    let told = asker.call("send_message", question).await;
    let (id, reply) = (&told["message_id"], &told["reply"]);
    assert_eq!(reply["content"], "port 4716", "{told}\n{}", scene.shown_to_models());
    assert_eq!(
        (&reply["reply_to"], &reply["thread_id"], &reply["signal"]),
        (id, id, &json!("answer")),
        "{told}"
    );
    scene.lead.until_idle(kind.name).await;

    // The question is settled: its receipt names the answer, and nobody was reminded of it.
    let read = asker.call("check_messages", json!({ "id": id })).await;
    let receipt = &read["receipts"][0];
    assert_eq!(
        (&receipt["name"], &receipt["state"]),
        (&json!(kind.name), &json!("seen")),
        "{read}"
    );
    assert_eq!(receipt["answer"], reply["id"], "{read}");
    assert_eq!(scene.stage.events_of("message_reminded"), Vec::<Value>::new());
    let project = scene.stage.project().to_str().unwrap();
    let trace = ["trace", id.as_str().unwrap(), "--json", "--project", project];
    let (_, trace) = scene.stage.ended(&trace, None).await;
    let trace: Value = serde_json::from_str(&trace).unwrap_or_else(|_| panic!("{trace}"));
    let nodes: Vec<_> = trace["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
    assert_eq!(nodes, [id, &reply["id"]], "{trace}");
    let edge = json!({ "from": id, "to": reply["id"], "type": "response" });
    assert!(trace["edges"].as_array().unwrap().contains(&edge), "{trace}");
    asker.close().await;
    scene.end().await;
}
