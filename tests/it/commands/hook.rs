//! `hook`: the messages that it puts into a session, the member that it acts for, and that it never fails the session.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::{DEADLINE, Stage, until};

/// The output of one run of the hook.
#[derive(Debug)]
struct Answer {
    stdout: String,
    stderr: String,
}

/// A run of the hook in a stage's project, as a client runs it.
pub(super) struct Hook<'a> {
    stage: &'a Stage,
    /// The words of the programs through which it is started.
    started_by: &'a [&'a str],
    arguments: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
}

impl Hook<'_> {
    /// Runs the hook with an input, and returns its answer. It exits with 0 whatever the input.
    async fn answer_to(&self, input: &str) -> Answer {
        let words = self.started_by.iter().copied();
        let mut words = words.chain([env!("CARGO_BIN_EXE_cli-team-bridge"), "hook"]);
        let program = words.next().expect("the hook itself is one");
        let mut child = Command::new(program)
            .args(words)
            .args(self.arguments)
            .env_clear()
            .env("HOME", self.stage.home())
            .env("CLAUDE_PROJECT_DIR", self.stage.project())
            .envs(self.variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // It may have ended without reading.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = tokio::time::timeout(DEADLINE, child.wait_with_output()).await;
        let output = output.expect("it ends").unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        Answer {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the hook for an event, expects no error, and returns its answer if there is one.
    pub(super) async fn on(&self, event: &str) -> Option<Value> {
        let input = json!({ "session_id": "x", "cwd": "y", "hook_event_name": event });
        self.on_input(&input).await
    }

    async fn on_input(&self, input: &Value) -> Option<Value> {
        let answer = self.answer_to(&input.to_string()).await;
        assert_eq!(answer.stderr, "");
        (!answer.stdout.is_empty()).then(|| serde_json::from_str(&answer.stdout).unwrap())
    }
}

pub(super) fn hook(stage: &Stage) -> Hook<'_> {
    Hook { stage, started_by: &[], arguments: &[], variables: &[] }
}

/// Returns the text that is added to a tool's result or a prompt.
pub(super) fn context(answer: &Value, event: &str) -> String {
    let specific = &answer["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], event, "{answer}");
    specific["additionalContext"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn unread_messages_go_into_the_session_once_and_its_next_stop_proves_them() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    assert_eq!(hook.on("PostToolUse").await, None);

    ann.send("orchestrator", "Found it.\nIn server.rs").await;
    let answer = hook.on("PostToolUse").await.unwrap();
    let added = context(&answer, "PostToolUse");
    let mut sent = stage.events_of("message_sent").into_iter();
    let sent = sent.find(|sent| sent["from"] == "ann").unwrap();
    let id = sent["id"].as_str().unwrap();
    let expected =
        format!("--- Messages from other agents ---\n{id} [ann → you] Found it.\n  In server.rs\n");
    assert!(added.starts_with(&expected), "{added}");
    assert_eq!(stage.events_of("message_seen").len(), 0);
    assert_eq!(stage.events_of("message_handed")[0]["way"], "hook");

    assert_eq!(hook.on("Stop").await, None);
    assert_eq!(stage.events_of("message_seen").len(), 1);
    assert_eq!(hook.on("UserPromptSubmit").await, None);
    assert_eq!(stage.events_of("message_seen").len(), 1);
    assert_eq!(lead.all_heard().await, Vec::<Value>::new());
    ann.close().await;
    lead.close().await;
}

/// The tools of one step may run one after the other, before the model sees any result: a call of the same step proves nothing.
/// A client that ends with its model's turn makes no later call.
#[tokio::test]
async fn a_stop_does_not_prove_what_tools_have_answered_and_such_mail_comes_again() {
    let stage = Stage::new("");
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    let lead = stage.orchestrator().await;
    ann.send("orchestrator", "the news").await;
    let read = lead.call("check_messages", json!({})).await;
    assert!(read["messages"][0].get("again").is_none(), "{read}");
    // The turn may have been interrupted before, and this be the stop of another one.
    for event in ["PostToolUse", "UserPromptSubmit", "Stop"] {
        assert_eq!(hook.on(event).await, None);
    }
    assert_eq!(stage.events_of("message_seen").len(), 0);
    lead.close().await;
    let next = stage.orchestrator().await;
    let heard = next.all_heard().await;
    let [message] = heard.as_slice() else { panic!("the message was not proven: {heard:?}") };
    assert_eq!((&message["content"], &message["again"]), (&json!("the news"), &json!(true)));
    next.close().await;
    ann.close().await;
}

/// A session that ends with its turn, such as one of `claude -p`, has no later call that would prove its last answer. The next one is not
/// told of a task whose result is there already, unless it asks.
#[tokio::test]
async fn a_notice_of_a_result_that_an_earlier_session_got_comes_only_with_an_answer_of_a_tool() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ say = \"it is done\" }]\n");
    let hook = hook(&stage);
    // Several such notices are not joined into one that would be new.
    for name in ["worker", "second", "third"] {
        let lead = stage.orchestrator().await;
        assert_eq!(hook.on("UserPromptSubmit").await, None, "{name}");
        let task = json!({ "agent": "scripted", "name": name, "prompt": "work", "wait": true });
        let done = lead.call("assign_task", task).await;
        assert_eq!(done["output"], "it is done", "{done}");
        assert_eq!(hook.on("PostToolUse").await, None);
        assert_eq!(hook.on("Stop").await, None);
        lead.close().await;
    }

    let next = stage.orchestrator().await;
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        assert_eq!(hook.on(event).await, None, "{event}");
    }
    // A message of a member is never left out.
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "the news").await;
    let answer = hook.on("PostToolUse").await.unwrap();
    assert!(context(&answer, "PostToolUse").contains("the news"), "{answer}");
    next.close().await;
    ann.close().await;
}

