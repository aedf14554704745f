//! Webhooks: each message of an address once, in order, whatever becomes of the target and of the bridge.

use std::sync::{Arc, Mutex};

use cli_team_bridge::sys::process::find_program;
use data_encoding::HEXLOWER;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Member, Stage, until};

/// One request: its head and its body.
type Request = (String, String);

/// A target that fails at first, and keeps the requests that it has accepted.
struct Target {
    url: String,
    accepted: Arc<Mutex<Vec<Request>>>,
    refused: Arc<Mutex<usize>>,
}

impl Target {
    /// Starts one that refuses as many requests.
    async fn failing(times: usize) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", server.local_addr().unwrap());
        let target = Self { url, accepted: Arc::default(), refused: Arc::default() };
        let (accepted, refused) = (target.accepted.clone(), target.refused.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = server.accept().await.unwrap();
                let request = request(&mut stream).await;
                let is_refused = *refused.lock().unwrap() < times;
                let status = if is_refused {
                    *refused.lock().unwrap() += 1;
                    "500 Internal Server Error"
                } else {
                    accepted.lock().unwrap().push(request);
                    "204 No Content"
                };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        target
    }

    fn accepted(&self) -> Vec<Request> {
        self.accepted.lock().unwrap().clone()
    }

    /// Returns the texts that it has accepted.
    fn texts(&self) -> Vec<String> {
        let accepted = self.accepted().into_iter();
        let text = |body: String| -> Value { serde_json::from_str(&body).unwrap() };
        accepted.map(|(_, body)| text(body)["text"].as_str().unwrap().to_owned()).collect()
    }

    async fn until_accepted(&self, count: usize) {
        until("the messages arrive", || self.accepted().len() >= count).await;
    }
}

/// Reads a request whose body has a length.
async fn request(stream: &mut TcpStream) -> Request {
    let mut request = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "{request:?}");
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        if body.len() >= length.unwrap().parse().unwrap() {
            return (head.to_owned(), body.to_owned());
        }
    }
}

fn stage(url: &str, notify: &str) -> Stage {
    let settings = format!(
        "[limits]\nmessages_per_minute = 0\n{notify}\n\
         [webhooks.ci]\nurl = \"{url}\"\nto = \"#builds\"\nsecret_env = \"HOOK_KEY\"\n"
    );
    Stage::new("").with_profiles(&settings).with_variable("HOOK_KEY", "key")
}

/// A member that follows the topic.
async fn follower(stage: &Stage) -> Member {
    let (child, pipes) = stage.start(&["peer", "--name", "ann", "--topic", "builds"]).await;
    let ann = Member::connect(child, pipes).await;
    ann.names().await;
    ann
}

fn has_curl() -> bool {
    let found = find_program("curl".as_ref(), std::env::var_os("PATH").as_deref());
    if found.is_none() {
        println!("curl is not installed, so webhooks are not tried");
    }
    found.is_some()
}

#[tokio::test]
async fn a_target_that_fails_thrice_gets_each_message_once_and_so_it_does_after_a_restart() {
    if !has_curl() {
        return;
    }
    let target = Target::failing(3).await;
    let stage = stage(&target.url, "[notify]\ntexts = true");
    let lead = stage.orchestrator().await;
    let ann = follower(&stage).await;
    lead.send("#builds", "one").await;
    lead.send("ann", "not for it").await;
    lead.send("#Builds", "two \"quoted\"\nlines").await;
    target.until_accepted(2).await;
    assert_eq!(target.texts(), ["one", "two \"quoted\"\nlines"]);
    assert_eq!(*target.refused.lock().unwrap(), 3);

    let (head, body) = target.accepted().swap_remove(0);
    let message: Value = serde_json::from_str(&body).unwrap();
    let expected =
        [("from", "orchestrator"), ("to", "#builds"), ("type", "message"), ("project", "project")];
    for (field, expected) in expected {
        assert_eq!(message[field], expected, "{body}");
    }
    let id = message["id"].as_str().unwrap();
    for line in [format!("Idempotency-Key: {id}"), "Content-Type: application/json".to_owned()] {
        assert!(head.lines().any(|found| found == line), "{head}");
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(b"key").unwrap();
    mac.update(body.as_bytes());
    let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
    let signed = format!("X-Hub-Signature-256: sha256={signature}");
    assert!(head.lines().any(|line| line == signed), "{head}");

    // What comes while nobody leads waits for the next who does.
    until("it is recorded", || stage.events_of("webhook_sent").len() == 3).await;
    let bob = stage.peer("bob").await;
    lead.die().await;
    bob.send("#builds", "three").await;
    let lead = stage.orchestrator().await;
    target.until_accepted(3).await;
    bob.send("#builds", "four").await;
    target.until_accepted(4).await;
    assert_eq!(target.texts()[2..], ["three", "four"]);
    for member in [bob, ann, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn two_bridges_send_each_message_once_and_without_its_text_unless_the_user_wants_it() {
    if !has_curl() {
        return;
    }
    let target = Target::failing(0).await;
    let stage = stage(&target.url, "");
    let (first, second) = (stage.orchestrator().await, stage.orchestrator().await);
    let ann = follower(&stage).await;
    for number in 0..4 {
        second.send("#builds", &format!("secret {number}")).await;
    }
    target.until_accepted(4).await;
    // What a bridge has sent and not recorded yet when it ends, the next one sends again.
    until("they are recorded", || stage.events_of("webhook_sent").len() == 5).await;
    first.close().await;
    ann.names().await;
    second.send("#builds", "the last secret").await;
    target.until_accepted(5).await;
    let accepted = target.accepted();
    assert!(accepted.iter().all(|(_, body)| !body.contains("secret")), "{accepted:?}");
    let ids: std::collections::BTreeSet<_> = accepted.iter().map(|(_, body)| body).collect();
    assert_eq!(ids.len(), accepted.len());
    assert_eq!(accepted.len(), 5);
    ann.close().await;
    second.close().await;
}

#[tokio::test]
async fn a_dead_target_is_one_warning_and_delays_nobody() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    drop(server);
    let stage = stage(&url, "");
    let lead = stage.orchestrator().await;
    let ann = follower(&stage).await;
    lead.send("#builds", "one").await;
    assert_eq!(ann.hear_from("orchestrator").await, "one");
    lead.send("#builds", "two").await;
    assert_eq!(ann.hear_from("orchestrator").await, "two");
    let warning =
        "the messages to #builds are not passed on ([webhooks.ci]), and wait until they can be: ";
    until("the warning", || lead.stderr().contains(warning)).await;
    assert_eq!(lead.stderr().matches("not passed on").count(), 1, "{}", lead.stderr());
    ann.close().await;
    lead.close().await;
}
