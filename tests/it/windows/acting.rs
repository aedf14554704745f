//! A person acts on the team from the window.

use crate::support::{Stage, Terminal, until};
use crate::windows::team_of_five::{SCRIPT, SMALL, five};

#[tokio::test]
async fn a_person_answers_writes_cancels_and_kills_from_the_window() {
    let stage = Stage::new(SCRIPT);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    let lead = five(&stage).await;
    terminal.until_shows("1 needs you, 6 members, 2 working, 1 waiting").await;

    // The question, with its whole command. Enter alone would be a no.
    terminal.press("a");
    terminal.until_shows("Allow once").await;
    terminal.until_shows("&& echo").await;
    terminal.press("o\r");
    until("the answer", || !stage.events_of("permission_answered").is_empty()).await;
    let answer = &stage.events_of("permission_answered")[0];
    assert_eq!((&answer["decision"], &answer["by"]), (&"allow_once".into(), &"human".into()));
    terminal.until_shows("may do this once").await;

    terminal.press("/dan\r");
    terminal.until_shows("filter \"dan\"").await;
    terminal.press("m");
    terminal.press("look again\r");
    let is_sent =
        || stage.events_of("message_sent").iter().any(|sent| sent["body"]["text"] == "look again");
    until("the message", is_sent).await;
    terminal.until_shows("the message is stored").await;
    without_filter(&mut terminal, "● eve").await;

    // Both ask twice, and only `y` and then Enter is a yes.
    terminal.press("/cay\r");
    terminal.until_shows("filter \"cay\"").await;
    terminal.press("xn");
    terminal.press("xy");
    terminal.until_shows("Press Enter to do it").await;
    terminal.press("\r");
    until("the cancel", || !stage.events_of("task_cancel_asked").is_empty()).await;
    terminal.until_shows("cancelled").await;
    without_filter(&mut terminal, "● eve").await;
    terminal.press("/eve\r");
    terminal.until_shows("filter \"eve\"").await;
    terminal.press("Ky");
    terminal.until_shows("All its processes end at once").await;
    terminal.press("\r");
    until("the kill", || !stage.events_of("stop_asked").is_empty()).await;
    lead.until("list_agents", serde_json::json!({}), |list| {
        crate::support::of_name(list, "eve").is_none()
    })
    .await;
    assert_eq!(stage.events_of("task_cancel_asked").len(), 1);

    // No turn of its script fits what it was woken for.
    without_filter(&mut terminal, "✗ dan").await;
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    lead.close().await;
    stage.check_nobody_is_left();
}

/// Closes the filter, which leaves somebody out. A key right behind the escape would be taken for a key with Alt.
async fn without_filter(terminal: &mut Terminal, left_out: &str) {
    terminal.press("\x1b");
    terminal.until_shows(left_out).await;
}

#[tokio::test]
async fn a_step_is_refused_from_the_window_after_a_look_at_what_it_would_be_told() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ say = \"the release\" }]\n");
    let lead = stage.orchestrator().await;
    let steps = serde_json::json!([
        { "name": "list", "agent": "scripted", "prompt": "list" },
        {
            "name": "deploy", "agent": "scripted", "depends_on": ["list"], "approve": "human",
            "prompt": "Deploy\n{{steps.list.output}}\nnow.",
        },
    ]);
    lead.call("create_workflow", serde_json::json!({ "name": "w", "steps": steps })).await;
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("approval: step for").await;
    terminal.press("a");
    terminal.until_shows("May the step deploy begin?").await;
    terminal.until_shows("the release").await;
    terminal.press("w\r");
    terminal.until_shows("Why not deploy?").await;
    terminal.press("not today\r");
    let refusal = || {
        let ended = stage.events_of("step_ended");
        ended.into_iter().find(|ended| ended["step"] == "deploy")
    };
    until("the refusal", || refusal().is_some()).await;
    let why = refusal().unwrap()["why"].as_str().unwrap().to_owned();
    assert!(why.contains("not today"), "{why}");
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    lead.close().await;
    stage.check_nobody_is_left();
}
