//! Collects a task's results besides its output: begins the queries before its turn, and combines the answers after it.

use std::collections::BTreeMap;

use super::changed_files::{PathBase, changes, files};
use super::collect::Collected;
use super::failed_calls::failed_calls;
use super::git_query::Repository;
use super::session_cost::SessionCost;
use crate::acp::{TokenUsage, ToolCalls};
use crate::bus::event::TaskReport;
use crate::domain::ids::TaskId;
use crate::domain::task::result::{Context, Details, GitLook};
use crate::team::agent::context::AgentContext;
use crate::team::permissions::look_at_paths::PathExaminer;
use crate::team::turn::transcript;

/// Begins to collect results for a task's turn. Its prompt waits for git's first look ([`Collected::hold`]).
pub(crate) fn begin(agent: &AgentContext, task: &TaskId, context: Context) -> Collected {
    let repository = Repository::of(&agent.identity.root, &agent.launch.environment);
    let before = repository.map(|repository| {
        let (bus, task) = (agent.bus().clone(), task.clone());
        repository.look_before(move |report| {
            let line = transcript::of_git(bus.now().wall_ms, report);
            bus.transcript(&task, &line);
        })
    });
    Collected::begin(context, before)
}

/// The output and calls of a turn that has ended.
#[derive(Clone, Copy)]
pub(crate) struct TurnOutput<'a> {
    pub(crate) output: &'a str,
    pub(crate) calls: &'a ToolCalls,
    /// The tokens of the turn, if its end reports them.
    pub(crate) usage: Option<TokenUsage>,
}

/// Combines the results of a turn, with the details as a separate text. Once the agent is asked to stop, it no longer waits for
/// git.
pub(crate) async fn put_together(
    agent: &AgentContext,
    mut collected: Collected,
    turn: TurnOutput<'_>,
    session_cost: &mut SessionCost,
    examiner: PathExaminer,
) -> (TaskReport, Option<String>) {
    let cost = session_cost.grow(collected.spent());
    let (by_git, git) = match collected.before.take() {
        Some(before) => tokio::select! {
            compared = before.compare() => compared,
            _ = agent.stop_requested(|_| true) => {
                let why = "the agent was stopped before git looked again";
                (BTreeMap::new(), GitLook::Partly(why.to_owned()))
            }
        },
        None => (BTreeMap::new(), GitLook::Absent),
    };
    let base = PathBase {
        project: agent.identity.root.clone(),
        cwd: agent.identity.cwd.clone(),
        bus: agent.launch.bus_dir.clone(),
    };
    let all = turn.calls.all();
    let by_calls = all.iter().copied().flat_map(changes).collect();
    let failed_calls = failed_calls(&all, &collected.refused, &agent.secrets);
    let by_calls = base.shown_all(by_calls, examiner).await;
    let details = Details {
        files: files(by_calls, by_git),
        failed_calls,
        calls_left_out: turn.calls.forgotten(),
        git,
    };
    let report = TaskReport {
        context: collected.context,
        usage: collected.usage(turn.usage, cost),
        last_words: collected.last_words(turn.output),
        details: None,
    };
    let details = (!details.is_empty()).then(|| {
        let text = serde_json::to_string(&details).expect("details are plain data");
        agent.secrets.hidden(text).into()
    });
    (report, details)
}
