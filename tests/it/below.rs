//! What runs below an agent: it speaks for that agent alone, and never leads, joins, or says yes.

use std::collections::BTreeMap;
use std::ffi::OsString;

use cli_team_bridge::domain::tools::ENDPOINT_TOOLS;
use cli_team_bridge::supervisor::Shim;
use serde_json::{Value, json};

use super::support::{Raw, Stage};

/// A further environment, and a guard that a program is started behind.
type Way = (Vec<(OsString, OsString)>, Option<Shim>);

/// The ways to be below an agent: its mark, or its guard, behind which an environment says nothing.
fn ways_below() -> [Way; 2] {
    let marked = vec![(
        "BRIDGE_RUN".into(),
        "0198c0de-0000-7000-8000-000000000000".into(),
    )];
    let guard = Shim {
        binary: env!("CARGO_BIN_EXE_cli-team-bridge").into(),
        presence: None,
    };
    #[cfg(target_os = "linux")]
    return [(marked, None), (Vec::new(), Some(guard))];
    #[cfg(not(target_os = "linux"))]
    return [(marked.clone(), None), (marked, Some(guard))];
}

#[tokio::test]
async fn below_an_agent_nobody_leads_joins_or_says_yes() {
    for (env, shim) in ways_below() {
        let stage = Stage::new("").with_env(env);
        let project = stage.project().to_str().unwrap().to_owned();
        let plan = stage.home().join("plan.toml");
        std::fs::write(
            &plan,
            "name = 'x'\n[[steps]]\nagent = 'scripted'\nprompt = 'x'",
        )
        .unwrap();
        let plan = plan.to_str().unwrap();
        for (command, expected) in [
            (
                vec!["run", plan, "--project", &project],
                "an agent cannot lead a team",
            ),
            (
                vec!["trust", &project],
                "an agent cannot say yes for its user",
            ),
            (vec!["demo"], "an agent cannot lead a team"),
        ] {
            let (exit, said) = stage.ended(&command, shim.clone()).await;
            assert_eq!(exit.code, Some(1), "{command:?}: {said}");
            assert!(said.contains(expected), "{command:?}: {said}");
        }
        for command in [
            vec!["orchestrator", "--project", &project],
            vec!["peer", "--name", "ann", "--project", &project],
        ] {
            let args = command.iter().map(OsString::from).collect();
            let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
            let mut client = Raw::open(stage.spawn_below(program, args, shim.clone()).await).await;
            assert_eq!(tools(&mut client).await, ENDPOINT_TOOLS, "{command:?}");
            let answer = client.call("list_agents", json!({})).await;
            let told = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(told.contains("runs below an agent of a team"), "{answer}");
            assert!(told.contains("MCP server `bridge`"), "{answer}");
            let answer = client
                .call("assign_task", json!({ "agent": "scripted", "prompt": "x" }))
                .await;
            assert!(answer["error"].is_object(), "{answer}");
            client.close().await;
        }
        assert!(!stage.bus().exists(), "nothing was joined");
    }
}

async fn tools(client: &mut Raw) -> Vec<String> {
    let id = client.request("tools/list", json!({})).await;
    let answer = client.answer(id).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orchestrator_that_an_agent_starts_speaks_for_that_agent_alone() {
    let stage = Stage::new(
        "[[agents.default.turns]]\nsteps = [{ call = 'wait_for_message', with = { timeout_seconds = 120 } }]",
    );
    let lead = stage.orchestrator().await;
    lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let identity = of_endpoint(&stage);
    let stage = stage.with_env(identity.into_iter().collect());
    let below = Raw::open(stage.start(&["orchestrator"]).await).await;
    let mut below = below;
    assert_eq!(tools(&mut below).await, ENDPOINT_TOOLS);
    let sent = json!({ "to": "orchestrator", "content": "it is I" });
    below.call("send_message", sent).await;
    assert_eq!(lead.hear_from("ann").await, "it is I");
    assert_eq!(lead.names().await, ["orchestrator", "ann"]);
    below.close().await;
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    lead.close().await;
    stage.check_nobody_is_left();
}

/// Returns the variables by which the endpoint of the only agent knows whose it is.
#[cfg(target_os = "linux")]
fn of_endpoint(stage: &Stage) -> BTreeMap<OsString, OsString> {
    use cli_team_bridge::sys::process::variable;
    let token = |pid: &u32| variable(*pid, "BRIDGE_TOKEN").is_some();
    let pid = stage.processes().into_iter().find(token).unwrap();
    [
        "BRIDGE_DIR",
        "BRIDGE_MEMBER",
        "BRIDGE_SESSION",
        "BRIDGE_TOKEN",
        "BRIDGE_RUN",
    ]
    .into_iter()
    .map(|name| (name.into(), variable(pid, name).unwrap().into()))
    .collect()
}
