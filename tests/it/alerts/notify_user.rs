//! Notifications: what a user is told of, where, how often, and what a repository cannot do.

use std::path::PathBuf;

use cli_team_bridge::sys::process::find_program;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{DEADLINE, Stage, until};

const SCRIPT: &str = r#"
[[agents.ben.turns]]
when = "Your task: "
steps = [
  { ask_permission = "delete the chapter", kind = "delete", on_reject = "go_on" },
  { say = "asked" },
]
[[agents.default.turns]]
when = "go wrong"
steps = [{ fail = "no more words" }]
[[agents.default.turns]]
steps = [{ say = "a secret answer" }]
"#;

/// A command that writes down each notification.
fn settings(stage: &Stage, more: &str) -> String {
    let notes = notes(stage);
    let script = format!(
        "{{ echo \"[$BRIDGE_NOTIFY_TITLE: $BRIDGE_NOTIFY_KINDS]\"; cat; }} >> {}",
        notes.display()
    );
    format!("[notify]\ncommand = [\"/bin/sh\", \"-c\", '{script}']\n{more}\n")
}

fn notes(stage: &Stage) -> PathBuf {
    stage.home().join("notes")
}

fn noted(stage: &Stage) -> String {
    std::fs::read_to_string(notes(stage)).unwrap_or_default()
}

fn notifying(more: &str) -> Stage {
    let stage = Stage::new(SCRIPT);
    let settings = settings(&stage, more);
    stage.with_profiles(&settings)
}

#[tokio::test]
async fn a_user_is_notified_of_what_waits_and_of_what_has_ended_once_each() {
    let stage = notifying("burst_seconds = 0");
    let lead = stage.orchestrator().await;
    let asks =
        json!({ "agent": "scripted", "name": "ben", "prompt": "tidy up", "permissions": "ask" });
    let asking = lead.call("assign_task", asks).await;
    until("the question", || noted(&stage).contains("ben asks for permission (perm-")).await;
    let question = stage.events_of("permission_asked")[0]["id"].clone();
    let answer = json!({ "permission_id": question, "decision": "reject" });
    lead.call("answer_permission", answer).await;
    let task = asking["task_id"].as_str().unwrap();
    lead.done(task).await;
    until("its end", || noted(&stage).contains(&format!("ben has finished {task}"))).await;
    let failed = lead.start("ann", "go wrong").await;
    lead.ended(&failed).await;
    until("the failure", || noted(&stage).contains(&format!("ann has failed in {failed}\n"))).await;
    let said = noted(&stage);
    assert!(said.contains("[project: permission]\n"), "{said}");
    assert_eq!(said.matches("asks for permission").count(), 1, "{said}");
    assert_eq!(said.matches("has finished").count(), 1, "{said}");
    assert!(!said.contains("chapter") && !said.contains("no more words"), "{said}");
    lead.close().await;
    stage.check_nobody_is_left();
    assert_eq!(noted(&stage), said, "the end of a session that its user closes is no news");
}

#[tokio::test]
async fn a_run_notifies_of_its_end_before_it_ends_and_signs_what_it_posts() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/topic", server.local_addr().unwrap());
    let stage = Stage::new(SCRIPT).with_plan(
        "name = \"words of a plan\"\n[[steps]]\nname = \"s\"\nagent = \"ann\"\nprompt = \"go\"\n",
    );
    let more = format!(
        "on = [\"workflow\"]\ntexts = true\nwebhook = \"{url}\"\nwebhook_secret_env = \"HOOK_KEY\""
    );
    let settings = settings(&stage, &more);
    let stage = stage.with_profiles(&settings).with_variable("HOOK_KEY", "key");
    let plan = stage.project().join("plan.toml");
    let script = stage.home().join("script.toml");
    let run = ["run", plan.to_str().unwrap(), "--scripted", script.to_str().unwrap()];
    let (child, _pipes) = stage.start(&run).await;
    let has_curl = find_program("curl".as_ref(), std::env::var_os("PATH").as_deref()).is_some();
    let request = if has_curl { posted(&server).await } else { String::new() };
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    assert_eq!(exit.code, Some(0), "{}", child.stderr_tail());
    let said = noted(&stage);
    assert!(said.starts_with("[project: workflow]\nthe workflow wf-"), "{said}");
    assert!(said.ends_with(" is done: \"words of a plan\"\n"), "{said}");
    if !has_curl {
        println!("curl is not installed, so the webhook is not tried");
        return assert!(child.stderr_tail().contains("`curl` is not on PATH"));
    }
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /topic HTTP/1.1\r\n"), "{head}");
    for line in ["Title: project", "Priority: default", "Tags: white_check_mark"] {
        assert!(head.lines().any(|found| found == line), "{head}");
    }
    assert!(said.contains(body), "{body} is not in {said}");
    let signature = head.lines().find_map(|line| line.strip_prefix("X-Hub-Signature-256: sha256="));
    assert_eq!(signature.map(str::len), Some(64), "{head}");
}

