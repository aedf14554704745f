//! A scene: a project of its own, a model server, an orchestrator, and agents of some kinds that use both.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use serde_json::Value;

use crate::agent_kinds::Kind;
use crate::model::{ModelServer, Rule};
use crate::programs::Programs;
use crate::support::{Member, Stage, until};

/// Everything that a test needs. The stage is dropped last, and proves that no process is left.
pub(crate) struct Scene {
    pub(crate) lead: Member,
    pub(crate) model: ModelServer,
    pub(crate) stage: Stage,
    /// The processes that run without any agent.
    own: Vec<u32>,
}

impl Scene {
    /// Starts a model server that plays these rules, and an orchestrator that can start agents of these kinds.
    pub(crate) async fn new(kinds: &[&Kind], rules: Vec<Rule>) -> Self {
        Self::with_profiles(kinds, rules, "").await
    }

    /// Does the same, with additions to the user's profiles.
    pub(crate) async fn with_profiles(kinds: &[&Kind], rules: Vec<Rule>, toml: &str) -> Self {
        let model = ModelServer::start(rules).await;
        let stage = stage(kinds, &model).with_profiles(toml);
        let lead = stage.orchestrator().await;
        let own = stage.processes();
        Self { lead, model, stage, own }
    }

    /// Starts an agent with a task, and returns the id of the task.
    pub(crate) async fn start(&self, kind: &Kind, prompt: &str) -> String {
        let assigned = self.lead.call("assign_task", kind.task(prompt)).await;
        text(&assigned, "task_id")
    }

    /// Waits until a task is done, and returns its output. If the task fails, the panic says what the models were shown.
    pub(crate) async fn done(&self, task: &str) -> String {
        let result = self.lead.ended(task).await;
        assert_eq!(result["status"], "done", "{result}; {}", self.shown_to_models());
        text(&result, "output").trim().to_owned()
    }

    /// Describes what the models were shown.
    pub(crate) fn shown_to_models(&self) -> String {
        shown_to_models(&self.model)
    }

    /// Returns the processes of all agents: their own trees, with our endpoints and shims.
    pub(crate) fn of_agents(&self) -> Vec<u32> {
        let all = self.stage.processes();
        all.into_iter().filter(|pid| !self.own.contains(pid)).collect()
    }

    /// Returns how many processes an agent of this kind has had so far.
    pub(crate) fn processes_of(&self, kind: &Kind) -> usize {
        let joined = self.stage.events_of("member_joined").into_iter();
        let of_kind = joined.filter(|joined| joined["name"] == kind.name);
        // It joins again when its model changes.
        let pids: BTreeSet<_> = of_kind.map(|joined| joined["pid"].as_u64()).collect();
        pids.len()
    }

    /// Waits until no process of an agent runs. The orchestrator stays.
    pub(crate) async fn until_agents_are_gone(&self) {
        until("nothing of the agents is left", || self.of_agents().is_empty()).await;
    }

    /// Waits until a rule is played. Its answer may still wait behind its gate.
    pub(crate) async fn until_answered(&self, rule: &str) {
        until("the model is asked", || self.model.has_answered(rule)).await;
    }

    /// Returns the lines of this kind in all transcripts.
    pub(crate) fn transcript(&self, kind: &str) -> Vec<Value> {
        let files = std::fs::read_dir(self.stage.bus().join("tasks")).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let lines: Vec<Value> = texts
            .flat_map(|text| {
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>()
            })
            .collect();
        lines.into_iter().filter(|line| line["kind"] == kind).collect()
    }

    /// Returns the lines of this kind in the transcript of a task.
    pub(crate) fn transcript_of(&self, task: &str, kind: &str) -> Vec<Value> {
        let file = self.stage.bus().join(format!("tasks/{task}.jsonl"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &Value| line["kind"] == kind).collect()
    }

    /// Ends the orchestrator, and checks that every process ends with it.
    pub(crate) async fn end(self) -> Duration {
        let Self { lead, stage, model, .. } = self;
        let took = lead.close().await;
        stage.check_nobody_is_left();
        drop(model);
        took
    }
}

/// Makes a project whose home and environment point agents of these kinds to the model server.
pub(crate) fn stage(kinds: &[&Kind], model: &ModelServer) -> Stage {
    furnished(Stage::new(""), kinds, model)
}

/// Does the same in a place where the doctor tries agents out.
pub(crate) fn private_stage(kinds: &[&Kind], model: &ModelServer) -> Stage {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    furnished(Stage::with_root(root, ""), kinds, model)
}

fn furnished(stage: Stage, kinds: &[&Kind], model: &ModelServer) -> Stage {
    let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
    let mut env: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), Programs::find().path(&names)),
        // Requests to other hosts go to our server as well, which refuses them.
        ("HTTPS_PROXY".into(), model.base().into()),
        ("NO_PROXY".into(), "127.0.0.1,localhost".into()),
    ];
    for kind in kinds {
        let own = (kind.env)(model.base());
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    let stage = stage.with_env(env);
    for kind in kinds {
        for (file, text) in (kind.files)(model.base()) {
            let path = stage.home().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    stage
}

/// Describes what models were shown, for the message of a failed test.
pub(crate) fn shown_to_models(model: &ModelServer) -> String {
    let shown = model.shown().into_iter().map(|shown| {
        let tail: Vec<char> = shown.text.chars().rev().take(300).collect();
        let tail: String = tail.into_iter().rev().collect();
        format!(
            "\n{} {:?} tools={} rule={:?} calls={:?} answered={} {:?}: {tail:?}",
            shown.path,
            shown.api,
            shown.tools,
            shown.rule,
            shown.calls,
            shown.answered,
            shown.newest
        )
    });
    format!("the models were shown: {}", shown.collect::<Vec<_>>().concat())
}

/// Returns the memory of processes in MB, with shared memory divided among them.
pub(crate) fn memory_mb(pids: &[u32]) -> u64 {
    let of_one = |pid: &u32| {
        let rollup =
            std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:").map(str::to_owned));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    pids.iter().map(of_one).sum::<u64>() / 1024
}

fn text(value: &Value, key: &str) -> String {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no `{key}` in {value}")).to_owned()
}
