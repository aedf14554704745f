//! Agents that write garbage, die, or hang: the connection survives or ends with the reason, and no request waits for ever.

use super::fake::{Fake, connected, in_session, next, soon, waiting};
use crate::acp::{
    AcpError, AgentEvents, ConnectOptions, Connection, Ending, LineCounts, SessionInfo,
};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

async fn with(options: ConnectOptions) -> (Connection, AgentEvents, Fake, SessionInfo) {
    in_session(options, json!({}), json!({})).await
}

/// Writes hostile bytes, then checks that the agent's messages still arrive, that it got no answer, and the counts besides the two lines
/// of the start and the line of the check.
async fn check(bytes: &[u8], expected: LineCounts, heard: &[&str]) {
    let options = ConnectOptions { longest_line: 100_000, ..ConnectOptions::default() };
    let (connection, mut events, mut fake, session) = with(options).await;
    fake.write_bytes(bytes).await;
    let answer = json!({"stopReason": "end_turn"});
    let outcome =
        fake.answering(connection.prompt(&session.id, "go"), "session/prompt", answer).await;
    outcome.expect("the connection lives");
    assert_eq!(waiting(&mut events), heard);
    assert_eq!(connection.line_counts(), LineCounts { lines: expected.lines + 3, ..expected });
}

#[tokio::test]
async fn noise_and_odd_objects_are_dropped_without_an_answer() {
    let noise = b"plain text\n\x1b[32mgreen\x1b[0m\n\n[1,2]\n\"s\"\n42\n{\"broken\":\n{}\n{\"level\":\"info\",\"msg\":\"hi\"}\n\
        {\"jsonrpc\":\"1.0\",\"method\":\"session/update\"}\n{\"jsonrpc\":\"2.0\",\"method\":7}\n\
        [{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n";
    check(noise, LineCounts { noise: 11, ..LineCounts::default() }, &[]).await;
}

#[tokio::test]
async fn invalid_utf8_and_half_characters_are_replaced() {
    let line = |text: &[u8]| {
        let head = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""#;
        [head.as_slice(), text, b"\"}}}}\n"].concat()
    };
    check(
        &line(b"a\xff\xfeb"),
        LineCounts { lines: 1, lossy: 1, ..LineCounts::default() },
        &["a\u{fffd}\u{fffd}b"],
    )
    .await;
    check(
        &line(br"a\ud83d"),
        LineCounts { lines: 1, lossy: 1, ..LineCounts::default() },
        &["a\u{fffd}"],
    )
    .await;
}

#[tokio::test]
async fn a_line_over_the_cap_is_skipped() {
    let mut long = vec![b'{'; 500_000];
    long.push(b'\n');
    let (connection, mut events, mut fake, _) = {
        let options = ConnectOptions { longest_line: 100_000, ..ConnectOptions::default() };
        with(options).await
    };
    fake.write_bytes(&long).await;
    fake.say("after it").await;
    assert_eq!(next(&mut events).await, "after it");
    assert_eq!(connection.line_counts().oversize, 1);
}

#[tokio::test]
async fn a_response_without_a_request_and_a_malformed_update_do_no_harm() {
    let lines = b"{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"\"}}\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":[1]}\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}\n";
    check(lines, LineCounts { lines: 4, ..LineCounts::default() }, &["unknown ", "unknown "]).await;
}

#[tokio::test]
async fn notifications_before_the_hello_do_no_harm() {
    let (connection, _events, mut fake) = connected(4096, ConnectOptions::default()).await;
    fake.write(json!({"jsonrpc": "2.0", "method": "_auth/status_update", "params": {}})).await;
    let answer = json!({"protocolVersion": 1});
    fake.answering(connection.initialize(), "initialize", answer).await.expect("the agent agrees");
}

