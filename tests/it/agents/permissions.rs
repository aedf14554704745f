//! Permission requests of agents: answered by the policy, a user, an orchestrator or the deadline, or ended with their turn.

mod forms;

use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::Lifecycle;
use serde_json::{Value, json};

use self::forms::user;
use crate::support::{Member, Stage, of_name};

const AGENTS: &str = r#"
[[agents.default.turns]]
when = "Your task: places"
steps = [
  { ask_permission = "inside", kind = "edit", paths = ["new/deep.rs"], save = "inside" },
  { ask_permission = "read", kind = "read", paths = [".claude/bridge.toml"], save = "read" },
  { ask_permission = "outside", kind = "edit", paths = ["out/x"], on_reject = "go_on", save = "outside" },
  { say = "{{inside.option}} {{read.option}} {{outside.option}}" },
]
[[agents.default.turns]]
when = "Your task: guarded"
steps = [
  { ask_permission = "hooks", kind = "edit", paths = ["vendor/lib/.git/hooks/pre-commit"], on_reject = "go_on", save = "a" },
  { ask_permission = "servers", kind = "edit", paths = [".mcp.json"], on_reject = "go_on", save = "b" },
  { ask_permission = "ours", kind = "edit", paths = ["deploy/now"], on_reject = "go_on", save = "c" },
  { ask_permission = "settings", kind = "edit", paths = [".claude/settings.json"], on_reject = "go_on", save = "d" },
  { ask_permission = "the link's end", kind = "edit", paths = ["dot/settings.json"], on_reject = "go_on", save = "e" },
  { ask_permission = "code", kind = "edit", paths = ["src/main.rs"], save = "f" },
  { say = "{{a.option}} {{b.option}} {{c.option}} {{d.option}} {{e.option}} {{f.option}}" },
]
[[agents.default.turns]]
when = "Your task: reported twice"
steps = [
  { ask_permission = "settings", kind = "edit", paths = [".claude/settings.json"], call_id = "one", on_reject = "go_on", save = "a" },
  { ask_permission = "code", kind = "edit", paths = ["src/main.rs"], call_id = "one", on_reject = "go_on", save = "b" },
  { ask_permission = "run", kind = "execute", call_id = "two", on_reject = "go_on", save = "c" },
  { ask_permission = "read", kind = "read", paths = ["src/main.rs"], call_id = "two", on_reject = "go_on", save = "d" },
  { ask_permission = "code", kind = "edit", paths = ["src/main.rs"], save = "e" },
  { say = "{{a.option}} {{b.option}} {{c.option}} {{d.option}} {{e.option}}" },
]
[[agents.default.turns]]
when = "Your task: linked"
steps = [
  { ask_permission = "harmless", kind = "edit", paths = ["src/a", "notes/deep", "new", "src/../.envrc", "x -> src/a", "loop"], on_reject = "go_on", save = "a" },
  { say = "{{a.option}}" },
]
[[agents.default.turns]]
when = "Your task: often"
steps = [
  { ask_permission = "one", kind = "read", paths = ["a"] },
  { ask_permission = "two", kind = "read", paths = ["b"] },
  { ask_permission = "three", kind = "read", paths = ["c"] },
  { ask_permission = "four", kind = "edit", paths = ["c"] },
  { say = "done" },
]
[[agents.default.turns]]
when = "Your task: unannounced"
steps = [
  { say = "I ask." },
  { ask_permission = "read it", kind = "read", paths = ["notes.txt"], unannounced = true, save = "inside" },
  { ask_permission = "change it", kind = "edit", paths = ["out/x"], unannounced = true, on_reject = "go_on", save = "outside" },
  { say = "{{inside.option}} {{outside.option}}" },
]
[[agents.default.turns]]
when = "Your task: run"
steps = [
  { ask_permission = "run {{name}}", kind = "execute", call_id = "same", on_reject = "go_on", save = "one" },
  { ask_permission = "run again", kind = "execute", call_id = "same", on_reject = "go_on", save = "two" },
  { say = "{{one.option}} {{two.option}}" },
]
[[agents.default.turns]]
when = "Your task: later"
steps = [
  { wait_for = { from = "gate", seconds = 120 } },
  { ask_permission = "build", kind = "execute", on_reject = "go_on", save = "it" },
  { say = "{{it.option}}" },
]
[[agents.default.turns]]
when = "Your task: once"
steps = [
  { ask_permission = "build\n--- End", kind = "execute", on_reject = "go_on", save = "it" },
  { say = "{{it.option}}" },
]
"#;

/// A stage whose agents' permission requests wait so many seconds for an answer.
fn stage(policy: &str, seconds: u64) -> Stage {
    let profile =
        format!("[agents.scripted]\npermissions = \"{policy}\"\npermission_seconds = {seconds}\n");
    with_outside_link(Stage::new(AGENTS).with_profiles(&profile))
}

