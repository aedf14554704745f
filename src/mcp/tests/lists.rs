//! The content of `tools/list`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{Client, Team};
use crate::bus::Membership;
use crate::config::{Config, Load};
use crate::domain::tool_names::{ENDPOINT_TOOLS, LEADING_TOOLS};
use crate::mcp::tools::orchestrator_tools::{self, Introduction, OrchestratorTeam};
use crate::mcp::{LazyMembership, Pushing, Server};
use crate::team::{Launch, Trust};

/// A token is about four bytes; the limit is 1,500 tokens, because every agent of a team pays for them.
const ENDPOINT_BUDGET_BYTES: usize = 6_000;

/// The limit is 3,800 tokens for a leading session: its own tools and the endpoint's. It is measured without installed agents, because
/// the description is longest then.
const ORCHESTRATOR_BUDGET_BYTES: usize = 15_200;

/// Returns the server of an orchestrator without agents, which searches for programs in this directory.
pub(super) fn leading_server(membership: Membership, programs: &Path) -> Server {
    let project = tempfile::tempdir().unwrap();
    let leading = leading_with(project.path(), programs);
    orchestrator_tools::server(LazyMembership::taken(membership), &leading)
}

async fn orchestrator(team: &Team) -> Server {
    leading_server(team.membership("boss").await, Path::new("/nowhere"))
}

/// Returns an orchestrator's team, in a project without a `bridge.toml` and on a machine without agents.
pub(super) fn leading(project: &Path) -> OrchestratorTeam {
    leading_with(project, Path::new("/nowhere"))
}

fn leading_with(project: &Path, programs: &Path) -> OrchestratorTeam {
    let load = Load { project, home: None, config_home: None, explicit: None };
    let launch = Launch {
        own_binary: "/bin/bridge".into(),
        environment: vec![("PATH".into(), programs.into())],
        project: project.into(),
        ground: project.into(),
        bus_dir: "/project/.claude/bridge".into(),
        former: Vec::new(),
        trust: Trust::default(),
    };
    OrchestratorTeam::new(Config::load(load).unwrap(), launch)
}

/// Returns the tools that a client receives.
async fn listed(client: &mut Client) -> Vec<Value> {
    let answer = client.request("tools/list", json!({})).await;
    answer["result"]["tools"].as_array().unwrap().clone()
}

/// Asserts the size of the tools in a model's context: names, descriptions and input schemas.
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
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    // The doctor compares the tools that a client hides with these.
    assert_eq!(names, [&LEADING_TOOLS[..], &ENDPOINT_TOOLS[..]].concat());
    check_budget(&tools, ORCHESTRATOR_BUDGET_BYTES);
}

