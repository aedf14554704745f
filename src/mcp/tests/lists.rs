//! The content of `tools/list`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{Client, Team};
use crate::bus::Membership;
use crate::config::{Config, Load};
use crate::domain::tool_names::ENDPOINT_TOOLS;
use crate::mcp::tools::orchestrator_tools::{self, OrchestratorTeam};
use crate::mcp::{LazyMembership, Server};
use crate::team::{Launch, Trust};

/// A token is about four bytes; the limit is 760 tokens, because every agent of a team pays for them.
const ENDPOINT_BUDGET_BYTES: usize = 3_040;

/// The limit is 3,000 tokens for the session that leads: its own tools and the endpoint's, where no agent is installed, which takes the
/// most words.
const ORCHESTRATOR_BUDGET_BYTES: usize = 12_000;

/// Returns the server of an orchestrator without agents, which looks programs up in this directory, for a membership.
pub(super) fn leads(membership: Membership, programs: &Path) -> Server {
    let project = tempfile::tempdir().unwrap();
    let load = Load { project: project.path(), home: None, config_home: None, explicit: None };
    let launch = Launch {
        own_binary: "/bin/bridge".into(),
        environment: vec![("PATH".into(), programs.into())],
        project: project.path().into(),
        ground: project.path().into(),
        bus_dir: "/project/.claude/bridge".into(),
        trust: Trust::default(),
    };
    let leading = OrchestratorTeam::new(Config::load(load).unwrap(), launch);
    orchestrator_tools::server(LazyMembership::taken(membership), &leading)
}

async fn orchestrator(team: &Team) -> Server {
    leads(team.membership("lead").await, Path::new("/nowhere"))
}

/// Returns the tools as a client gets them.
async fn listed(client: &mut Client) -> Vec<Value> {
    let answer = client.request("tools/list", json!({})).await;
    answer["result"]["tools"].as_array().unwrap().clone()
}

/// Asserts the size of the tools for a model: names, descriptions and input schemas.
#[track_caller]
fn check_budget(tools: &[Value], budget: usize) {
    let text = |tool: &Value, field: &str| tool[field].as_str().unwrap().len();
    let bytes: usize = tools
        .iter()
        .map(|tool| {
            let schema = tool["inputSchema"].to_string();
            text(tool, "name") + text(tool, "description") + schema.len()
        })
        .sum();
    println!("{bytes} bytes");
    assert!(bytes <= budget, "{bytes} bytes");
}

#[tokio::test]
async fn the_endpoints_tools_stay_within_their_budget() {
    let mut client = Team::new().member("ann").await;
    check_budget(&listed(&mut client).await, ENDPOINT_BUDGET_BYTES);
}

#[tokio::test]
async fn the_orchestrators_tools_stay_within_their_budget() {
    let mut client = Client::of(orchestrator(&Team::new()).await);
    client.initialize().await;
    let tools = listed(&mut client).await;
    assert!(tools.len() > ENDPOINT_TOOLS.len());
    check_budget(&tools, ORCHESTRATOR_BUDGET_BYTES);
}