/// Adds a link `out` to a directory outside of the project.
pub(super) fn with_outside_link(stage: Stage) -> Stage {
    let outside = stage.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(outside, stage.project().join("out")).unwrap();
    stage
}

/// Waits for a permission request of an agent, and returns it.
pub(super) async fn asked(lead: &Member, agent: &str, title: &str) -> Value {
    let found = |all: &Value| -> Option<Value> {
        let open = all["permissions"].as_array()?;
        let matches = |request: &&Value| {
            request["agent"] == agent && request["title"].as_str().unwrap().starts_with(title)
        };
        open.iter().find(matches).cloned()
    };
    let all = lead.until("get_agent_status", json!({}), |all| found(all).is_some()).await;
    found(&all).unwrap()
}

pub(super) async fn answer(lead: &Member, question: &Value, decision: &str) -> Value {
    let answer = json!({ "permission_id": question["permission_id"], "decision": decision });
    lead.call("answer_permission", answer).await
}

/// Returns the source and the decision of each answer, in order.
pub(super) fn answers(stage: &Stage) -> Vec<(String, String)> {
    let answered = stage.events_of("permission_answered").into_iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    answered.map(|event| (word(&event["by"]), word(&event["decision"]))).collect()
}

pub(super) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(by, decision): &(&str, &str)| ((*by).to_owned(), (*decision).to_owned());
    expected.iter().map(owned).collect()
}

#[tokio::test]
async fn the_rules_allow_paths_inside_the_project_and_an_orchestrator_is_asked_about_others() {
    let stage = stage("rules", 120);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "places").await;
    let question = asked(&lead, "ann", "outside").await;
    assert_eq!(question["kind"], "edit");
    assert_eq!(question["offers"], json!(["allow_once", "allow_always", "reject"]));
    let outside = stage.home().canonicalize().unwrap().join("outside/x");
    let path = format!("out/x -> {}", outside.display());
    assert_eq!(question["paths"], json!([path]));
    assert!(question["asked_at"].is_string());
    let id = question["permission_id"].as_str().unwrap();
    lead.hear_notice(id).await;
    lead.until_agent("ann", |ann| ann["status"] == "waiting_permission").await;
    let listed = lead.call("list_agents", json!({})).await;
    let ann = of_name(&listed, "ann").unwrap();
    assert_eq!(ann["status"], "running");
    let said = answer(&lead, &question, "allow_once").await;
    assert_eq!((&said["answered"], &said["by"]), (&json!(true), &json!("orchestrator")));
    assert_eq!(lead.done(&task).await, "allow_once allow_once allow_once");
    let late = answer(&lead, &question, "reject").await;
    assert_eq!((&late["answered"], &late["decision"]), (&json!(false), &json!("allow_once")));
    assert!(late["reason"].as_str().unwrap().contains("already"), "{late}");
    assert_eq!(
        answers(&stage),
        pairs(&[
            ("policy", "allow_once"),
            ("policy", "allow_once"),
            ("orchestrator", "allow_once")
        ])
    );
    let refused = lead
        .refused(
            "answer_permission",
            json!({ "permission_id": "perm-aaaaaaaa", "decision": "reject" }),
        )
        .await;
    assert!(refused.contains("get_agent_status"), "{refused}");
    let refused =
        lead.refused("answer_permission", json!({ "permission_id": id, "decision": "yes" })).await;
    assert!(refused.contains("allow_once"), "{refused}");
    lead.close().await;
}

/// Gemini does not announce a call before it asks, and sends nothing about it after a rejection.
#[tokio::test]
async fn an_unannounced_call_is_judged_like_any_other() {
    let stage = stage("rules", 120);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "unannounced").await;
    let question = asked(&lead, "ann", "change it").await;
    assert_eq!(question["kind"], "edit");
    answer(&lead, &question, "reject").await;
    // What it says before its questions is a paragraph of its own, though it announces no call.
    assert_eq!(lead.done(&task).await, "I ask.\n\nallow_once reject_once");
    lead.close().await;
}

#[tokio::test]
async fn a_permission_request_without_an_answer_in_time_is_rejected() {
    let stage = stage("ask", 1);
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "once").await, "reject_once");
    assert_eq!(answers(&stage), pairs(&[("deadline", "reject")]));
    lead.close().await;
}

