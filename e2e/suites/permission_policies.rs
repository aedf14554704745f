//! Policies: what an agent asks about before it acts, what it does unasked, and that a no is a no.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::agent_kinds::Kind;
use crate::model::Rule;
use crate::real_project::Scene;
use crate::results_table::{Column, Matrix};
use crate::support::{DEADLINE, PAUSE};

/// The policies, each with all deeds, in an order in which neighbours want different modes of an agent.
pub(crate) const POLICIES: [&str; 4] = ["rules", "allow", "ask", "deny"];

/// What a model wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// A command that makes a file in the project.
    Command,
    /// A file in the project.
    Inside,
    /// A file beside the project, which lies below the system's place for temporary files.
    Outside,
    /// A file of the user's settings, which decide what programs do.
    Settings,
}

/// What came of a deed.
#[derive(Debug, Default)]
struct Seen {
    /// Whether somebody was asked.
    asked: bool,
    /// Whether the agent had an answer of the policy.
    judged: bool,
    /// Whether the file is there.
    done: bool,
}

impl Deed {
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

    /// Returns the file that is there once it is done.
    fn file(self, project: &Path, try_of: &str) -> PathBuf {
        let name = format!("{}-{try_of}.txt", self.word());
        match self {
            Self::Command | Self::Inside => project.join(name),
            Self::Outside => project.parent().unwrap().join(name),
            Self::Settings => project.join(".claude").join(name),
        }
    }

    /// Returns what the agent is asked to do.
    fn prompt(self, file: &Path) -> String {
        let way = match self {
            Self::Command => COMMAND,
            Self::Inside | Self::Outside | Self::Settings => FILE,
        };
        format!("{way} {}", file.display())
    }
}

/// What an agent is asked to do, before the path of the file that is to be there then.
const COMMAND: &str = "by a command make the file:";
const FILE: &str = "by your own tool make the file:";
const SANDBOXED: &str = "without asking make the file:";

/// Returns the path in the words that an agent was asked with.
fn path_in(text: &str, words: &str) -> String {
    let path = text.rsplit_once(words).map(|(_, path)| path);
    let path = path.and_then(|path| path.split_whitespace().next());
    path.unwrap_or_default().to_owned()
}

/// Every policy is kept to, in every order of tasks in one process: what is asked about is done after a yes only.
pub(crate) async fn hold(kind: &Kind, matrix: &Matrix) {
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
        for deed in Deed::ALL {
            let mut seen = Vec::new();
            for answer in ["no", "yes"] {
                let file = deed.file(&project, &format!("{policy}-{answer}"));
                let one = watch(&scene, kind, policy, &deed.prompt(&file), answer, &file).await;
                // Who was not asked about it has not made a difference by its answer.
                let answers = one.asked;
                seen.push(one);
                if !answers {
                    break;
                }
            }
            let told = judged(policy, deed, &seen);
            let told = told.unwrap_or_else(|why| {
                panic!(
                    "{policy} {deed:?}: {why}: {seen:?}; {}; {:?}",
                    scene.shown_to_models(),
                    offered(&scene)
                )
            });
            matrix.note(kind.name, Column::Under(policy, deed), told);
        }
        if kind.runs_in_sandbox.is_some() {
            let file = project.join(format!("sandboxed-{policy}.txt"));
            let text = format!("{SANDBOXED} {}", file.display());
            let seen = watch(&scene, kind, policy, &text, "no", &file).await;
            assert!(
                policy == "allow" || !seen.done,
                "{policy}: {seen:?}; {}",
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

/// Lets the agent play a task under a policy, answers what it asks, and says what came of it.
async fn watch(
    scene: &Scene,
    kind: &Kind,
    policy: &str,
    prompt: &str,
    answer: &str,
    file: &Path,
) -> Seen {
    let mut task = kind.task(prompt);
    task["permissions"] = json!(policy);
    let assigned = scene.lead.call("assign_task", task).await;
    let task = assigned["task_id"].as_str().unwrap().to_owned();
    let mut seen = Seen::default();
    let began = Instant::now();
    loop {
        let health = scene.lead.call("get_agent_status", json!({})).await;
        for question in health["permissions"].as_array().into_iter().flatten() {
            seen.asked = true;
            let decision = if answer == "yes" { "allow_once" } else { "reject" };
            let said = json!({ "permission_id": question["permission_id"], "decision": decision });
            scene.lead.call("answer_permission", said).await;
        }
        let status = scene.lead.call("get_task_status", json!({ "task_id": task })).await;
        if !matches!(status["status"].as_str(), Some("queued" | "starting" | "running")) {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{prompt}: {status}; {}", scene.shown_to_models());
        tokio::time::sleep(PAUSE).await;
    }
    let asked: Vec<Value> = scene.transcript_of(&task, "permission");
    seen.judged = !seen.asked && !asked.is_empty();
    seen.done = file.exists();
    let result = scene.lead.call("get_task_result", json!({ "task_id": task })).await;
    if !seen.done && (seen.asked || seen.judged) {
        // Whoever reads the result is told of a no, however the agent took it.
        let failed = result["failed_calls"].as_array().map_or(0, Vec::len);
        assert!(failed > 0, "{prompt}: {result}");
        let titles = result["failed_calls"].as_array().unwrap();
        assert!(titles.iter().all(|call| call["title"] != ""), "{result}");
        if result["status"] != "done" {
            assert_eq!(result["error"]["class"], "refused", "{prompt}: {result}");
        }
    }
    seen
}

/// Says what was seen of a deed, or what of it must not be.
fn judged(policy: &str, deed: Deed, seen: &[Seen]) -> Result<&'static str, &'static str> {
    let first = &seen[0];
    let told = match (first.asked, first.judged, first.done) {
        (true, _, true) => return Err("it was done after a no"),
        (true, _, false) => match seen.get(1) {
            Some(second) if second.done => "asked",
            _ => return Err("it was not done after a yes"),
        },
        (false, true, true) => "allowed",
        (false, true, false) => "refused",
        (false, false, true) => "not asked",
        (false, false, false) => "its own no",
    };
    let fits = match (policy, deed) {
        ("rules", Deed::Inside) => matches!(told, "allowed"),
        ("rules" | "ask", _) => matches!(told, "asked" | "its own no"),
        ("deny", _) => matches!(told, "refused" | "its own no"),
        _ => matches!(told, "allowed" | "not asked" | "its own no"),
    };
    if fits { Ok(told) } else { Err(told) }
}

/// Returns the tools that the agent has shown its model, for whoever looks for the reason of a failure.
fn offered(scene: &Scene) -> Vec<String> {
    let shown = scene.model.shown();
    let last = shown.iter().rev().find(|shown| shown.tools > 0);
    last.map(|shown| shown.offered.clone()).unwrap_or_default()
}
