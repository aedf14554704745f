//! Steps of workflows whose agents another machine starts.

use serde_json::{Value, json};

use super::other_host::{Host, PROFILE};
use super::two_machines::command;
use crate::support::{Member, Stage, of_name, postgres_server};
use crate::workflows::over_mcp::{begin, ended, step, step_is, steps};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: write"
steps = [{ write_file = "made.txt", content = "x" }, { say = "written by {{name}}" }]
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ wait_for = { from = "gate", seconds = 100 }, save = "got" }, { say = "heard {{got.message.content}}" }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "hanging" }, { hang = true }]
[[agents.default.turns]]
steps = [{ say = "<{{name}}: {{prompt}}>" }]
"#;

/// Profiles of the leading machine alone.
const HERE: &str = "[agents.near]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\nenv_pass = [\"BRIDGE_SCRIPT\"]\n";

/// Two machines of one team, and the second one's host, which starts `scripted`.
async fn two_machines(server: &str, team: &str) -> (Stage, Stage, Host) {
    let (here, there) =
        (Stage::new(SCRIPT).with_profiles(HERE), Stage::new(SCRIPT).with_profiles(PROFILE));
    for stage in [&here, &there] {
        command(stage, &["bus", "init", server, "--team", team]);
    }
    let mut host = Host::start(&there, &["--for", "all", "--agents", "scripted"]);
    host.says("starts scripted in ").await;
    (here, there, host)
}

/// Makes a step that the host starts.
fn far(name: &str, prompt: &str, depends_on: &[&str]) -> Value {
    let mut step = step(name, "scripted", prompt, depends_on);
    step["host"] = json!("host");
    step
}

async fn until_host_is_known(lead: &Member) {
    lead.until("list_agents", json!({}), |list| of_name(list, "host").is_some()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_of_another_host_is_done_there_and_its_agent_ends_with_the_workflow() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there, mut host) = two_machines(&server, "steps").await;
    let lead = here.orchestrator().await;
    until_host_is_known(&lead).await;
    let wrong = json!({ "steps": [far("a", "write", &[]), { "agent": "near", "prompt": "x", "host": "shed" }] });
    let refused = lead.refused("create_workflow", wrong).await;
    assert!(refused.contains("steps[1].host: no host `shed` starts agents"), "{refused}");
    let steps = [
        far("a", "write", &[]),
        step("b", "near", "sum up {{steps.a.output}}", &["a"]),
        far("c", "write", &["b"]),
    ];
    let id = begin(&lead, &steps).await;
    let steps = ended(&lead, &id, "done").await;
    assert!(there.project().join("made.txt").exists() && !here.project().join("made.txt").exists());
    let b = steps["b"]["output"].as_str().unwrap();
    assert!(b.contains("written by scripted"), "{b}");
    assert!(steps["a"]["host"].is_string() && steps["b"]["host"].is_null(), "{steps:?}");
    assert_eq!(steps["c"]["agent"], steps["a"]["agent"], "an idle agent there is used again");
    let listed: Value = serde_json::from_str(&command(&here, &["workflows", "--json"])).unwrap();
    assert!(listed.to_string().contains("\"host\""), "{listed}");
    let started = host.says("Started `scripted` (scripted) for `orchestrator`").await;
    assert!(started.contains("task-"), "{started}");
    // Once the lead has left, nobody needs the agent.
    let other = here.peer("ann").await;
    assert!(of_name(&other.call("list_agents", json!({})).await, "scripted").is_some());
    lead.close().await;
    other.until("list_agents", json!({}), |list| of_name(list, "scripted").is_none()).await;
    host.interrupt().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_of_another_host_goes_on_without_its_lead_and_ends_for_the_next_one() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, _there, host) = two_machines(&server, "resumed").await;
    let lead = here.orchestrator().await;
    let gate = here.peer("gate").await;
    until_host_is_known(&lead).await;
    let id = begin(&lead, &[far("a", "wait", &[]), far("b", "hang", &["a"])]).await;
    lead.until_waiting("scripted").await;
    lead.die().await;
    let lead = here.orchestrator_with(&["--name", "next"]).await;
    let which = json!({ "workflow_id": id });
    lead.until("get_workflow_status", which.clone(), |status| status["status"] == "interrupted")
        .await;
    lead.call("resume_workflow", which.clone()).await;
    gate.call("send_message", json!({ "to": "scripted", "content": "go on" })).await;
    step_is(&lead, &id, "a", "done").await;
    step_is(&lead, &id, "b", "running").await;
    lead.call("cancel_workflow", which).await;
    let steps = ended(&lead, &id, "cancelled").await;
    let a = (&steps["a"]["attempts"], steps["a"]["output"].as_str().unwrap());
    assert_eq!(a, (&json!(1), "heard go on"), "it was not begun anew");
    host.interrupt().await;
    gate.close().await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_whose_host_is_gone_takes_its_fallback_or_fails_with_the_reason() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    for is_killed in [true, false] {
        let team = format!("gone-{is_killed}");
        let (here, _there, mut host) = two_machines(&server, &team).await;
        let lead = here.orchestrator().await;
        until_host_is_known(&lead).await;
        let mut with_fallback = far("a", "hang", &[]);
        with_fallback["fallback"] = json!(["near"]);
        let id = begin(&lead, &[with_fallback, far("b", "hang", &[])]).await;
        for step in ["a", "b"] {
            step_is(&lead, &id, step, "running").await;
        }
        if is_killed {
            host.child.kill().await.unwrap();
        } else {
            host.interrupt().await;
        }
        let which = json!({ "workflow_id": id });
        let status = lead
            .until("get_workflow_status", which.clone(), |status| {
                let step = |name: &str| steps(status)[name].clone();
                step("b")["status"] == "failed" && step("a")["agent"] == "near"
            })
            .await;
        let steps = steps(&status);
        let why = steps["b"]["reason"].as_str().unwrap();
        assert!(why.contains("bridge was killed") || why.contains("its host ended"), "{why}");
        assert_eq!(steps["a"]["status"], "running");
        lead.call("cancel_workflow", which).await;
        ended(&lead, &id, "cancelled").await;
        lead.close().await;
    }
}

#[tokio::test]
async fn a_plan_with_a_host_that_is_not_there_is_refused_and_drawn() {
    let stage = Stage::new(SCRIPT).with_scripted_profiles(&["near"]);
    let plan = stage.project().join("plan.toml");
    let text = "name = \"far\"\n[[steps]]\nname = \"a\"\nagent = \"near\"\nprompt = \"write\"\nhost = \"builder\"\n";
    std::fs::write(&plan, text).unwrap();
    let run = ["run", plan.to_str().unwrap(), "--project", stage.project().to_str().unwrap()];
    let (exit, said) = stage.ended(&run, None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("plan.toml:6:1: host: no host `builder` starts agents"), "{said}");
    assert!(!stage.bus().exists());
    let (_, drawn) = stage.ended(&[&run[..], &["--dry-run"]].concat(), None).await;
    assert!(drawn.contains("1. a (near, on \"builder\")"), "{drawn}");
}
