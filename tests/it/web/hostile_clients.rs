//! Clients that want to keep others out: a thousand event streams, slow heads and bodies, and connections that only stay open.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::api_client::ApiClient;
use super::gate::sign_in;
use super::http_client::{DEADLINE, WebServer, read_until};
use crate::support::{Stage, until};

/// As many event streams as a hostile page opens.
const STREAMS: usize = 1_000;

/// As many as the server has for pages.
const MOST_STREAMS: usize = 32;

/// More connections than the server has places.
const IDLE: usize = 110;

/// As many slow clients of each kind.
const SLOW: usize = 20;

#[tokio::test]
async fn a_thousand_event_streams_keep_nobody_out() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let web = WebServer::start(&stage, &[]).await;
    let browser = sign_in(&web).await;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{}\r\n",
        browser.at("live?view=conversation"),
        web.port,
        browser.cookie,
    );
    // With the bus that it reads.
    assert_eq!(web.get(&browser.base, &browser.cookie).await.status, 200);
    let before = web.open_files();
    let mut inside = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = web.open(&request).await;
        let head = read_until(&mut stream, "\r\n\r\n").await;
        if head.starts_with("HTTP/1.1 200 ") {
            inside.push(stream);
            continue;
        }
        assert!(head.starts_with("HTTP/1.1 503 ") || head.starts_with("HTTP/1.1 429 "), "{head}");
        assert!(head.to_lowercase().contains("retry-after: "), "{head}");
        let rest = read_until(&mut stream, "</html>").await;
        assert!(
            format!("{head}{rest}").contains("too many")
                || format!("{head}{rest}").contains("Too many"),
            "{head}{rest}"
        );
    }
    assert_eq!(inside.len(), MOST_STREAMS);
    lead.call("send_message", json!({ "to": "ann", "content": "all is well" })).await;
    for stream in &mut inside {
        let events = read_until(stream, "all is well").await;
        assert!(events.contains("all is well"), "{events}");
    }
    // So many requests have used up the rate of this browser, which comes back.
    let begun = Instant::now();
    while web.get(&browser.base, &browser.cookie).await.status != 200 {
        assert!(begun.elapsed() < DEADLINE, "it is never served again");
    }
    drop(inside);
    until("the files are closed", || web.open_files() <= before + 2).await;
    let mut again = web.open(&request).await;
    let head = read_until(&mut again, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    drop(again);
    web.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn slow_clients_lose_their_connection_and_others_are_served_meanwhile() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let browser = sign_in(&web).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let head = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Slow: ", web.port);
    let body = format!(
        "POST /api/v1/broadcast HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n{}\r\n",
        web.port, ci.bearer
    );
    let mut slow = JoinSet::new();
    for begin in [&head, &body] {
        for _ in 0..SLOW {
            let (mut reads, mut writes) = web.open(begin).await.into_split();
            slow.spawn(async move {
                let drip = async {
                    // A byte a second is what such a client is.
                    while writes.write_all(b" ").await.is_ok() {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                };
                let mut answer = Vec::new();
                let end = async { drop(reads.read_to_end(&mut answer).await) };
                tokio::select! { () = drip => {}, () = end => {} }
                String::from_utf8_lossy(&answer).into_owned()
            });
        }
    }
    for _ in 0..10 {
        assert_eq!(web.get(&browser.base, &browser.cookie).await.status, 200);
    }
    let answers = timeout(DEADLINE, slow.join_all()).await.expect("all of them are ended");
    let late = answers.iter().filter(|answer| answer.contains("too-slow")).count();
    assert_eq!(late, SLOW, "each slow body is told so: {answers:?}");
    assert_eq!(stage.events_of("message_sent").len(), 0);
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn connections_that_only_stay_open_give_their_place_to_new_ones() {
    let stage = Stage::new("");
    let web = WebServer::start(&stage, &[]).await;
    let browser = sign_in(&web).await;
    let mut idle = Vec::new();
    for number in 0..IDLE {
        // Half of them have begun a request that never ends.
        idle.push(web.open(if number % 2 == 0 { "" } else { "GET / HTTP/1.1\r\n" }).await);
    }
    for _ in 0..3 {
        assert_eq!(web.get(&browser.base, &browser.cookie).await.status, 200);
    }
    // The oldest has lost its place.
    assert_eq!(read_until(&mut idle[0], "nothing").await, "");
    web.end().await;
}
