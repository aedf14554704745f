//! The third specification: a proposal to a role, a word to a topic, a question whose sender waits, and a disagreement that the user
//! decides.

use serde_json::json;

use super::kept_trace::{assert_kept, peer, read_all, text_of, traced};
use crate::support::Stage;

#[tokio::test]
async fn a_proposal_goes_to_a_role_is_asked_about_and_the_disagreement_ends_at_the_user() {
    let stage = Stage::new("");
    let ann = peer(&stage, &["--name", "ann"]).await;
    let ben = peer(&stage, &["--name", "ben", "--role", "reviewer"]).await;
    let cay = peer(&stage, &["--name", "cay", "--topic", "storage"]).await;
    let proposed = json!({
        "to": "@reviewers", "content": "One log for everything.", "signal": "propose_approach",
    });
    let proposed = ann.call("send_message", proposed).await;
    assert_eq!(proposed["recipients"][0]["name"], "ben", "{proposed}");
    let first = text_of(&proposed, "message_id");
    let finding = json!({
        "to": "#storage", "content": "A log is ten times as fast.", "signal": "share_finding",
        "reply_to": first, "priority": "high",
    });
    ann.call("send_message", finding).await;
    read_all(&stage, &[&ann, &ben, &cay]).await;

    let question = json!({
        "to": "ben", "content": "Which reader is in your way?", "signal": "request_clarification",
        "reply_to": first, "wait_seconds": 60,
    });
    let answering = async {
        let asked = ben.hear(|message| message["signal"] == "request_clarification").await;
        let id = asked["id"].as_str().or(asked["message_id"].as_str()).unwrap();
        let answer = json!({
            "to": "ann", "content": "The one that needs a queue.",
            "signal": "provide_clarification", "reply_to": id,
        });
        ben.call("send_message", answer).await;
    };
    let (answered, ()) = tokio::join!(ann.call("send_message", question), answering);
    assert_eq!(answered["reply"]["content"], "The one that needs a queue.", "{answered}");

    // Three rounds, and nobody is an architect.
    let mut last = first.clone();
    for (from, to, signal, content) in [
        (&ben, "ann", "disagree_with", "A queue for each."),
        (&ann, "ben", "challenge_approach", "Who keeps them in step?"),
        (&ben, "ann", "disagree_with", "The leader does."),
        (&ann, "ben", "disagree_with", "It may be gone."),
        (&ben, "ann", "disagree_with", "Then the next one."),
        (&ann, "ben", "disagree_with", "One log needs none."),
    ] {
        let position = json!({ "to": to, "content": content, "signal": signal, "reply_to": last });
        last = text_of(&from.call("send_message", position).await, "message_id");
    }
    let project = stage.project().to_str().unwrap();
    let decision = ["send", "ben", "One log.", "--reply-to", &last, "--project", project];
    let (exit, said) = stage.ended(&decision, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    read_all(&stage, &[&ann, &ben, &cay]).await;

    assert_kept("decided_by_user.txt", &[traced(&stage, &[&first]).await]);
    for member in [ann, ben, cay] {
        member.close().await;
    }
}