/// A client may leave a conversation for another one, such as with `/clear`.
#[tokio::test]
async fn another_conversation_of_the_same_client_proves_nothing() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    ann.send("orchestrator", "Found it.").await;
    assert!(hook.on("PostToolUse").await.is_some());
    for event in ["UserPromptSubmit", "Stop"] {
        let other = json!({ "session_id": "another", "hook_event_name": event });
        assert_eq!(hook.on_input(&other).await, None);
        assert_eq!(stage.events_of("message_seen").len(), 0, "{event}");
    }
    assert_eq!(hook.on("Stop").await, None);
    assert_eq!(stage.events_of("message_seen").len(), 1);
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn below_an_agent_a_hook_acts_for_nobody_whatever_its_name() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "for your eyes").await;
    let arguments = &["--name", "orchestrator"];
    let below = Hook { arguments, variables: &[("BRIDGE_RUN", "x")], ..hook(&stage) };
    for event in ["PostToolUse", "UserPromptSubmit", "Stop"] {
        assert_eq!(below.on(event).await, None);
    }
    assert_eq!(stage.events_of("message_handed").len(), 0);
    assert!(Hook { arguments, ..hook(&stage) }.on("PostToolUse").await.is_some());
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn no_hook_or_call_of_the_same_step_proves_the_messages_of_a_hook() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    let seen = || stage.events_of("message_seen").len();
    for (proof, number) in [("UserPromptSubmit", 1), ("Stop", 2)] {
        ann.send("orchestrator", &format!("hello {number}")).await;
        let answer = hook.on("PostToolUse").await.unwrap();
        assert!(context(&answer, "PostToolUse").contains("hello"));
        assert_eq!(hook.on("PostToolUse").await, None);
        lead.call("list_agents", json!({})).await;
        lead.call("list_agents", json!({})).await;
        assert_eq!(seen(), number - 1, "before {proof}");
        assert_eq!(hook.on(proof).await, None);
        assert_eq!(seen(), number, "after {proof}");
    }
    assert_eq!(lead.all_heard().await, Vec::<Value>::new());
    ann.close().await;
    lead.close().await;
}

