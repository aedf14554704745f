//! Texts that come into a running turn.

use super::*;

impl RawClient {
    async fn steer(&mut self, id: &str, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        let meta = json!({"steering": {"idleBehavior": "promptRequired"}});
        let params = json!({"sessionId": "session-1", "prompt": prompt, "_meta": meta});
        self.send(id, "_session/steering", params).await;
    }
}

async fn steered(how: &str) -> RawClient {
    let turns = "[{ steps = [{ heed_ms = 10000, save = 'it' }, { say = '{{it.text}}' }] }]";
    let script = format!("[agents.default]\nstart = {{ steering = '{how}' }}\nturns = {turns}");
    let mut client = RawClient::start(&script, None);
    let answer = client.initialize().await;
    assert_eq!(answer["_meta"]["steering"]["supported"], true);
    client.open(json!([])).await;
    client
}

#[tokio::test]
async fn a_steered_text_gets_into_a_turn_and_between_turns_a_prompt_is_required() {
    let mut client = steered("inject").await;
    client.steer("early", "one").await;
    assert_eq!(client.answer("early").await["outcome"], "promptRequired");
    client.prompt("p", "work").await;
    client.steer("s", "two").await;
    assert_eq!(client.answer("s").await["outcome"], "injected");
    assert_eq!(client.said("p").await.0, "two");
}

#[tokio::test]
async fn an_agent_steers_as_badly_as_its_script_says() {
    for (how, expected) in [("empty", json!({})), ("no_turn", json!({"outcome": "promptRequired"}))]
    {
        let mut client = steered(how).await;
        client.prompt("p", "work").await;
        client.steer("s", "two").await;
        assert_eq!(client.answer("s").await, expected, "{how}");
        client.cancel().await;
    }
    let mut client = steered("refuse").await;
    client.steer("s", "two").await;
    assert_eq!(client.answer("s").await["code"], -32603);
    // The unanswered request does not block the answer to a later one.
    let mut client = steered("silent").await;
    client.steer("s", "two").await;
    client.prompt("p", "work").await;
    client.cancel().await;
    assert_eq!(client.answer("p").await["stopReason"], "cancelled");
}

#[tokio::test]
async fn an_agent_without_steering_does_not_advertise_it() {
    let mut client = RawClient::start("[agents.default]", None);
    assert_eq!(client.initialize().await["_meta"], Value::Null);
    client.open(json!([])).await;
    client.steer("s", "two").await;
    assert_eq!(client.answer("s").await["code"], -32601);
}
