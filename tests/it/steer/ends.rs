//! `stop`, `kill` and `cancel`: the bridge that holds the agent acts.

use nix::sys::signal::Signal;
use serde_json::json;

use super::{acted, done, failed, json_of};
use crate::support::{Stage, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ hang = true }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

#[tokio::test]
async fn an_agent_stops_and_the_command_says_when_it_has() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look").await;
    let said = done(&stage, &["stop", "ANN", "--reason", "wrong\nbranch"]).await;
    assert!(said.starts_with("`ann` has stopped after ") && said.ends_with(" s\n"), "{said}");
    assert!(!lead.names().await.contains(&"ann".to_owned()));
    let asked = &stage.events_of("stop_asked")[0];
    assert_eq!((&asked["by"], &asked["human"]), (&json!("orchestrator"), &json!(true)));
    let told = stage.events_of("message_sent");
    let told = told.iter().find(|message| message["kind"] == "shutdown").unwrap();
    assert!(told["body"]["text"].as_str().unwrap().ends_with(r#": "wrong\nbranch""#), "{told}");
    let log = done(&stage, &["log", "--kind", "member"]).await;
    assert!(log.contains("the user stops ann"), "{log}");

    let late = failed(&stage, &["stop", "ann"]).await;
    assert!(late.contains("`ann` has left the team (stopped)"), "{late}");

    // A generated name is nobody's once its agent has stopped.
    let task = lead.assign("scripted", "look").await;
    lead.done(&task).await;
    done(&stage, &["stop", "scripted"]).await;
    let late = failed(&stage, &["send", "scripted", "x"]).await;
    assert!(late.contains("`scripted` has left the team (stopped); nobody chose"), "{late}");
    lead.close().await;
}

#[tokio::test]
async fn a_killed_agent_is_gone_when_the_command_says_so() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "hang").await;
    lead.task_is(&task, "running").await;
    let outcome = json_of(&stage, &["kill", "ann"]).await;
    assert_eq!((&outcome["outcome"], &outcome["status"]), (&json!("done"), &json!("killed")));
    assert!(outcome["seconds"].as_f64().unwrap() > 0.0, "{outcome}");
    assert!(stage.running("scripted-agent").is_empty());
    lead.ended(&task).await;
    let log = done(&stage, &["log"]).await;
    assert!(log.contains("ann left (killed)") && log.contains("its agent was killed"), "{log}");
    assert!(!log.contains("was stopped") && !log.contains(": cancelled: "), "{log}");
    let status = done(&stage, &["status"]).await;
    assert!(status.contains("✗ ann") && status.contains("killed"), "{status}");
    let late = failed(&stage, &["stop", "ann"]).await;
    assert!(late.contains("`ann` has left the team (killed)"), "{late}");
    lead.close().await;
}

#[tokio::test]
async fn a_task_is_cancelled_and_its_agent_stays() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let running = lead.start("ann", "hang").await;
    lead.task_is(&running, "running").await;
    let queued = lead.assign("ann", "look").await;
    let said = done(&stage, &["cancel", &queued]).await;
    assert!(said.starts_with(&format!("{queued} was cancelled after ")), "{said}");
    let said = done(&stage, &["cancel", &running]).await;
    assert!(said.starts_with(&format!("{running} was cancelled after ")), "{said}");
    let late = failed(&stage, &["cancel", &running]).await;
    assert_eq!(late, format!("error: the task `{running}` was cancelled already\n"));
    assert_eq!(lead.assign_and_wait("ann", "look").await, "ann has done it");
    lead.close().await;
}

#[tokio::test]
async fn a_workflow_is_cancelled_with_its_running_step() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let steps = json!([{ "name": "a", "agent": "scripted", "prompt": "hang" }]);
    let created = lead.call("create_workflow", json!({ "name": "x", "steps": steps })).await;
    let id = created["workflow_id"].as_str().unwrap();
    until("it runs", || !stage.events_of("task_started").is_empty()).await;
    let said = done(&stage, &["cancel", id]).await;
    assert!(said.starts_with(&format!("{id} was cancelled after ")), "{said}");
    let late = failed(&stage, &["cancel", id]).await;
    assert_eq!(late, format!("error: the workflow `{id}` was cancelled already\n"));
    lead.close().await;
}

#[tokio::test]
async fn a_run_ends_when_the_person_cancels_its_workflow_elsewhere() {
    let stage = Stage::new(SCRIPT)
        .with_plan("name = \"x\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"hang\"\n");
    let (plan, script) = (stage.project().join("plan.toml"), stage.home().join("script.toml"));
    let (plan, script) = (plan.to_str().unwrap(), script.to_str().unwrap());
    let (child, pipes) = stage.start(&["run", plan, "--scripted", script]).await;
    until("it runs", || !stage.events_of("task_started").is_empty()).await;
    let id = stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned();
    done(&stage, &["cancel", &id]).await;
    let exit = tokio::time::timeout(crate::support::DEADLINE, child.exited()).await.unwrap();
    assert_eq!(exit.code, Some(1), "{}", child.stderr_tail());
    drop(pipes);
}

#[tokio::test]
async fn a_bridge_that_does_not_act_is_named() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look").await;
    let pid = stage.running("orchestrator")[0];
    lead.signal(Signal::SIGSTOP);
    let (code, said) = acted(&stage, &["kill", "ann"]).await;
    lead.signal(Signal::SIGCONT);
    assert_eq!(code, Some(1), "{said}");
    let expected = "error: `ann` has not ended: the bridge that holds `ann` (`orchestrator`";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains(&format!("process {pid})")), "{said}");
    // The wish stands: the bridge fulfils it once it goes on.
    until("it is gone", || !stage.events_of("member_left").is_empty()).await;
    lead.close().await;
}

#[tokio::test]
async fn an_agent_whose_bridge_died_is_reported_as_gone() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look").await;
    lead.die().await;
    until("its tree is gone", || stage.processes().is_empty()).await;
    let said = failed(&stage, &["stop", "ann"]).await;
    assert!(said.contains("`ann` has left the team (dead)"), "{said}");
}
