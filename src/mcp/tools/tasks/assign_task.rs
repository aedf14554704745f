//! `assign_task`: assigns work to an agent, and starts the agent if needed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::bus::state::{Session, Task};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::messaging::Priority;
use crate::domain::permission::Policy;
use crate::domain::wait_times;
use crate::mcp::interrupted_wait::AssignedTask;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::priority_word::PriorityWord;
use crate::mcp::shapes::task_shape::{OutputView, StatusView, take_notice};
use crate::mcp::tool::at_most;
use crate::mcp::{CallTimeout, Caller, Tool, ToolError};
use crate::team::{Assigned, Assignment, Team, TeamError, Waited, role_of};
use crate::view::task_status;

pub(crate) struct AssignTask {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A live agent (the task joins its queue), a profile (starts a new agent), an ended agent (restarted with its conversation), or @role (an idle agent with it, else a new one).
    agent: String,
    /// What to do.
    prompt: String,
    /// Start a new agent of the profile under this name.
    name: Option<String>,
    /// The model to use.
    model: Option<String>,
    /// A new agent's working directory, inside the project.
    cwd: Option<String>,
    /// A machine of a shared team that offers it: start a new agent of the profile there.
    host: Option<String>,
    /// Clear the agent's conversation before this task.
    #[serde(default)]
    fresh: bool,
    /// Restart the ended agent, even if a profile has its name.
    #[serde(default)]
    resume: bool,
    /// Permission policy for this task.
    #[schemars(extend("enum" = ["allow", "rules", "ask", "deny"]))]
    permissions: Option<String>,
    /// Its place in the agent's queue.
    priority: Option<PriorityWord>,
    /// Wait for the result of this one task. For several, assign them all without it, then call `wait_for_message`.
    #[serde(default)]
    wait: bool,
    /// Longest wait: 1 to 120, default 50. The task continues after it.
    timeout_seconds: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The task.
    #[serde(flatten)]
    task: StatusView,
    /// What came of it, after waiting.
    #[serde(flatten)]
    result: Option<OutputView>,
    /// A further note, also for your user.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Input {
    fn seconds(&self) -> u64 {
        self.timeout_seconds.unwrap_or(wait_times::ASSIGN_WAIT_SECONDS)
    }

    fn assignment(self) -> Result<Assignment, ToolError> {
        let policy = |word: String| {
            Policy::parse(&word).ok_or_else(|| {
                let shown: String = word.chars().take(limits::SHOWN_NAME_CHARS).collect();
                ToolError::Arguments(format!(
                    "permissions is {shown:?}; it must be allow, rules, ask or deny"
                ))
            })
        };
        if self.resume && self.name.is_some() {
            let problem =
                "`name` starts a new agent, `resume` restarts an ended one: leave one out";
            return Err(ToolError::Arguments(problem.to_owned()));
        }
        if self.host.is_some() && (self.resume || role_of(&self.agent).is_some()) {
            let problem = "`host` starts a new agent there: name a profile, and leave `resume` out";
            return Err(ToolError::Arguments(problem.to_owned()));
        }
        if let Some(model) = &self.model
            && model.len() > limits::MODEL_BYTES
        {
            let (bytes, most) = (model.len(), limits::MODEL_BYTES);
            let problem = format!("model is {bytes} bytes long; the limit is {most}");
            return Err(ToolError::Arguments(problem));
        }
        Ok(Assignment {
            agent: self.agent,
            prompt: self.prompt,
            name: self.name,
            model: self.model,
            cwd: self.cwd,
            fresh: self.fresh,
            resume: self.resume,
            permissions: self.permissions.map(policy).transpose()?,
            priority: self.priority.map(Priority::from).unwrap_or_default(),
            step: None,
            host: self.host,
        })
    }
}

impl Tool for AssignTask {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "assign_task";
    const DESCRIPTION: &'static str = "Give an agent a task and return at once; your inbox reports \
        when the task ends. With `wait`, the result is returned if it is ready in time; otherwise \
        call get_task_result later.";

