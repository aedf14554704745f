//! `watch`: it prints one line per message, as it comes, and nothing else; and how it ends.

use cli_team_bridge::supervisor::Supervised;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::ChildStdout;

use super::hook::{context, hook};
use crate::support::{DEADLINE, Stage, Terminal, of_name, until};

/// An agent that does a task at once.
const SCRIPT: &str = r#"
[[agents.default.turns]]
steps = [{ say = "All done." }]
"#;

/// A running `watch`.
struct Watch {
    child: Supervised,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    async fn start(stage: &Stage, more: &[&str]) -> Self {
        let mut arguments = vec!["watch"];
        arguments.extend(more);
        let (child, pipes) = stage.start(&arguments).await;
        Self { child, lines: BufReader::new(pipes.stdout).lines() }
    }

    /// Waits for a line.
    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
        let line = line.expect("a line comes").unwrap();
        line.unwrap_or_else(|| panic!("it ended: {}", self.child.stderr_tail()))
    }

    /// Ends it by a signal, and checks that it printed nothing else and exits with 0.
    async fn end(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.pid()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        assert_eq!(self.lines.next_line().await.unwrap(), None);
        self.ended().await;
    }

    async fn ended(&self) {
        let exit = tokio::time::timeout(DEADLINE, self.child.exited()).await;
        let exit = exit.expect("it ends");
        assert_eq!(exit.code, Some(0), "{exit}");
        assert_eq!(self.child.stderr_tail(), "");
    }
}

#[tokio::test]
async fn each_message_is_one_short_line_as_it_comes_and_stays_unread() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let mut watch = Watch::start(&stage, &[]).await;

    let first = ann.send("orchestrator", "Look at\n\"server.rs\"\nplease").await;
    let id = first["message_id"].as_str().unwrap();
    let expected =
        format!("[ann → you] message {id}: \"Look at 'server.rs' please\" (call check_messages)");
    assert_eq!(watch.line().await, expected);

    ann.send("orchestrator", &"long words ".repeat(20_000)).await;
    let line = watch.line().await;
    assert_eq!(line.chars().count(), 300, "{line}");
    assert!(line.ends_with("…\" (call check_messages)"), "{line}");

    let request = json!({ "description": "Who has time?" });
    ann.call("request_task", request).await;
    let line = watch.line().await;
    assert!(line.starts_with("[ann → all] request msg-"), "{line}");

    assert_eq!(stage.events_of("message_handed").len(), 0);
    assert_eq!(lead.all_heard().await.len(), 3);
    watch.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn at_a_terminal_it_says_what_it_is_whom_it_watches_and_how_to_end_it() {
    let stage = Stage::new(SCRIPT);
    let mut terminal = Terminal::run(&stage, &["watch"], (24, 200));
    terminal.until_shows("No orchestrator leads this project now; waiting for one.").await;
    let screen = terminal.screen();
    let what = format!("one line for each new message in {:?}", stage.project());
    assert!(screen.contains(&what) && screen.contains("Ctrl-C ends it."), "{screen}");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    terminal.until_shows("Watching for messages to `orchestrator`.").await;
    ann.send("orchestrator", "hello").await;
    terminal.until_shows("[ann → you]").await;
    assert_eq!(terminal.screen().matches("Watching for").count(), 1, "{}", terminal.screen());
    // What Ctrl-C sends.
    terminal.signal(Signal::SIGINT);
    assert_eq!(terminal.ended("[ann → you]").await, Some(0));

    let mut terminal = Terminal::run(&stage, &["watch", "--name", "ann"], (24, 200));
    terminal.until_shows("Watching for messages to `ann`.").await;
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.ended("`ann`.").await, Some(0));
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_finished_task_is_reported() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let mut watch = Watch::start(&stage, &[]).await;
    let task = lead.start("worker", "Do it").await;
    let line = watch.line().await;
    assert!(line.starts_with("[bridge → you] notice msg-"), "{line}");
    assert!(line.contains(&task) && line.contains("All done."), "{line}");
    watch.end().await;
    lead.close().await;
}

