//! Lists of a leader's tasks, also of those from earlier sessions, and the activity of its agents.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{Client, Team};
use super::lists::leading_server;
use crate::bus::event::{Body, Starting, TaskReport};
use crate::bus::rules::{Description, Ending, NameChoice, NewAgent, NewTask, Operation};
use crate::bus::storage::LogError;
use crate::bus::{Joining, Membership};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::{Label, MemberKind, Traits};
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;
use crate::mcp::LazyMembership;
use crate::mcp::tools::endpoint_tools;
use crate::sys::random_ids;

/// A leader whose agents exist only on the bus, and the client of its tools.
struct Leader {
    membership: Membership,
    client: Client,
}

async fn leader(team: &Team, name: &str) -> Leader {
    of(team.membership(name).await).await
}

async fn of(membership: Membership) -> Leader {
    let mut client = Client::of(leading_server(membership.clone(), Path::new("/nowhere")));
    client.initialize().await;
    Leader { membership, client }
}

impl Leader {
    /// Starts an agent on the bus, without a process.
    async fn start(&self, agent: &str, profile: &str) -> SessionId {
        let name = Name::parse(agent).unwrap();
        let session = random_ids::session();
        self.membership.bus().hold(session).unwrap();
        let starting = Starting {
            session,
            name: name.clone(),
            chosen: true,
            profile: profile.into(),
            model: None,
            cwd: "/project/part".into(),
            roles: vec!["reviews".into()],
            owner: self.membership.session(),
            token_hash: String::new(),
        };
        let new = NewAgent::new(NameChoice::Chosen(name), starting);
        self.membership.ask(Operation::Start(Box::new(new), None)).await.unwrap();
        let ready = Operation::Ready { session, model: Some("small".into()), pid: 1 };
        self.membership.ask(ready).await.unwrap();
        session
    }

    /// Gives an agent a task, and returns it.
    async fn assign(&self, session: SessionId, prompt: &str) -> TaskId {
        let task = NewTask::of(Body::Text(prompt.to_owned()));
        self.membership.ask(Operation::Assign { session, task }).await.unwrap();
        self.membership.bus().look(|state| state.newest_tasks()[0].id.clone())
    }

    /// Gives an agent a task, and cancels it.
    async fn assign_and_cancel(&self, session: SessionId, prompt: &str) -> TaskId {
        let task = self.assign(session, prompt).await;
        self.membership.ask(Operation::CancelTask(task.clone())).await.unwrap();
        task
    }

    async fn list(&mut self, filter: Value) -> Value {
        self.client.call("get_task_status", filter).await
    }
}