#[tokio::test]
async fn editing_a_guarded_file_is_asked_about_wherever_links_lead() {
    let profile = "[agents.scripted]\npermission_seconds = 1\nguarded = [\"deploy\"]\n";
    let stage = Stage::new(AGENTS).with_profiles(profile);
    // As for a user who keeps such settings elsewhere.
    let (claude, dot) = (stage.project().join(".claude"), stage.project().join("dot"));
    std::fs::rename(&claude, &dot).unwrap();
    std::os::unix::fs::symlink("dot", &claude).unwrap();
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "guarded").await;
    let rejected = "reject_once ".repeat(5);
    assert_eq!(lead.done(&task).await, format!("{rejected}allow_once"));
    let asked: Vec<_> = stage.events_of("permission_asked");
    assert_eq!(asked.len(), 5, "{asked:?}");
    lead.close().await;
}

#[tokio::test]
async fn every_path_and_kind_in_any_message_about_a_call_is_judged() {
    let stage = Stage::new(AGENTS).with_profiles("[agents.scripted]\npermission_seconds = 1\n");
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "reported twice").await;
    let rejected = "reject_once ".repeat(4);
    assert_eq!(lead.done(&task).await, format!("{rejected}allow_once"));
    let asked = stage.events_of("permission_asked");
    let asked: Vec<_> = asked.iter().map(|asked| &asked["question"]).collect();
    let both = json!([".claude/settings.json", "src/main.rs"]);
    assert_eq!(asked[1]["paths"], both, "{asked:?}");
    assert_eq!(asked[3]["kind"], "execute", "{asked:?}");
    lead.close().await;
}

#[tokio::test]
async fn a_permission_request_shows_where_a_path_leads() {
    for policy in ["rules", "ask"] {
        let stage = stage(policy, 120);
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, stage.project().join(name)).unwrap();
        };
        link("../home/outside", "notes");
        link(".mcp.json", "new");
        link("loop", "loop");
        link("../home/outside/there", "x -> src");
        let outside = stage.home().canonicalize().unwrap().join("outside");
        let (forms, shown) = user(None);
        let lead = stage.orchestrator_of(Lifecycle::Session, forms).await;
        let task = lead.start("ann", "linked").await;
        let question = asked(&lead, "ann", "harmless").await;
        let paths = [
            format!("notes/deep -> {}/deep", outside.display()),
            "new -> .mcp.json".to_owned(),
            "src/../.envrc -> .envrc".to_owned(),
            format!("\"x -> src/a\" -> {}/there/a", outside.display()),
            "loop -> ?".to_owned(),
            // Paths that the rules alone would allow come last.
            "src/a".to_owned(),
        ];
        assert_eq!(question["paths"], json!(paths));
        answer(&lead, &question, "reject").await;
        assert_eq!(lead.done(&task).await, "reject_once");
        let shown = shown.lock().unwrap().clone();
        assert!(shown[0].contains("\"new -> .mcp.json\""), "{shown:?}");
        lead.close().await;
    }
}

#[tokio::test]
async fn equal_policy_answers_in_a_turn_are_recorded_as_the_first_and_a_count() {
    let stage = stage("rules", 120);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "often").await;
    assert_eq!(lead.done(&task).await, "done");
    let answered = stage.events_of("permission_answered");
    let recorded: Vec<_> = answered
        .iter()
        .map(|event| (event["question"]["title"].as_str().unwrap(), &event["times"]))
        .collect();
    let (null, two) = (Value::Null, json!(2));
    assert_eq!(recorded, [("one", &null), ("four", &null), ("three", &two)]);
    lead.close().await;
}

#[tokio::test]
async fn a_tasks_own_policy_overrides_its_profiles() {
    let stage = stage("ask", 120);
    let lead = stage.orchestrator().await;
    let with = |policy: &str| json!({ "agent": "scripted", "prompt": "once", "permissions": policy, "wait": true });
    let allowed = lead.call("assign_task", with("allow")).await;
    assert_eq!(allowed["output"], "allow_once", "{allowed}");
    let denied = lead.call("assign_task", with("deny")).await;
    assert_eq!(denied["output"], "reject_once", "{denied}");
    assert_eq!(answers(&stage), pairs(&[("policy", "allow_once"), ("policy", "reject")]));
    let refused = lead.refused("assign_task", with("maybe")).await;
    assert!(refused.contains("`allow`, `rules`, `ask` or `deny`"), "{refused}");
    lead.close().await;
}

#[tokio::test]
async fn concurrent_and_repeated_questions_each_get_their_own_answer() {
    let stage = stage("ask", 120);
    let lead = stage.orchestrator().await;
    let tasks = [lead.start("ann", "run").await, lead.start("ben", "run").await];
    let ann = asked(&lead, "ann", "run ann").await;
    let ben = asked(&lead, "ben", "run ben").await;
    answer(&lead, &ben, "reject").await;
    answer(&lead, &ann, "allow_always").await;
    let ann = asked(&lead, "ann", "run again").await;
    let ben = asked(&lead, "ben", "run again").await;
    answer(&lead, &ann, "reject").await;
    answer(&lead, &ben, "allow_once").await;
    assert_eq!(lead.done(&tasks[0]).await, "allow_always reject_once");
    assert_eq!(lead.done(&tasks[1]).await, "reject_once allow_once");
    assert_eq!(stage.events_of("permission_asked").len(), 4);
    lead.close().await;
}

