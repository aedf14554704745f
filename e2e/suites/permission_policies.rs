//! Permission policies: what an agent asks about before it acts, what it does without asking, and that it respects a no.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::agent_kinds::Kind;
use crate::model::Rule;
use crate::real_project::Scene;
use crate::results_table::{Column, Matrix};
use crate::support::{DEADLINE, PAUSE};

/// The policies, ordered so that neighbours need different modes of an agent. Each is tested with all actions.
pub(crate) const POLICIES: [&str; 4] = ["rules", "allow", "ask", "deny"];

/// An action that a model tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// A command that makes a file in the project.
    Command,
    /// A file in the project.
    Inside,
    /// A file beside the project, which is in the system's directory for temporary files.
    Outside,
    /// A file in the project's `.claude`, whose settings control what programs do.
    Settings,
}

/// The outcome of an action.
#[derive(Debug, Default)]
struct Outcome {
    /// Whether the orchestrator was asked.
    asked: bool,
    /// Whether the policy answered the agent.
    judged: bool,
    /// Whether the file exists.
    done: bool,
}

impl Action {
    pub(crate) const ALL: [Self; 4] = [Self::Command, Self::Inside, Self::Outside, Self::Settings];

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Command => "a command that writes inside",
            Self::Inside => "a file inside",
            Self::Outside => "a file outside",
            Self::Settings => "a file of `.claude`",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Inside => "inside",
            Self::Outside => "outside",
            Self::Settings => "settings",
        }
    }

    /// Returns the file that the action makes.
    fn file(self, project: &Path, attempt: &str) -> PathBuf {
        let name = format!("{}-{attempt}.txt", self.word());
        match self {
            Self::Command | Self::Inside => project.join(name),
            Self::Outside => project.parent().unwrap().join(name),
            Self::Settings => project.join(".claude").join(name),
        }
    }

    /// Returns the prompt that asks an agent for the action.
    fn prompt(self, file: &Path) -> String {
        let instruction = match self {
            Self::Command => COMMAND,
            Self::Inside | Self::Outside | Self::Settings => FILE,
        };
        format!("{instruction} {}", file.display())
    }
}

/// The instructions of the prompts. The path of the file follows.
const COMMAND: &str = "by a command make the file:";
const FILE: &str = "by your own tool make the file:";
const SANDBOXED: &str = "without asking make the file:";

/// Returns the path after an instruction in a prompt.
fn path_in(text: &str, instruction: &str) -> String {
    let path = text.rsplit_once(instruction).map(|(_, path)| path);
    let path = path.and_then(|path| path.split_whitespace().next());
    path.unwrap_or_default().to_owned()
}

/// An agent obeys the policy of each task in one process: what it asks about, it does only after a yes.
pub(crate) async fn obeys_its_policy(kind: &Kind, matrix: &Matrix) {
    let (runs, writes) = (kind.runs, kind.writes);
    let touch = |path: String| format!("touch {path}");
    let hello = json!({ "to": "orchestrator", "content": "I may speak" });
    let mut rules = vec![
        Rule::user(COMMAND)
            .calls_own_with(runs("").0, move |text| runs(&touch(path_in(text, COMMAND))).1),
        Rule::user(FILE).calls_own_with(writes("").0, move |text| writes(&path_in(text, FILE)).1),
        Rule::user("greet the lead").calls("send_message", hello),
    ];
    if let Some(runs) = kind.runs_in_sandbox {
        let rule = Rule::user(SANDBOXED);
        rules.push(
            rule.calls_own_with(runs("").0, move |text| runs(&touch(path_in(text, SANDBOXED))).1),
        );
    }
    let scene = Scene::new(&[kind], rules).await;
    let project = scene.stage.project().to_owned();
    for policy in POLICIES {
        for action in Action::ALL {
            let mut outcomes = Vec::new();
            for answer in ["no", "yes"] {
                let file = action.file(&project, &format!("{policy}-{answer}"));
                let prompt = action.prompt(&file);
                let outcome = outcome_of(&scene, kind, policy, &prompt, answer, &file).await;
                let was_asked = outcome.asked;
                outcomes.push(outcome);
                // Without a question the other answer makes no difference.
                if !was_asked {
                    break;
                }
            }
            let verdict = verdict(policy, action, &outcomes);
            let verdict = verdict.unwrap_or_else(|why| {
                panic!(
                    "{policy} {action:?}: {why}: {outcomes:?}; {}; {:?}",
                    scene.shown_to_models(),
                    offered(&scene)
                )
            });
            matrix.note(kind.name, Column::Under(policy, action), verdict);
        }
        if kind.runs_in_sandbox.is_some() {
            let file = project.join(format!("sandboxed-{policy}.txt"));
            let text = format!("{SANDBOXED} {}", file.display());
            let outcome = outcome_of(&scene, kind, policy, &text, "no", &file).await;
            assert!(
                policy == "allow" || !outcome.done,
                "{policy}: {outcome:?}; {}",
                scene.shown_to_models()
            );
        }
    }
    let mut greet = kind.task("greet the lead");
    greet["permissions"] = json!("deny");
    scene.lead.call("assign_task", greet).await;
    assert_eq!(scene.lead.hear_from(kind.name).await, "I may speak");
    assert_eq!(scene.processes_of(kind), 1, "it is the same process");
    scene.lead.until_idle(kind.name).await;
    scene.end().await;
}