    fn present_note(&self) -> Option<(&'static str, String)> {
        Some(("agent", self.leading.installed_profiles()?.in_words()))
    }

    fn patience(&self, input: &Input) -> CallTimeout {
        let until_started =
            if input.host.is_some() { wait_times::HOST_STARTS } else { Duration::ZERO };
        if input.wait {
            let seconds = input.seconds().min(wait_times::MAX_ASSIGN_WAIT_SECONDS);
            CallTimeout::Waits(until_started + Duration::from_secs(seconds))
        } else if input.host.is_some() {
            CallTimeout::Waits(until_started)
        } else {
            CallTimeout::Short
        }
    }

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let wait = input.wait;
        if wait && input.seconds() == 0 {
            let problem = "timeout_seconds is 0: leave `wait` out to return at once";
            return Err(ToolError::Arguments(problem.to_owned()));
        }
        let (seconds, shortened) =
            at_most("timeout_seconds", input.seconds(), wait_times::MAX_ASSIGN_WAIT_SECONDS);
        let team = self.leading.team(caller.membership());
        // A call that was interrupted to ask the user has assigned its task already.
        let earlier = caller.interruptions.done_before().assigned.filter(|_| wait);
        let assigned = if let Some(assigned) = earlier {
            assigned
        } else {
            let Assigned { task, note, is_resumed, .. } = team.assign(input.assignment()?).await?;
            AssignedTask { id: task, note, is_resumed }
        };
        let mut result = None;
        if wait {
            let limit = caller.interruptions.rest_of(Duration::from_secs(seconds));
            let waiting = waited(caller, &team, &assigned.id, limit);
            let rest = (limit, assigned.clone().into());
            let task = caller.interruptions.during(caller.membership(), rest, waiting).await??;
            if task.status.is_final() {
                let output = team.output(&task.id, 0, limits::ANSWER_BYTES).await?;
                take_notice(caller, &output).await;
                result = Some(OutputView::of(output, 0));
            }
        }
        let task = team.task(&assigned.id)?;
        // A result that is here says so itself.
        let of_context = (assigned.is_resumed && result.is_none()).then(|| {
            "`context` of its result says whether its conversation was restored".to_owned()
        });
        let notes = assigned.note.into_iter().chain(of_context).chain(shortened.filter(|_| wait));
        let notes: Vec<_> = notes.collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(Output { task: StatusView::of_new(&task, &team), result, note })
    }
}

/// Waits for the end of a task or for a question of its agent, and reports progress to a client that asked for it.
async fn waited(
    caller: &Caller,
    team: &Team,
    id: &TaskId,
    limit: Duration,
) -> Result<Task, TeamError> {
    let (began, deadline) = (Instant::now(), Instant::now() + limit);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let step =
            if caller.progress.is_requested() { left.min(wait_times::PROGRESS) } else { left };
        let Waited { task, asks } = team.wait_for_task(id, step).await?;
        // The question rides along on this very result.
        if asks || task.status.is_final() || Instant::now() >= deadline {
            return Ok(task);
        }
        let message = progress_words(team, &task);
        caller.progress.report(began.elapsed(), limit, &message).await;
    }
}

/// Says where a task stands, and what its agent is doing as far as this bridge hears it.
fn progress_words(team: &Team, task: &Task) -> String {
    let status = team.bus().look(|state| task_status(state, task));
    let words = format!("{} is {status}", task.id);
    let awaits_tools =
        team.bus().look(|state| state.session(task.session).is_some_and(Session::awaits_tools));
    if awaits_tools {
        let seconds = wait_times::TOOLS_LISTED.as_secs();
        return format!(
            "{words}: {} has not started the bridge's tools yet; after {seconds} s it goes on without them",
            task.agent
        );
    }
    match (team.doing_now(task), team.position(task)) {
        (Some(doing), _) => format!("{words}: {} {doing}", task.agent),
        (None, Some(position)) if position > 1 => format!("{words} at position {position}"),
        (None, _) => words,
    }
}
