//! Wrong calls that models make, and their answers, in `wrong_calls.txt`.
//!
//! A line of that file is a call: the caller, the tool, and its arguments. The indented line below is the answer, which must say what
//! happened, to what, and what to do. Words in capitals stand for ids, which differ from run to run.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::fixture::{Client, Team};
use super::lists::leading;
use crate::bus::rules::{Description, NameChoice};
use crate::bus::{Joining, Membership};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::tools::{endpoint_tools, orchestrator_tools};
use crate::mcp::{LazyMembership, ToolError};

const CALLS: &str = include_str!("wrong_calls.txt");

/// Ids of earlier messages and requests, by the words that stand for them.
type Ids = Vec<(&'static str, String)>;

/// Opens a request for each of the two callers, and sends a message that neither of them may see.
async fn prepare(team: &Team, lead: &mut Client, ann: &mut Client) -> Ids {
    let (mut eve, _zoe) = (team.member("eve").await, team.membership("zoe").await);
    let secret = eve.call("send_message", json!({ "to": "zoe", "content": "secret" })).await;
    let own = ann.call("send_message", json!({ "to": "zoe", "content": "mine" })).await;
    let work = json!({ "description": "review it" });
    let ours = lead.call("request_task", work.clone()).await;
    let hers = ann.call("request_task", work).await;
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    vec![
        ("LEADS_REQUEST", id(&ours["request_id"])),
        ("ANNS_REQUEST", id(&hers["request_id"])),
        ("EVES_MESSAGE", id(&secret["message_id"])),
        ("ANNS_MESSAGE", id(&own["message_id"])),
    ]
}

#[tokio::test]
async fn every_wrong_call_is_answered_with_what_to_do() {
    let team = Team::new();
    let project = tempfile::tempdir().unwrap();
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse("boss").unwrap()),
        kind: MemberKind::Orchestrator,
        roles: Vec::new(),
        description: Description::default(),
    };
    let membership = Membership::join(&team.bus(), joining).await.unwrap();
    let membership = LazyMembership::taken(membership);
    let mut lead = Client::of(orchestrator_tools::server(membership, &leading(project.path())));
    lead.initialize().await;
    let mut ann = team.member("ann").await;
    let ids = prepare(&team, &mut lead, &mut ann).await;
    let calls = CALLS.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#']));
    let mut answered = String::new();
    let mut count = 0;
    for call in calls {
        count += 1;
        let [caller, tool, arguments] = call.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("not a call: {call}");
        };
        let mut arguments = arguments.to_owned();
        for (word, id) in &ids {
            arguments = arguments.replace(word, id);
        }
        let arguments = serde_json::from_str(&arguments).unwrap();
        let client = if caller == "lead" { &mut lead } else { &mut ann };
        let mut answer = client.refused(tool, arguments).await;
        for (word, id) in &ids {
            answer = answer.replace(id, word);
        }
        writeln!(answered, "{call}\n  {answer}").unwrap();
    }
    assert!(count >= 80, "{count} calls");
    let expected: Vec<_> =
        CALLS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let answered_lines: Vec<_> = answered.lines().collect();
    assert!(answered_lines == expected, "the answers are now:\n{answered}");
}

/// Returns a value that matches a schema.
fn example(schema: &Value) -> Value {
    if let Some(choice) = schema["enum"].get(0) {
        return choice.clone();
    }
    match schema["type"].as_str().unwrap() {
        "string" => json!("x"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([example(&schema["items"])]),
        "object" => {
            let fields = schema["properties"].as_object().unwrap();
            fields.iter().map(|(name, field)| (name.clone(), example(field))).collect()
        }
        other => panic!("a tool takes a {other}"),
    }
}

/// Returns variants of a value, each with one part replaced.
fn variants(value: &Value) -> Vec<Value> {
    let mut all = vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!(u64::MAX),
        json!("x"),
        json!([]),
        json!([null]),
        json!(["x", 1]),
        json!([{}]),
        json!({}),
        json!({ "x": 1 }),
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                all.extend(variants(field).into_iter().map(|variant| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), variant);
                    Value::Object(fields)
                }));
            }
        }
        Value::Array(items) => {
            let first = items.first().map(variants).unwrap_or_default();
            all.extend(first.into_iter().map(|item| json!([item])));
        }
        _ => {}
    }
    all
}

#[test]
fn whatever_passes_the_check_of_a_tools_arguments_can_be_parsed() {
    let project = tempfile::tempdir().unwrap();
    let mut tools = orchestrator_tools::tools(&leading(project.path()));
    tools.extend(endpoint_tools::tools());
    let (mut accepted, mut refused) = (0, 0);
    for tool in tools {
        let schema = tool.definition().input_schema;
        let whole = example(&Value::Object(Map::clone(&schema)));
        assert!(tool.prepare(&schema, whole.as_object().unwrap().clone()).is_ok(), "{whole}");
        for variant in variants(&whole) {
            let Value::Object(arguments) = variant else { continue };
            match tool.prepare(&schema, arguments.clone()).err() {
                None => accepted += 1,
                Some(ToolError::Arguments(_)) => refused += 1,
                Some(error) => panic!("`{}` with {arguments:?}: {error}", tool.name()),
            }
        }
    }
    assert!(accepted > 100 && refused > 500, "{accepted} accepted, {refused} refused");
}