#[tokio::test]
async fn earlier_messages_are_one_line() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let first = ann.send("orchestrator", "one").await;
    ann.send("orchestrator", "two").await;
    ann.send("orchestrator", "three").await;

    let mut watch = Watch::start(&stage, &[]).await;
    let id = first["message_id"].as_str().unwrap();
    let expected = format!("3 unread messages, the oldest {id} from ann (call check_messages)");
    assert_eq!(watch.line().await, expected);
    ann.send("orchestrator", "four").await;
    assert!(watch.line().await.contains("\"four\""));
    watch.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_result_that_an_earlier_session_got_is_not_reported_to_the_next() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let task = json!({ "agent": "scripted", "name": "worker", "prompt": "work", "wait": true });
    let done = lead.call("assign_task", task).await;
    assert_eq!(done["output"], "All done.", "{done}");
    lead.close().await;
    let next = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "the news").await;
    let mut watch = Watch::start(&stage, &[]).await;
    let line = watch.line().await;
    assert!(line.starts_with("[ann → you] message "), "{line}");
    watch.end().await;
    next.close().await;
    ann.close().await;
}

#[tokio::test]
async fn a_message_that_a_wait_gets_at_once_is_not_printed() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let mut watch = Watch::start(&stage, &[]).await;
    let waiting = lead.call("wait_for_message", json!({ "timeout_seconds": 30 }));
    let sending = async {
        let waits = |all: &Value| of_name(all, "orchestrator").unwrap()["status"] == "waiting";
        ann.until("list_agents", json!({}), waits).await;
        ann.send("orchestrator", "for the wait").await
    };
    let (waited, _) = tokio::join!(waiting, sending);
    assert_eq!(waited["message"]["content"], "for the wait");
    ann.send("orchestrator", "for the bell").await;
    assert!(watch.line().await.contains("for the bell"));
    watch.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn what_a_hook_takes_as_it_comes_is_told_by_the_hook_alone() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    let mut watch = Watch::start(&stage, &[]).await;
    ann.send("orchestrator", "first").await;
    assert!(watch.line().await.contains("first"));
    assert!(hook.on("PostToolUse").await.is_some());
    for number in 1..=6 {
        // The client runs its hook in the moment in which the message comes, and until the hook has it.
        let told = async {
            loop {
                if let Some(answer) = hook.on("PostToolUse").await {
                    return context(&answer, "PostToolUse");
                }
            }
        };
        let text = format!("race {number}");
        let (told, _) = tokio::join!(told, ann.send("orchestrator", &text));
        assert!(told.contains(&text), "{told}");
    }
    ann.send("orchestrator", "last").await;
    let line = watch.line().await;
    assert!(line.contains("last"), "the hook had told it: {line}");
    watch.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_missing_bus_is_waited_for_and_not_created() {
    let stage = Stage::new(SCRIPT);
    let mut watch = Watch::start(&stage, &["--name", "ann"]).await;
    let mut other = Watch::start(&stage, &[]).await;
    let looked = async {
        // A watch that sleeps has looked for the bus.
        until("the watch sleeps", || is_asleep(watch.child.pid())).await;
    };
    looked.await;
    assert!(!stage.bus().exists());

    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    lead.send("ann", "hello").await;
    assert!(watch.line().await.contains("[orchestrator → you]"));
    ann.send("orchestrator", "hello").await;
    assert!(other.line().await.contains("[ann → you]"));
    watch.end().await;
    other.end().await;
    ann.close().await;
    lead.close().await;
}

/// Says whether a process sleeps: `S` in the third field of its `stat`, after a name without spaces.
fn is_asleep(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.split(' ').nth(2) == Some("S") && stat.contains("(cli-team-bridge)")
}

#[tokio::test]
async fn a_bus_that_was_removed_is_followed_by_the_next_one() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let mut watch = Watch::start(&stage, &["--name", "orchestrator"]).await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "before").await;
    assert!(watch.line().await.contains("before"));
    lead.close().await;
    ann.close().await;
    std::fs::remove_dir_all(stage.bus()).unwrap();

    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "after").await;
    assert!(watch.line().await.contains("after"));
    watch.end().await;
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn it_ends_when_its_reader_is_gone_even_without_a_message() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let Watch { child, lines } = Watch::start(&stage, &[]).await;
    drop(lines);
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await;
    let exit = exit.expect("it ends");
    assert_eq!(exit.code, Some(0), "{exit}");
    lead.close().await;

    let without_bus = Stage::new(SCRIPT);
    let Watch { child, lines } = Watch::start(&without_bus, &[]).await;
    drop(lines);
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await;
    assert_eq!(exit.expect("it ends").code, Some(0));
}