/// A client asks once, when its session begins; what is installed after that is in the next session's list.
#[tokio::test]
async fn assign_task_names_the_profiles_that_are_installed_when_the_list_is_asked_for() {
    let (team, programs) = (Team::new(), tempfile::tempdir().unwrap());
    let mut client = Client::of(leads(team.membership("lead").await, programs.path()));
    client.initialize().await;
    let mut told = async || {
        let tools = listed(&mut client).await;
        let tool = tools.iter().find(|tool| tool["name"] == "assign_task").unwrap();
        tool["inputSchema"]["properties"]["agent"]["description"].as_str().unwrap().to_owned()
    };
    let description = told().await;
    let expected = "No agent is installed. Missing: claude-code (needs `claude-agent-acp`), \
        codex (needs `codex-acp`), droid (needs `droid`), gemini (needs `gemini`), qwen (needs \
        `qwen`).";
    assert!(description.ends_with(&format!(". {expected}")), "{description}");

    for program in ["codex-acp", "qwen"] {
        let path = programs.path().join(program);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let description = told().await;
    let expected = "Installed profiles: codex, qwen. Missing: claude-code (needs \
        `claude-agent-acp`), droid (needs `droid`), gemini (needs `gemini`).";
    assert!(description.ends_with(&format!(". {expected}")), "{description}");
}

#[tokio::test]
async fn every_tool_has_a_title_and_hints_on_its_effect() {
    let mut client = Client::of(orchestrator(&Team::new()).await);
    client.initialize().await;
    let (mut reading, mut ending) = (Vec::new(), Vec::new());
    for tool in listed(&mut client).await {
        let name = tool["name"].as_str().unwrap().to_owned();
        let title = tool["title"].as_str().unwrap();
        assert_eq!(title.to_lowercase().replace(' ', "_"), name);
        let hints = &tool["annotations"];
        if hints["readOnlyHint"] == true {
            reading.push(name);
        } else if hints["destructiveHint"] == true {
            ending.push(name);
        } else {
            // A missing hint would count as yes.
            assert_eq!(hints["destructiveHint"], false, "{name}");
        }
    }
    reading.sort();
    ending.sort();
    let expected = [
        "check_messages",
        "get_agent_status",
        "get_task_result",
        "get_task_status",
        "get_workflow_status",
        "list_agents",
        "wait_for_message",
    ];
    assert_eq!(reading, expected);
    assert_eq!(ending, ["cancel_task", "cancel_workflow", "kill_agent"]);
}

/// Some hosts refuse a whole server for one of these.
#[tokio::test]
async fn no_input_schema_has_a_null_or_a_list_of_types() {
    fn check(schema: &Value, tool: &str) {
        match schema {
            Value::Null => panic!("`{tool}` has a null in its schema"),
            Value::Array(all) => all.iter().for_each(|schema| check(schema, tool)),
            Value::Object(all) => {
                let has_types = all.get("type").is_some_and(Value::is_array);
                assert!(!has_types, "`{tool}` has a list of types: {schema}");
                all.values().for_each(|schema| check(schema, tool));
            }
            _ => {}
        }
    }
    let mut client = Client::of(orchestrator(&Team::new()).await);
    client.initialize().await;
    for tool in listed(&mut client).await {
        check(&tool["inputSchema"], tool["name"].as_str().unwrap());
    }
}

#[tokio::test]
async fn no_text_about_the_tools_names_a_path() {
    let mut client = Client::of(orchestrator(&Team::new()).await);
    let answer = client.initialize().await;
    let instructions = &answer["result"]["instructions"];
    assert!(instructions.is_string());
    let mut texts = vec![instructions.clone()];
    for mut tool in listed(&mut client).await {
        // Its keys contain slashes of their own, and no model sees them.
        tool.as_object_mut().unwrap().remove("_meta");
        texts.push(tool);
    }
    for text in texts {
        let text = text.to_string();
        assert!(!text.contains('/') && !text.contains(".claude"), "{text}");
    }
}

#[tokio::test]
async fn the_first_answer_to_a_client_names_the_project() {
    let team = Team::new();
    let place = tempfile::tempdir().unwrap();
    let check = async |server: Server, expected: &str| {
        let answer = Client::of(server).initialize().await;
        let instructions = answer["result"]["instructions"].as_str().unwrap();
        assert!(instructions.contains(expected), "{instructions}");
    };
    let membership = LazyMembership::taken(team.membership("lead").await);
    let launch = |ground: &str| Launch {
        own_binary: "/bin/bridge".into(),
        environment: Vec::new(),
        project: "/src/main".into(),
        ground: ground.into(),
        bus_dir: "/src/main/.claude/bridge".into(),
        trust: Trust::kept_in(None),
    };
    let leading = |ground: &str| {
        let load = Load { project: place.path(), home: None, config_home: None, explicit: None };
        OrchestratorTeam::new(Config::load(load).unwrap(), launch(ground))
    };
    let lead = |ground| {
        orchestrator_tools::server_with_doorbell(membership.clone(), &leading(ground), Some("w"))
    };
    check(lead("/src/main"), "The project is /src/main.").await;
    let sentence = "The project is /src/main; agents work in /src/topic by default.";
    check(lead("/src/topic"), sentence).await;
    let project = std::path::Path::new("/src/main");
    let peer = crate::mcp::tools::endpoint_tools::server_of_peer(membership.clone(), project);
    check(peer, "The project is /src/main.").await;
}

#[tokio::test]
async fn every_tool_is_always_loaded_described_and_has_both_schemas() {
    let team = Team::new();
    let mut client = team.member("ann").await;
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    // An agent's first prompt names the same tools.
    assert_eq!(names, ENDPOINT_TOOLS);
    for tool in tools {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true);
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert!(tool["description"].as_str().unwrap().len() > 40);
        let text = tool.to_string();
        assert!(!text.contains("\"format\"") && !text.contains("$ref"), "{text}");
        let reads =
            ["check_messages", "wait_for_message"].contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["outputSchema"]["properties"]["inbox"] == Value::Null, reads);
    }
    let again = client.request("tools/list", json!({})).await;
    assert_eq!(again["result"], listed["result"]);
}