/// The agent offers no lasting no of its own, so the bridge remembers it.
#[tokio::test]
async fn a_lasting_refusal_answers_the_same_question_of_that_agent_and_no_other() {
    let stage = stage("ask", 120);
    let lead = stage.orchestrator().await;
    let (ann, ben) = (lead.start("ann", "once").await, lead.start("ben", "once").await);
    let question = asked(&lead, "ann", "build").await;
    let answered = answer(&lead, &question, "reject_always").await;
    assert_eq!(answered["decision"], "reject_always", "{answered}");
    assert_eq!(lead.done(&ann).await, "reject_once");
    let stored = stage.events_of("permission_answered").pop().unwrap();
    assert_eq!((&stored["decision"], &stored["lasts"]), (&json!("reject"), &json!(true)));

    let other = asked(&lead, "ben", "build").await;
    answer(&lead, &other, "allow_once").await;
    assert_eq!(lead.done(&ben).await, "allow_once");

    let again = lead.assign("ann", "once").await;
    assert_eq!(lead.done(&again).await, "reject_once");
    assert_eq!(stage.events_of("permission_asked").len(), 2, "it is not asked again");
    let stored = stage.events_of("permission_answered").pop().unwrap();
    assert_eq!((&stored["by"], &stored["decision"]), (&json!("policy"), &json!("reject")));
    lead.close().await;
}

#[tokio::test]
async fn any_orchestrator_answers_and_only_the_first_answer_counts() {
    let stage = stage("ask", 120);
    let lead = stage.orchestrator().await;
    let other = stage.orchestrator().await;
    let task = lead.start("ann", "once").await;
    let question = asked(&other, "ann", "build").await;
    let (first, second) =
        tokio::join!(answer(&lead, &question, "reject"), answer(&other, &question, "allow_once"));
    assert_ne!(first["answered"], second["answered"], "{first} {second}");
    assert_eq!(first["decision"], second["decision"]);
    let expected = if first["decision"] == "reject" { "reject_once" } else { "allow_once" };
    assert_eq!(lead.done(&task).await, expected);
    assert_eq!(answers(&stage).len(), 1);
    other.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_question_delays_neither_a_cancel_nor_a_stop_nor_a_kill() {
    let stage = stage("ask", 3600);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "once").await;
    let question = asked(&lead, "ann", "build").await;
    let began = Instant::now();
    let cancelled = lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(cancelled["cancelled"], true, "{cancelled}");
    let late = answer(&lead, &question, "allow_once").await;
    assert_eq!((&late["answered"], &late["by"]), (&json!(false), &json!("ended")));

    lead.assign("ann", "once").await;
    asked(&lead, "ann", "build").await;
    lead.call("shutdown_agent", json!({ "agent": "ann" })).await;
    lead.until("list_agents", json!({}), |all| of_name(all, "ann").is_none()).await;

    lead.start("ben", "once").await;
    asked(&lead, "ben", "build").await;
    let killed = lead.call("kill_agent", json!({ "agent": "ben" })).await;
    assert_eq!(killed["killed"], true);
    // The turn alone would have had 20 s before the stop.
    assert!(began.elapsed() < Duration::from_secs(18), "{:?}", began.elapsed());
    let status = lead.call("get_agent_status", json!({})).await;
    assert!(status.get("permissions").is_none(), "{status}");
    assert_eq!(answers(&stage), vec![("ended".to_owned(), "cancelled".to_owned()); 3]);

    lead.start("cid", "once").await;
    asked(&lead, "cid", "build").await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_wait_for_a_task_returns_at_once_when_its_agent_asks() {
    let stage = stage("ask", 3600);
    let lead = stage.orchestrator().await;
    let work =
        json!({ "agent": "scripted", "prompt": "once", "wait": true, "timeout_seconds": 120 });
    let began = Instant::now();
    let waited = lead.call("assign_task", work).await;
    assert_eq!(waited["status"], "running", "{waited}");
    assert!(began.elapsed() < Duration::from_mins(1));
    let question = asked(&lead, "scripted", "build").await;
    lead.hear_notice(question["permission_id"].as_str().unwrap()).await;
    answer(&lead, &question, "allow_once").await;
    assert_eq!(lead.done(waited["task_id"].as_str().unwrap()).await, "allow_once");
    lead.close().await;
}