fn ids(page: &Value) -> Vec<&str> {
    let tasks = page["tasks"].as_array().unwrap().iter();
    tasks.map(|task| task["task_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_new_session_finds_the_tasks_of_an_earlier_one() {
    let team = Team::new();
    let earlier = leader(&team, "boss").await;
    let agent = earlier.start("reviewer", "codex").await;
    let long = format!("Review\n the\u{202e} parser. {}", "Every line of it. ".repeat(40));
    let first = earlier.assign(agent, &long).await;
    let second = earlier.assign_and_cancel(agent, "Fix it").await;
    earlier.membership.ask(Operation::StartTask(first.clone())).await.unwrap();
    earlier.client.close().await;

    let mut later = leader(&team, "next").await;
    let page = later.list(json!({})).await;
    assert_eq!(ids(&page), [second.to_string(), first.to_string()]);
    assert_eq!(page.get("next_cursor"), None);
    let task = &page["tasks"][1];
    let prompt = task["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("Review the parser. Every line of it. E"), "{prompt}");
    assert!(prompt.ends_with('…') && prompt.chars().count() == limits::PROMPT_CHARS + 1);
    for (field, expected) in [
        ("agent", "reviewer"),
        ("profile", "codex"),
        ("status", "running"),
        ("assigned_by", "boss"),
    ] {
        assert_eq!(task[field], expected, "{task}");
    }
    // A task by its id, and its result, have the same fields.
    let alone = later.list(json!({ "task_id": first.to_string() })).await;
    assert_eq!(alone, *task);
    let result = json!({ "task_id": second.to_string() });
    let result = later.client.call("get_task_result", result).await;
    assert_eq!((&result["prompt"], &result["profile"]), (&json!("Fix it"), &json!("codex")));
}

#[tokio::test]
async fn pages_have_every_task_once_even_if_others_are_assigned_in_between() {
    let team = Team::new();
    let mut lead = leader(&team, "boss").await;
    let agent = lead.start("worker", "qwen").await;
    let mut expected = Vec::new();
    for number in 0..2 * limits::TASKS_ON_A_PAGE + 3 {
        let task = lead.assign_and_cancel(agent, &format!("task {number}")).await;
        expected.insert(0, task.to_string());
    }
    let (mut found, mut filter) = (Vec::new(), json!({}));
    loop {
        let page = lead.list(filter).await;
        assert!(ids(&page).len() <= limits::TASKS_ON_A_PAGE);
        found.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page.get("next_cursor") else { break };
        filter = json!({ "cursor": cursor });
        lead.assign_and_cancel(agent, "meanwhile").await;
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_list_can_be_narrowed_and_a_wrong_filter_is_refused() {
    let team = Team::new();
    let mut lead = leader(&team, "boss").await;
    let (ann, bob) = (lead.start("ann", "codex").await, lead.start("bob", "qwen").await);
    let one = lead.assign(ann, "one").await.to_string();
    let two = lead.assign_and_cancel(ann, "two").await.to_string();
    let three = lead.assign(bob, "three").await.to_string();
    for (filter, expected) in [
        (json!({ "status": "starting" }), vec![&three, &one]),
        (json!({ "status": "queued" }), vec![]),
        (json!({ "status": "cancelled" }), vec![&two]),
        (json!({ "status": "done" }), vec![]),
        (json!({ "agent": "Ann" }), vec![&two, &one]),
        (json!({ "agent": "codex", "status": "starting" }), vec![&one]),
        (json!({ "agent": "gemini" }), vec![]),
        (json!({ "since": "2020-01-01" }), vec![&three, &two, &one]),
        (json!({ "since": "2120-01-01T08:00Z" }), vec![]),
    ] {
        assert_eq!(ids(&lead.list(filter.clone()).await), expected, "{filter}");
    }
    for (filter, expected) in [
        (
            json!({ "status": "open" }),
            "`status` of `get_task_status` must be `queued`, `starting`, `running`, `done`, `failed`, \
             `cancelled` or `interrupted`, not the string \"open\"",
        ),
        (
            json!({ "since": "yesterday" }),
            "since is \"yesterday\"; write a day or a time in UTC, such as 2026-01-31 or \
             2026-01-31T08:00Z",
        ),
        (
            json!({ "agent": "boob" }),
            "`boob` is neither a live agent nor a profile: did you mean `bob`?",
        ),
        (
            json!({ "cursor": "next" }),
            "invalid cursor: use a next_cursor, or leave it out for the newest",
        ),
        (
            json!({ "task_id": one, "agent": "ann" }),
            "with task_id, leave out status, agent, since and cursor",
        ),
    ] {
        assert_eq!(lead.client.refused("get_task_status", filter).await, expected);
    }
}

#[tokio::test]
async fn a_page_ends_when_the_answer_is_full() {
    let team = Team::new();
    let answer = 4 * 1024;
    let membership = team.membership("boss").await.with_answers_of(answer);
    let mut lead = of(membership).await;
    let agent = lead.start("worker", "qwen").await;
    for _ in 0..12 {
        lead.assign_and_cancel(agent, &"\"\u{1f980}".repeat(200)).await;
    }
    let (mut pages, mut found, mut filter) = (0, 0, json!({}));
    loop {
        let page = lead.list(filter).await;
        let bytes = serde_json::to_string_pretty(&page).unwrap().len();
        assert!(bytes <= answer, "{bytes}");
        pages += 1;
        found += ids(&page).len();
        let Some(cursor) = page.get("next_cursor") else { break };
        filter = json!({ "cursor": cursor });
    }
    assert_eq!(found, 12);
    assert!(pages > 2, "{pages}");
}

#[tokio::test]
async fn a_task_whose_prompt_cannot_be_read_is_listed_with_the_reason_and_a_forgotten_one_without()
{
    let team = Team::new();
    let mut lead = leader(&team, "boss").await;
    let agent = lead.start("worker", "qwen").await;
    for prompt in ["one", "two", "three"] {
        lead.assign(agent, prompt).await;
    }
    let no_descriptor = LogError::Io {
        action: "read",
        path: "/project/.claude/bridge/blobs/x".into(),
        source: io::Error::from_raw_os_error(24).into(),
    };
    team.fail_reads([no_descriptor, LogError::Gone]);
    let page = lead.list(json!({})).await;
    let (three, two, one) = (&page["tasks"][0], &page["tasks"][1], &page["tasks"][2]);
    assert_eq!(three.get("prompt"), None);
    let lost = three["prompt_lost"].as_str().unwrap();
    assert!(lost.starts_with("the bus failed to read its files: Too many open files"), "{lost}");
    assert_eq!((two.get("prompt"), two.get("prompt_lost")), (None, None));
    assert_eq!(one["prompt"], "one");
}

#[tokio::test]
async fn the_list_of_members_says_what_each_is_doing() {
    let team = Team::new();
    let lead = leader(&team, "boss").await;
    let agent = lead.start("reviewer", "codex").await;
    let mut ann = team.member("ann").await;
    let mut of_reviewer = async || {
        let listed = ann.call("list_agents", json!({})).await;
        let agents = listed["agents"].as_array().unwrap();
        assert!(!listed.to_string().contains("unknown"), "{listed}");
        agents.iter().find(|agent| agent["name"] == "reviewer").unwrap().clone()
    };
    let idle = of_reviewer().await;
    for (field, expected) in [
        ("doing", json!("idle")),
        ("profile", json!("codex")),
        ("model", json!("small")),
        ("roles", json!(["reviews"])),
        ("cwd", json!("/project/part")),
    ] {
        assert_eq!(idle[field], expected, "{idle}");
    }
    let prompt = format!("say \"hi\"\n{}", "and on ".repeat(30));
    let task = lead.assign(agent, &prompt).await;
    lead.assign(agent, "later").await;
    // It has not asked for our tools: the task says the same.
    let starting = of_reviewer().await;
    assert_eq!(starting["doing"], "starting, 2 tasks in its queue");
    assert_eq!(starting["status"], "running");
    lead.membership.ask(Operation::StartTask(task.clone())).await.unwrap();
    let doing = of_reviewer().await["doing"].as_str().unwrap().to_owned();
    assert!(doing.starts_with(&format!("running {task} for ")), "{doing}");
    let (_, quote) = doing.split_once(" s, 1 task in its queue: ").unwrap();
    let quote: String = serde_json::from_str(quote).unwrap();
    assert!(quote.starts_with("say \"hi\" and on ") && quote.ends_with('…'), "{quote}");
    assert_eq!(quote.chars().count(), limits::DOING_CHARS + 1);
}

/// Waits, as a client that asked for progress, and returns the first words that it hears.
async fn heard_while_waiting(client: &mut Client, arguments: Value) -> String {
    let meta = json!({ "progressToken": "p-1" });
    let params = json!({ "name": "wait_for_message", "arguments": arguments, "_meta": meta });
    client.begin("tools/call", params).await;
    loop {
        let next = client.next().await;
        if next["method"] == "notifications/progress" {
            return next["params"]["message"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn a_wait_says_what_the_team_is_doing() {
    let team = Team::new();
    let mut lead = leader(&team, "boss").await;
    let agent = lead.start("reviewer", "codex").await;
    let _idle = lead.start("writer", "codex").await;
    let mut ann = team.member("ann").await;
    let task = lead.assign(agent, "look").await;
    lead.membership.ask(Operation::StartTask(task.clone())).await.unwrap();
    let all = heard_while_waiting(&mut lead.client, json!({ "timeout_seconds": 60 })).await;
    let expected = format!("waiting for a message; reviewer: running {task} for ");
    assert!(all.starts_with(&expected) && !all.contains("writer"), "{all}");
    let from_writer = json!({ "from": "writer", "timeout_seconds": 60 });
    let one = heard_while_waiting(&mut ann, from_writer).await;
    assert!(one.starts_with("waiting for a message; writer: idle ("), "{one}");
}

#[tokio::test]
async fn the_list_of_members_has_their_ids_and_what_they_say_of_themselves() {
    let team = Team::new();
    let label = |text: &str| Label::parse(text).unwrap();
    let traits = Traits {
        lane: Some(label("storage")),
        capabilities: vec![label("rust"), label("review")],
        topics: vec![label("releases")],
        surface: Some(label("claude-code")),
    };
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse("bob").unwrap()),
        kind: MemberKind::Peer,
        roles: vec!["reviewer".into()],
        description: Description { traits, cwd: Some("/project".into()), ..Description::default() },
    };
    let bob = Membership::join(&team.bus(), joining).await.unwrap();
    let mut ann = team.member("ann").await;
    let listed = ann.call("list_agents", json!({})).await;
    let (of_bob, of_ann) = (&listed["agents"][0], &listed["agents"][1]);
    for (field, expected) in [
        ("id", json!("s1")),
        ("roles", json!(["reviewer"])),
        ("lane", json!("storage")),
        ("capabilities", json!(["rust", "review"])),
        ("topics", json!(["releases"])),
        ("surface", json!("claude-code")),
        ("cwd", json!("/project")),
    ] {
        assert_eq!(of_bob[field], expected, "{listed}");
    }
    assert_eq!(of_ann["id"], "s2");
    for field in ["roles", "lane", "capabilities", "topics", "surface"] {
        assert_eq!(of_ann.get(field), None, "{listed}");
    }
    let sent = ann.call("send_message", json!({ "to": "s1", "content": "hello" })).await;
    assert_eq!(sent["recipients"][0]["name"], "bob", "{sent}");
    // A filter by sender takes it too.
    bob.call().send("s2".into(), "hi".into(), None).await.unwrap();
    let read = ann.call("check_messages", json!({ "agent_id": "s1" })).await;
    assert_eq!(read["messages"][0]["content"], "hi", "{read}");
}

#[tokio::test]
async fn a_task_whose_output_is_lost_is_shown_with_everything_else_and_says_why() {
    let team = Team::new();
    let mut boss = leader(&team, "boss").await;
    let agent = boss.start("ann", "codex").await;
    let task = boss.assign(agent, "paint").await;
    boss.membership.ask(Operation::StartTask(task.clone())).await.unwrap();
    let ending = Ending {
        status: TaskStatus::Done,
        output: Body::Text("painted".to_owned()),
        stop_reason: Some("end_turn".to_owned()),
        error: None,
        report: TaskReport { details: Some(Body::Text("{}".to_owned())), ..TaskReport::default() },
    };
    boss.membership.ask(Operation::FinishTask(task.clone(), Box::new(ending))).await.unwrap();
    let asked = json!({ "task_id": task.to_string() });
    team.fail_reads([LogError::ChangedText, LogError::ChangedText, LogError::ChangedText]);
    let lost = boss.client.call("get_task_result", asked.clone()).await;
    let why = LogError::ChangedText.to_string();
    assert_eq!(lost["lost"], json!({ "output": why, "details": why }), "{lost}");
    assert_eq!((&lost["output"], &lost["status"]), (&json!(""), &json!("done")), "{lost}");
    assert_eq!(lost["stop_reason"], "end_turn", "{lost}");
    assert!(lost["prompt_lost"].is_string(), "{lost}");
    // A failure that may be over soon is an error: the same call has the output later.
    let busy = LogError::Io {
        action: "read",
        path: "blob".into(),
        source: io::Error::from_raw_os_error(24).into(),
    };
    team.fail_reads([busy]);
    let refused = boss.client.refused("get_task_result", asked.clone()).await;
    assert!(refused.contains("Too many open files"), "{refused}");
    let whole = boss.client.call("get_task_result", asked).await;
    assert_eq!((&whole["output"], whole.get("lost")), (&json!("painted"), None), "{whole}");
}

#[tokio::test]
async fn a_list_of_many_members_fits_into_an_answer_and_names_them_all() {
    let team = Team::new();
    let lead = leader(&team, "boss").await;
    for number in 0..8 {
        let agent = lead.start(&format!("agent-{number}"), "codex").await;
        let task = lead.assign(agent, &"work ".repeat(50)).await;
        lead.membership.ask(Operation::StartTask(task)).await.unwrap();
    }
    let answer = 4 * 1024;
    let membership = team.membership("ann").await.with_answers_of(answer);
    let mut ann = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
    ann.initialize().await;
    let listed = ann.call("list_agents", json!({})).await;
    let bytes = serde_json::to_string_pretty(&listed).unwrap().len();
    assert!(bytes <= answer, "{bytes}");
    let agents = listed["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 10);
    assert!(agents[1].get("doing").is_some() && agents[8].get("doing").is_none(), "{listed}");
}