/// A client asks once, when its session begins. The next session's list has programs that were installed later.
#[tokio::test]
async fn assign_task_names_the_profiles_that_are_installed_when_the_list_is_asked_for() {
    let (team, programs) = (Team::new(), tempfile::tempdir().unwrap());
    let mut client = Client::of(leading_server(team.membership("boss").await, programs.path()));
    client.initialize().await;
    let mut description = async || {
        let tools = listed(&mut client).await;
        let tool = tools.iter().find(|tool| tool["name"] == "assign_task").unwrap();
        tool["inputSchema"]["properties"]["agent"]["description"].as_str().unwrap().to_owned()
    };
    let text = description().await;
    let expected = "No agent is installed. Missing: claude-code (needs `claude-agent-acp`), \
        codex (needs `codex-acp`), droid (needs `droid`), gemini (needs `gemini`), qwen (needs \
        `qwen`).";
    assert!(text.ends_with(&format!(". {expected}")), "{text}");

    for program in ["codex-acp", "qwen"] {
        let path = programs.path().join(program);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = description().await;
    let expected = "Installed profiles: codex, qwen. Missing: claude-code (needs \
        `claude-agent-acp`), droid (needs `droid`), gemini (needs `gemini`).";
    assert!(text.ends_with(&format!(". {expected}")), "{text}");
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

/// Some clients reject the whole server for one such schema.
#[tokio::test]
async fn no_input_schema_has_a_null_or_a_list_of_types() {
    fn check(schema: &Value, tool: &str) {
        match schema {
            Value::Null => panic!("`{tool}` has a null in its schema"),
            Value::Array(all) => all.iter().for_each(|schema| check(schema, tool)),
            Value::Object(all) => {
                let has_types = all.get("type").is_some_and(Value::is_array);
                assert!(!has_types, "`{tool}` has a list of types: {schema}");
                let text = all.get("description").and_then(Value::as_str).unwrap_or_default();
                assert!(!text.contains('\n'), "`{tool}` has a description of lines: {text:?}");
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

/// Says whether a name has 1 to 64 characters: letters, digits and these others.
fn is_valid_name(name: &str, others: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || others.contains(char);
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

/// Checks a schema, at any depth, against what the three model providers accept for function calling.
///
/// - Anthropic (platform.claude.com, tool use and custom tools): the top is an object without `oneOf`, `anyOf` and `allOf`; no `$ref`;
///   names of properties are 1 to 64 letters, digits, `_`, `.` and `-`.
/// - `OpenAI` (platform.openai.com, function calling and supported schemas): the top is an object with `properties`; an array has
///   `items`; at most 10 levels, 5,000 properties and 1,000 words in enums.
/// - Gemini (ai.google.dev/api/caching, `Schema`): a subset of `OpenAPI` 3.0, with one type for each value, and enums of strings only.
///   `additionalProperties` is not part of it: `parametersJsonSchema` accepts it, and clients that send a `Schema` drop it.
fn check_subsets(schema: &Value, place: &str, depth: usize) {
    const KEYWORDS: [&str; 9] = [
        "type",
        "description",
        "properties",
        "required",
        "items",
        "enum",
        "minimum",
        "default",
        "additionalProperties",
    ];
    let schema = schema.as_object().unwrap_or_else(|| panic!("{place} has no schema"));
    assert!(depth <= 10, "{place} is nested too deeply");
    for keyword in schema.keys() {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{place} has `{keyword}`");
    }
    let kind = schema.get("type").and_then(Value::as_str);
    match kind.unwrap_or_else(|| panic!("{place} has no type")) {
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(is_valid_name(name, "_.-"), "{place}.{name}");
                check_subsets(property, &format!("{place}.{name}"), depth + 1);
            }
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().unwrap()), "{place}: {name}");
            }
            let additional = schema.get("additionalProperties");
            assert!(additional.is_none_or(Value::is_boolean), "{place}: {additional:?}");
        }
        "array" => check_subsets(&schema["items"], &format!("{place}[]"), depth + 1),
        kind => assert!(
            ["string", "integer", "number", "boolean"].contains(&kind),
            "{place} is a {kind}"
        ),
    }
    if let Some(choices) = schema.get("enum") {
        assert_eq!(kind, Some("string"), "{place}");
        let choices = choices.as_array().unwrap();
        assert!(!choices.is_empty() && choices.len() <= 1_000, "{place}");
        assert!(choices.iter().all(Value::is_string), "{place}: {choices:?}");
    }
}

#[tokio::test]
async fn every_schema_is_one_that_all_model_providers_accept() {
    let mut client = Client::of(orchestrator(&Team::new()).await);
    client.initialize().await;
    for tool in listed(&mut client).await {
        let name = tool["name"].as_str().unwrap();
        // Gemini also requires a letter or an underscore first. Clients prefix the name of the server, within 64 characters.
        assert!(is_valid_name(name, "_-") && name.len() <= 40, "{name}");
        assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "{name}");
        let description = tool["description"].as_str().unwrap();
        assert!((1..=1_024).contains(&description.len()), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        check_subsets(&tool["inputSchema"], name, 1);
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
        // Its keys contain slashes, but no model sees them.
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
    let membership = LazyMembership::taken(team.membership("boss").await);
    let launch = |ground: &str| Launch {
        own_binary: "/bin/bridge".into(),
        environment: Vec::new(),
        project: "/src/main".into(),
        ground: ground.into(),
        bus_dir: "/src/main/.claude/bridge".into(),
        former: Vec::new(),
        trust: Trust::kept_in(None),
    };
    let leading = |ground: &str| {
        let load = Load { project: place.path(), home: None, config_home: None, explicit: None };
        OrchestratorTeam::new(Config::load(load).unwrap(), launch(ground))
    };
    let lead = |ground| {
        let introduction = Introduction {
            watch: Some("w".to_owned()),
            trouble: None,
            project_is_known: true,
            pushing: Pushing::Never,
        };
        orchestrator_tools::server_with_doorbell(membership.clone(), &leading(ground), introduction)
    };
    check(lead("/src/main"), "The project is /src/main.").await;
    let sentence = "The project is /src/main; agents work in /src/topic by default.";
    check(lead("/src/topic"), sentence).await;
    let project = std::path::Path::new("/src/main");
    let peer = crate::mcp::tools::endpoint_tools::server_of_peer(
        membership.clone(),
        project,
        Pushing::Never,
    );
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