#[tokio::test]
async fn a_line_that_never_ends_does_not_fill_the_memory_and_its_request_meets_the_deadline() {
    tokio::time::pause();
    let options = ConnectOptions { longest_line: 1000, ..ConnectOptions::default() };
    let deadline = options.deadlines.session;
    let (connection, _events, mut fake, _) = with(options).await;
    let endless = tokio::spawn(async move {
        fake.read_method("session/new").await;
        for _ in 0..1000 {
            fake.stdout.write_all(&[b'{'; 1000]).await.expect("it is read and forgotten");
        }
        fake
    });
    let failed = connection.new_session(Path::new("/work"), &[]).await;
    assert!(
        matches!(&failed, Err(AcpError::Deadline { after, .. }) if *after == deadline),
        "{failed:?}"
    );
    let mut fake = endless.await.expect("all of it was taken");
    fake.write_bytes(b"\n").await;
    let cancelled = fake.read_method("$/cancel_request").await;
    assert!(
        cancelled["params"]["requestId"].is_string()
            || cancelled["params"]["requestId"].is_number()
    );
    fake.answering(
        connection.new_session(Path::new("/work"), &[]),
        "session/new",
        json!({"sessionId": "s"}),
    )
    .await
    .expect("the connection lives");
    assert_eq!(connection.line_counts().oversize, 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_answers_meets_the_deadline_of_each_request() {
    let options = ConnectOptions::default();
    let deadlines = options.deadlines;
    let (connection, _events, mut fake) = connected(4096, options.clone()).await;
    let failed = connection.initialize().await;
    assert!(
        matches!(&failed, Err(AcpError::Deadline { after, .. }) if *after == deadlines.initialize),
        "{failed:?}"
    );
    fake.read_method("initialize").await;

    let (connection, _events, _fake, session) = with(options).await;
    let failed = connection.set_model(&session, "m").await;
    assert!(
        matches!(&failed, Err(AcpError::Deadline { after, .. }) if *after == deadlines.setting),
        "{failed:?}"
    );
    // A prompt has no deadline of its own: a day later it still waits.
    let day = Duration::from_hours(24);
    tokio::time::timeout(day, connection.prompt(&session.id, "go"))
        .await
        .expect_err("the turn goes on");
}

#[tokio::test]
async fn an_agent_that_dies_fails_the_prompt_at_once_and_all_after_it() {
    let (connection, mut events, mut fake, session) = with(ConnectOptions::default()).await;
    let agent = async {
        fake.read_method("session/prompt").await;
        fake.say("last words").await;
        drop(fake);
    };
    let (failed, ()) =
        soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
    let closed = |method: &str, error: &AcpError| matches!(error, AcpError::Closed { method: failed, ending: Ending::AgentClosed } if failed == method);
    assert!(closed("session/prompt", failed.as_ref().expect_err("it died")), "{failed:?}");
    assert_eq!(soon(connection.closed()).await, Ending::AgentClosed);
    assert_eq!(waiting(&mut events), ["last words"]);
    assert!(soon(events.recv()).await.is_none());
    let late = soon(connection.prompt(&session.id, "go")).await.expect_err("it is gone");
    assert!(closed("session/prompt", &late), "{late:?}");
    let late = soon(connection.cancel(&session.id)).await.expect_err("it is gone");
    assert!(closed("session/cancel", &late), "{late:?}");
    soon(connection.ended()).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_read_its_stdin_ends_the_connection_with_that_reason() {
    let options =
        ConnectOptions { stdin_limit: Duration::from_secs(30), ..ConnectOptions::default() };
    let (connection, mut events, fake, session) = with(options).await;
    // More than the pipe holds.
    let long = "x".repeat(200_000);
    let failed = connection.prompt(&session.id, &long).await.expect_err("the agent does not read");
    let stalled = Ending::StdinStalled { after: Duration::from_secs(30) };
    assert!(matches!(&failed, AcpError::Closed { ending, .. } if *ending == stalled), "{failed:?}");
    assert!(failed.to_string().contains("agent stopped reading its stdin"), "{failed}");
    assert_eq!(connection.closed().await, stalled);
    assert!(events.recv().await.is_none());
    connection.ended().await;
    drop(fake);
}

#[tokio::test(start_paused = true)]
async fn shutdown_of_an_agent_that_does_not_read_takes_seconds_not_minutes() {
    let (connection, _events, fake, session) = with(ConnectOptions::default()).await;
    let waits = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.prompt(&session.id, &"x".repeat(200_000)).await })
    };
    tokio::task::yield_now().await;
    tokio::time::timeout(Duration::from_secs(5), connection.shutdown())
        .await
        .expect("it does not wait for the pipe");
    waits.await.expect("the prompt does not panic").expect_err("the connection is over");
    tokio::time::timeout(Duration::from_mins(1), connection.ended())
        .await
        .expect("the good-bye has an end");
    drop(fake);
}

/// Returns how often an agent could do something before it was blocked. The paused clock advances only when no task can run, so the time
/// is up only when everything stands still.
async fn done_before_blocking(done: &AtomicUsize, doing: impl Future<Output = ()>) -> usize {
    tokio::time::timeout(Duration::from_secs(1), doing).await.expect_err("it comes to a halt");
    done.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn an_unreceived_flood_blocks_the_agent_until_it_is_received() {
    const COUNT: usize = 10_000;
    const LIMIT: usize = 200_000;
    let options = ConnectOptions { events_limit: LIMIT, ..ConnectOptions::default() };
    let (connection, mut events, mut fake, _) = with(options).await;
    let written = AtomicUsize::new(0);
    let mut flood = Box::pin(async {
        for n in 0..COUNT {
            let id = n.to_string();
            fake.tell(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "x".repeat(100)})).await;
            written.fetch_add(1, Ordering::Relaxed);
        }
    });
    let before = done_before_blocking(&written, &mut flood).await;
    // The limit, the batch of one turn of the reader, its buffer and the pipe; a line has more than 200 bytes.
    let most = (LIMIT + 3 * 64 * 1024) / 200;
    assert!(before <= most, "{before} of at most {most} were written");
    let taking = async {
        for n in 0..COUNT {
            assert_eq!(next(&mut events).await, format!("call {n}"));
        }
    };
    soon(async { tokio::join!(flood, taking) }).await;
    assert_eq!(connection.line_counts().noise, 0);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_whose_answers_are_not_read_blocks_the_agent() {
    let (_connection, mut events, mut fake, _) = with(ConnectOptions::default()).await;
    let taking = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let asked = AtomicUsize::new(0);
    let flood = async {
        loop {
            fake.ask("x/unknown", json!({"a": "x".repeat(100)})).await;
            asked.fetch_add(1, Ordering::Relaxed);
        }
    };
    let asked = done_before_blocking(&asked, flood).await;
    // Pending answers, those in the pipe to the agent, and the requests in one batch, the buffer and the pipe to us.
    let most = 1024 + 64 * 1024 / 60 + 3 * 64 * 1024 / 150;
    assert!(asked <= most, "{asked} of at most {most} were asked");
    taking.abort();
}