/// Takes one request whose body has a length, and answers it.
async fn posted(server: &TcpListener) -> String {
    let taking = async {
        let (mut stream, _) = server.accept().await.unwrap();
        let mut request = Vec::new();
        loop {
            assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "{request:?}");
            let text = String::from_utf8(request.clone()).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(answer).await.unwrap();
                return text;
            }
        }
    };
    tokio::time::timeout(DEADLINE, taking).await.unwrap()
}

#[tokio::test]
async fn a_target_that_fails_is_a_warning_once_and_delays_nothing() {
    let stage = Stage::new(SCRIPT).with_profiles(
        "[notify]\nburst_seconds = 0\ncommand = [\"/bin/sh\", \"-c\", \"echo no line >&2; exit 3\"]\n",
    );
    let lead = stage.orchestrator().await;
    for _ in 0..2 {
        let task = lead.start("ann", "look").await;
        lead.ended(&task).await;
        lead.call("kill_agent", json!({ "agent": "ann" })).await;
    }
    let warning = "a notification was not sent (`command` of [notify]): `/bin/sh` ended with exit code 3: no line";
    until("the warning", || lead.stderr().contains(warning)).await;
    lead.start_and_wait("cay", "look").await;
    assert_eq!(lead.stderr().matches("was not sent").count(), 1, "{}", lead.stderr());
    lead.close().await;
}

#[tokio::test]
async fn a_trial_says_of_each_target_what_came_of_it() {
    let stage = notifying("");
    let project = stage.project().to_str().unwrap().to_owned();
    let (exit, said) = stage.ended(&["notify", "--project", &project], None).await;
    assert_eq!((exit.code, said.as_str()), (Some(0), "command: sent\n"));
    assert_eq!(noted(&stage), "[project: ]\nthis is what a notification looks like\n");

    let stage = Stage::new(SCRIPT).with_profiles("[notify]\ncommand = [\"no-such-program\"]\n");
    let project = stage.project().to_str().unwrap().to_owned();
    let (exit, said) = stage.ended(&["notify", "--project", &project], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("command: the program `no-such-program` is not on PATH"), "{said}");

    let stage = Stage::new(SCRIPT);
    let project = stage.project().to_str().unwrap().to_owned();
    let (exit, said) = stage.ended(&["notify", "--project", &project], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("hint: set `command`, `desktop` or `webhook`"), "{said}");
}

#[tokio::test]
async fn a_repository_names_no_target() {
    let stage = Stage::new(SCRIPT);
    let settings = settings(&stage, "");
    let stage = stage.with_project_file(&settings);
    let project = stage.project().to_str().unwrap().to_owned();
    let (exit, said) = stage.ended(&["notify", "--project", &project], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("`[notify]` is yours alone: put it in your own `config.toml`"), "{said}");
    assert_eq!(noted(&stage), "");
}

#[tokio::test]
async fn the_lead_notifies_of_what_members_ask_the_user_and_of_what_they_disagree_about() {
    let stage = notifying("burst_seconds = 0\ntexts = true");
    let lead = stage.orchestrator().await;
    let other = stage.orchestrator().await;
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    let question = json!({ "to": "human", "content": "which colour?", "signal": "question" });
    let asked = ann.call("send_message", question).await;
    let told = format!("ann asks you something ({})", asked["message_id"].as_str().unwrap());
    until("the question", || noted(&stage).contains(&told)).await;
    assert!(noted(&stage).contains("which colour?"), "{}", noted(&stage));
    let first = ann.send("bob", "a queue").await["message_id"].as_str().unwrap().to_owned();
    let says = async |member: &crate::support::Member, to: &str, signal: &str, round: u32| {
        let words = json!({
            "to": to, "content": format!("round {round}"), "reply_to": first, "signal": signal,
        });
        member.call("send_message", words).await;
    };
    says(&bob, "ann", "disagree_with", 0).await;
    // Three rounds without an agreement, and nobody else decides.
    for round in 1..=3 {
        says(&ann, "bob", "msg", round).await;
        says(&bob, "ann", "msg", round).await;
    }
    let told = format!("and you are asked to decide ({first})");
    until("the disagreement", || noted(&stage).contains(&told)).await;
    for (what, of) in [("asks you something", 1), ("are asked to decide", 1)] {
        assert_eq!(noted(&stage).matches(what).count(), of, "{}", noted(&stage));
    }
    for member in [ann, bob, other, lead] {
        member.close().await;
    }
}
