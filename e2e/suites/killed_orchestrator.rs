//! A step of a real agent whose orchestrator is killed in the middle of it: the next one lets the agent go on in its conversation.

use serde_json::json;

use crate::agent_kinds::Kind;
use crate::model::Rule;
use crate::real_project::{Scene, shown_to_models};

/// Kills the orchestrator while the model thinks, and checks that the model is asked again with what it had said before.
pub(crate) async fn in_the_session_of_the_interrupted_step(kind: &Kind) {
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
    let which = json!({ "workflow_id": created["workflow_id"] });
    lead.call("resume_workflow", which.clone()).await;
    lead.hear_notice("(\"build\") is done: 1 of 1 steps done").await;
    let status = lead.call("get_workflow_status", which).await;
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
    let mut asked = shown.iter().filter(|shown| shown.rule.as_deref() == Some(again));
    let knows = |text: &str| asked.clone().all(|shown| shown.whole.contains(text));
    assert!(knows("the number 4718"), "{}", shown_to_models(&model));
    assert!(knows("Build the wall"), "{}", shown_to_models(&model));
    assert!(asked.next().is_some(), "{}", shown_to_models(&model));
    lead.close().await;
    stage.check_nobody_is_left();
    drop(model);
}
