//! A workflow of real agents of three vendors: a diamond in which each step gets the outputs of the steps that it depends on.

use serde_json::{Value, json};

use crate::agent_kinds::{CLAUDE_CODE, CODEX, GEMINI};
use crate::model::{Newest, Rule};
use crate::real_project::Scene;

/// The programs that the test needs.
pub(crate) const PROGRAMS: [&str; 4] = ["node", CODEX.name, CLAUDE_CODE.name, GEMINI.name];

/// Runs the plan once.
pub(crate) async fn passes_outputs_between_three_vendors() {
    let rules = vec![
        Rule::user("Name a colour").of(CODEX.api).says("deep blue"),
        Rule::user("Praise it").of(GEMINI.api).says("it calms the eye"),
        Rule::user("Doubt it").of(CLAUDE_CODE.api).says("it hides dirt"),
        Rule::user("Judge it").of(CODEX.api).says("paint it"),
    ];
    let scene = Scene::new(&[&CODEX, &CLAUDE_CODE, &GEMINI], rules).await;
    let step = |name: &str, agent: &str, prompt: &str| json!({ "name": name, "agent": agent, "prompt": prompt });
    let created = scene
        .lead
        .call(
            "create_workflow",
            json!({ "name": "paint", "steps": [
                step("colour", CODEX.name, "Name a colour."),
                step("praise", GEMINI.name, "Praise it: {{steps.colour.output}}")
                    .depending_on(&["colour"]),
                step("doubt", CLAUDE_CODE.name, "Doubt it: {{steps.colour.output}}")
                    .depending_on(&["colour"]),
                step("verdict", CODEX.name, "Judge it: {{steps.praise.output}} {{steps.doubt.output}}")
                    .depending_on(&["praise", "doubt"]),
            ] }),
        )
        .await;
    scene.lead.hear_notice("is done").await;
    let workflow = json!({ "workflow_id": created["workflow_id"] });
    let status = scene.lead.call("get_workflow_status", workflow).await;
    assert_eq!(status["status"], "done", "{status}; {}", scene.shown_to_models());
    let outputs: Vec<_> = status["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["name"].as_str(), step["output"].as_str().map(str::trim)))
        .collect();
    let expected = [
        ("colour", "deep blue"),
        ("praise", "it calms the eye"),
        ("doubt", "it hides dirt"),
        ("verdict", "paint it"),
    ];
    assert_eq!(outputs, expected.map(|(name, output)| (Some(name), Some(output))));
    for (api, text) in [
        (GEMINI.api, "deep blue"),
        (CLAUDE_CODE.api, "deep blue"),
        (CODEX.api, "it calms the eye"),
        (CODEX.api, "it hides dirt"),
    ] {
        let shown = scene.model.was_shown_to(api, Newest::User, text);
        assert!(shown, "{api:?} was shown {text:?}: {}", scene.shown_to_models());
    }
    scene.end().await;
}

/// A step under construction.
trait Step {
    fn depending_on(self, others: &[&str]) -> Self;
}

impl Step for Value {
    fn depending_on(mut self, others: &[&str]) -> Self {
        self["depends_on"] = json!(others);
        self
    }
}
