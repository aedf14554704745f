//! The orchestrator is killed during a step of a real agent. The next orchestrator resumes the step in the same conversation.

use serde_json::json;

use crate::agent_kinds::Kind;
use crate::model::Rule;
use crate::real_project::{Scene, shown_to_models};

/// Kills the orchestrator during a turn, and checks that the next prompt comes with the earlier conversation.
pub(crate) async fn continues_the_session_of_an_interrupted_step(kind: &Kind) {
    let again = "This step was started before, and interrupted";
    let rules = vec![
        Rule::user(again).says("The wall stands."),
        Rule::user("Build the wall")
            .says("The first stone has the number 4718.")
            .calls("list_agents", json!({})),
        Rule::result("orchestrator").behind("never"),
    ];
    let scene = Scene::new(&[kind], rules).await;
    let mut step = json!({ "name": "wall", "agent": kind.name, "prompt": "Build the wall." });
    step["model"] = json!(kind.model);
    let plan = json!({ "name": "build", "steps": [step] });
    let created = scene.lead.call("create_workflow", plan).await;
    scene.until_answered("orchestrator").await;

    let Scene { lead, model, stage, .. } = scene;
    lead.die().await;
    let lead = stage.orchestrator().await;
    let workflow = json!({ "workflow_id": created["workflow_id"] });
    lead.call("resume_workflow", workflow.clone()).await;
    lead.hear_notice("(\"build\") is done: 1 of 1 step done").await;
    let status = lead.call("get_workflow_status", workflow).await;
    let step = &status["steps"][0];
    assert_eq!(
        step["context"],
        "resumed",
        "{status}; {}; {}",
        shown_to_models(&model),
        lead.stderr()
    );
    assert_eq!(step["agent"], kind.name, "{status}");
    let output = step["output"].as_str().unwrap().trim();
    assert_eq!(output, "The wall stands.");
    let shown = model.shown();
    let mut resumed = shown.iter().filter(|shown| shown.rule.as_deref() == Some(again));
    let is_shown = |text: &str| resumed.clone().all(|shown| shown.whole.contains(text));
    assert!(is_shown("the number 4718"), "{}", shown_to_models(&model));
    assert!(is_shown("Build the wall"), "{}", shown_to_models(&model));
    assert!(resumed.next().is_some(), "{}", shown_to_models(&model));
    lead.close().await;
    stage.check_nobody_is_left();
    drop(model);
}