/// Runs a task under a policy, answers the questions of the agent, and returns the outcome.
async fn outcome_of(
    scene: &Scene,
    kind: &Kind,
    policy: &str,
    prompt: &str,
    answer: &str,
    file: &Path,
) -> Outcome {
    let mut task = kind.task(prompt);
    task["permissions"] = json!(policy);
    let assigned = scene.lead.call("assign_task", task).await;
    let task = assigned["task_id"].as_str().unwrap().to_owned();
    let mut outcome = Outcome::default();
    let began = Instant::now();
    loop {
        let health = scene.lead.call("get_agent_status", json!({})).await;
        for question in health["permissions"].as_array().into_iter().flatten() {
            outcome.asked = true;
            let decision = if answer == "yes" { "allow_once" } else { "reject" };
            let reply = json!({ "permission_id": question["permission_id"], "decision": decision });
            scene.lead.call("answer_permission", reply).await;
        }
        let status = scene.lead.call("get_task_status", json!({ "task_id": task })).await;
        if !matches!(status["status"].as_str(), Some("queued" | "starting" | "running")) {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{prompt}: {status}; {}", scene.shown_to_models());
        tokio::time::sleep(PAUSE).await;
    }
    let asked: Vec<Value> = scene.transcript_of(&task, "permission");
    outcome.judged = !outcome.asked && !asked.is_empty();
    outcome.done = file.exists();
    let result = scene.lead.call("get_task_result", json!({ "task_id": task })).await;
    if !outcome.done && (outcome.asked || outcome.judged) {
        // The result reports a no, however the agent reacted to it.
        let failed = result["failed_calls"].as_array().map_or(0, Vec::len);
        assert!(failed > 0, "{prompt}: {result}");
        let titles = result["failed_calls"].as_array().unwrap();
        assert!(titles.iter().all(|call| call["title"] != ""), "{result}");
        if result["status"] != "done" {
            assert_eq!(result["error"]["class"], "refused", "{prompt}: {result}");
        }
    }
    outcome
}

/// Names the outcome of an action; an outcome that the policy forbids is an error.
fn verdict(
    policy: &str,
    action: Action,
    outcomes: &[Outcome],
) -> Result<&'static str, &'static str> {
    let first = &outcomes[0];
    let verdict = match (first.asked, first.judged, first.done) {
        (true, _, true) => return Err("it was done after a no"),
        (true, _, false) => match outcomes.get(1) {
            Some(second) if second.done => "asked",
            _ => return Err("it was not done after a yes"),
        },
        (false, true, true) => "allowed",
        (false, true, false) => "refused",
        (false, false, true) => "not asked",
        (false, false, false) => "its own no",
    };
    let fits = match (policy, action) {
        ("rules", Action::Inside) => matches!(verdict, "allowed"),
        ("rules" | "ask", _) => matches!(verdict, "asked" | "its own no"),
        ("deny", _) => matches!(verdict, "refused" | "its own no"),
        _ => matches!(verdict, "allowed" | "not asked" | "its own no"),
    };
    if fits { Ok(verdict) } else { Err(verdict) }
}

/// Returns the tools that the agent offered its model last, for the message of a failed test.
fn offered(scene: &Scene) -> Vec<String> {
    let shown = scene.model.shown();
    let last = shown.iter().rev().find(|shown| shown.tools > 0);
    last.map(|shown| shown.offered.clone()).unwrap_or_default()
}