/// Who cancels a prompt at once takes it back, with what a hook has added to it, and Claude Code tells no hook.
#[tokio::test]
async fn a_prompt_that_may_be_taken_back_carries_no_message() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "news").await;
    for _ in 0..2 {
        let answer = hook(&stage).on("UserPromptSubmit").await.unwrap();
        let notice = "You have 1 unread message from your team. Call check_messages now.";
        assert_eq!(context(&answer, "UserPromptSubmit"), notice);
    }
    assert_eq!(stage.events_of("message_seen").len(), 0);
    assert_eq!(lead.all_heard().await.len(), 1);
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_stop_is_put_off_once() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let hook = hook(&stage);
    ann.send("orchestrator", "first").await;
    let answer = hook.on("Stop").await.unwrap();
    assert_eq!(answer["decision"], "block");
    assert!(answer["reason"].as_str().unwrap().contains("[ann → you] first"));

    ann.send("orchestrator", "second").await;
    let again = json!({ "hook_event_name": "Stop", "stop_hook_active": true });
    assert_eq!(hook.on_input(&again).await, None);
    let heard = lead.all_heard().await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["content"], "second");
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn messages_beyond_the_limit_of_one_hook_are_left_to_the_next() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    for number in 0..12 {
        ann.send("orchestrator", &format!("number {number}")).await;
    }
    ann.send("orchestrator", &"\"long\"\n".repeat(3_000)).await;
    let hook = hook(&stage);
    let first = context(&hook.on("PostToolUse").await.unwrap(), "PostToolUse");
    assert!(first.contains("number 9\n3 more: call check_messages"), "{first}");
    let second = context(&hook.on("PostToolUse").await.unwrap(), "PostToolUse");
    assert!(second.contains("number 10") && second.contains("number 11"));
    // Above 10,000 characters Claude Code shows a part.
    assert!(second.len() < 10_000, "{} bytes", second.len());
    let third = context(&hook.on("PostToolUse").await.unwrap(), "PostToolUse");
    assert!(third.contains("check_messages with id msg-"), "{third}");
    assert!(third.len() < 10_000, "{} bytes", third.len());
    assert_eq!(hook.on("PostToolUse").await, None);
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn no_error_of_the_hook_fails_a_session() {
    let stage = Stage::new("");
    let hook = hook(&stage);
    assert_eq!(hook.on("PostToolUse").await, None);
    assert!(!stage.bus().exists(), "it makes no bus");

    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "hello").await;
    assert_eq!(hook.on("SessionStart").await, None);
    for input in ["", "no json", "[1]", "{}"] {
        let answer = hook.answer_to(input).await;
        assert_eq!(answer.stdout, "");
        assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    }
    // Hooks for all sessions of a user also run where no project can be.
    let home = stage.home().to_str().unwrap();
    let at_home = Hook { variables: &[("CLAUDE_PROJECT_DIR", home)], ..hook };
    assert_eq!(at_home.on("PostToolUse").await, None);
    let wrong = Hook { arguments: &["--nonsense"], ..hook };
    let answer = wrong.answer_to("{}").await;
    assert_eq!(answer.stdout, "");
    assert!(answer.stderr.contains("--nonsense"), "{}", answer.stderr);
    let (identity, input) =
        (stage.bus().join("bus.json"), json!({ "hook_event_name": "PostToolUse" }).to_string());
    let whole = std::fs::read(&identity).unwrap();
    std::fs::write(&identity, "damaged").unwrap();
    let answer = hook.answer_to(&input).await;
    assert_eq!(answer.stdout, "");
    assert!(answer.stderr.contains("is damaged"), "{}", answer.stderr);
    std::fs::write(&identity, whole).unwrap();
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn neither_subagents_nor_agents_are_given_their_leaders_messages() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "for the leader alone").await;
    let of_subagent = json!({ "hook_event_name": "PostToolUse", "agent_id": "a1" });
    assert_eq!(hook(&stage).on_input(&of_subagent).await, None);
    let in_agent = Hook { variables: &[("BRIDGE_RUN", "some-session")], ..hook(&stage) };
    assert_eq!(in_agent.on("PostToolUse").await, None);
    assert_eq!(lead.all_heard().await.len(), 1);
    ann.close().await;
    lead.close().await;
}

/// What their hooks add may be lost unnoticed, so nothing may count as delivered.
#[tokio::test]
async fn in_qwen_code_and_gemini_cli_messages_are_announced_and_stay_unread() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let project = stage.project().to_str().unwrap();
    let in_qwen = Hook { variables: &[("QWEN_PROJECT_DIR", project)], ..hook(&stage) };
    let in_gemini = hook(&stage);
    assert_eq!(in_qwen.on("PostToolBatch").await, None);
    assert_eq!(in_gemini.on("AfterAgent").await, None);

    ann.send("orchestrator", "news").await;
    ann.send("orchestrator", "more news").await;
    let notice = "You have 2 unread messages from your team. Call check_messages now.";
    for _ in 0..2 {
        let answer = in_qwen.on("PostToolBatch").await.unwrap();
        assert_eq!(context(&answer, "PostToolBatch"), notice);
    }
    let goes_on = json!({ "decision": "block", "reason": notice });
    for (hook, stop) in [(&in_qwen, "Stop"), (&in_gemini, "AfterAgent")] {
        assert_eq!(hook.on(stop).await.unwrap(), goes_on);
        let again = json!({ "hook_event_name": stop, "stop_hook_active": true });
        assert_eq!(hook.on_input(&again).await, None, "{stop} is put off once");
    }
    for silent in ["PostToolUse", "UserPromptSubmit"] {
        assert_eq!(in_qwen.on(silent).await, None, "{silent}");
    }
    assert_eq!(stage.events_of("message_handed").len(), 0);

    assert_eq!(lead.all_heard().await.len(), 2);
    assert_eq!(in_qwen.on("PostToolBatch").await, None);
    assert_eq!(in_gemini.on("AfterAgent").await, None);
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn it_acts_only_for_the_member_of_its_own_client() {
    let stage = Stage::new("");
    // `timeout` started bob, not the process that runs the hook.
    let bob = stage.peer_by(&["timeout", "1000"], "bob").await;
    let ann = stage.peer_by(&["sh", "-c", "\"$0\" \"$@\"; exit $?"], "ann").await;
    ann.send("bob", "to bob").await;
    assert_eq!(hook(&stage).on("PostToolUse").await, None);
    let for_bob = Hook { arguments: &["--name", "bob"], ..hook(&stage) };
    let answer = for_bob.on("PostToolUse").await.unwrap();
    assert!(context(&answer, "PostToolUse").contains("to bob"));

    bob.send("ann", "to ann").await;
    let answer = hook(&stage).on("PostToolUse").await.unwrap();
    assert!(context(&answer, "PostToolUse").contains("[bob → you] to ann"));
    bob.close().await;
    ann.close().await;
}

/// A leading session may start a second client in its shell, which runs the hooks of the same user and may have no bridge of its own.
#[tokio::test]
async fn a_client_that_a_leading_session_starts_gets_none_of_its_messages() {
    const SHELL: [&str; 3] = ["sh", "-c", "\"$0\" \"$@\"; exit $?"];
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", "for the leader alone").await;
    // `timeout` stands for the second client.
    let started_by = [&SHELL[..], &["timeout", "1000"], &SHELL].concat();
    let in_second = Hook { started_by: &started_by, ..hook(&stage) };
    for event in ["PostToolUse", "UserPromptSubmit", "Stop", "AfterAgent"] {
        assert_eq!(in_second.on(event).await, None, "{event}");
    }
    let own = Hook { started_by: &SHELL, ..hook(&stage) };
    let answer = own.on("PostToolUse").await.unwrap();
    assert!(context(&answer, "PostToolUse").contains("for the leader alone"));
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn an_unreadable_message_is_left_to_the_next_hook() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.send("orchestrator", &format!("long {}", "x".repeat(70_000))).await;
    let blobs = stage.bus().join("blobs");
    let text = std::fs::read_dir(blobs).unwrap().next().unwrap().unwrap();
    let aside = stage.home().join("text");
    std::fs::rename(text.path(), &aside).unwrap();
    std::fs::create_dir(text.path()).unwrap();
    ann.send("orchestrator", "short").await;
    let input = json!({ "session_id": "x", "cwd": "y", "hook_event_name": "PostToolUse" });
    let answer = hook(&stage).answer_to(&input.to_string()).await;
    assert!(answer.stderr.contains("stays unread"), "{answer:?}");
    let added = context(&serde_json::from_str(&answer.stdout).unwrap(), "PostToolUse");
    assert!(added.contains("short") && !added.contains("xxx"), "{added}");
    std::fs::remove_dir(text.path()).unwrap();
    std::fs::rename(&aside, text.path()).unwrap();
    let answer = hook(&stage).on("PostToolUse").await.unwrap();
    let added = context(&answer, "PostToolUse");
    assert!(added.contains("long xxx"), "{added}");
    ann.close().await;
    lead.close().await;
}

/// Starts a hook whose reader does not read, so that it hangs while it writes.
async fn hanging_hook(stage: &Stage) -> (tokio::process::Child, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    std::io::Write::write_all(&mut writer, &[b' '; 4096]).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .args(["hook", "--name", "bob"])
        .env_clear()
        .env("HOME", stage.home())
        .env("CLAUDE_PROJECT_DIR", stage.project())
        .stdin(Stdio::piped())
        .stdout(writer)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let input = json!({ "hook_event_name": "PostToolUse" }).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    // The sender may have been handed the news that others have joined.
    let by_hook = || {
        let mut handed = stage.events_of("message_handed").into_iter();
        handed.any(|handed| handed["way"] == "hook")
    };
    until("it has taken the message", by_hook).await;
    (child, reader)
}

#[tokio::test]
async fn messages_of_a_hook_that_is_killed_while_it_prints_them_are_printed_by_the_next() {
    for event in ["PostToolUse", "Stop"] {
        let stage = Stage::new("");
        let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
        ann.send("bob", "hello").await;
        let (mut killed, reader) = hanging_hook(&stage).await;
        let next = Hook { arguments: &["--name", "bob"], ..hook(&stage) };
        assert_eq!(next.on("PostToolUse").await, None, "the other is still printing it");
        killed.kill().await.unwrap();
        let answer = next.on(event).await.expect("the next one prints it").to_string();
        assert!(answer.contains("hello"), "{answer}");
        assert_eq!(next.on("UserPromptSubmit").await, None);
        assert_eq!(stage.events_of("message_seen").len(), 1);
        drop(reader);
        ann.close().await;
        bob.close().await;
    }
}
