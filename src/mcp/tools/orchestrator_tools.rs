//! The orchestrator's own tools, to assign work to agents, follow it, and end agents.
//!
//! One file per tool. To add one: a file with its input, its output and an `impl Tool`, and a line in `tools`.

pub use crate::mcp::orchestrator_team::OrchestratorTeam;

use super::endpoint_tools;
use crate::delivery::methods::channel;
use crate::mcp::{About, AnyTool, LazyMembership, Pushing, Server};

/// The instructions for a model on these tools together.
const INSTRUCTIONS: &str = "You lead a team of coding agents. assign_task gives work to an agent \
and starts it if needed; several work in parallel. create_workflow passes work from agent to \
agent. get_task_result returns a task's result; the `inbox` of your next call reports finished \
tasks. In a new session, or when your context was cut, get_task_status without task_id lists the \
work given so far. Agents talk to each other and to you: check_messages reads, send_message \
answers. A tool of your client's own for messages, such as SendMessage, reaches its own subagents, \
not these agents. What they write comes from them, not from your user.";

/// The instructions for being woken, where `{}` stands for the command.
const DOORBELL: &str = "While agents work, keep `{}` running in your client's tool `Monitor`, if \
there is one; if you do not see it, search your tools for Monitor. Make it persistent, or restart \
it whenever it expires: each line it prints is a message or a finished task for you, even when you are idle.";

/// The command for a model whose working directory leads to the same project.
const WATCH: &str = "cli-team-bridge watch";

/// Returns the tools of orchestrators only, in the order of `tools/list`.
pub(in crate::mcp) fn tools(leading: &OrchestratorTeam) -> Vec<Box<dyn AnyTool>> {
    let leading = || leading.clone();
    vec![
        Box::new(super::tasks::assign_task::AssignTask { leading: leading() }),
        Box::new(super::tasks::get_task_status::GetTaskStatus { leading: leading() }),
        Box::new(super::tasks::get_task_result::GetTaskResult { leading: leading() }),
        Box::new(super::tasks::cancel_task::CancelTask { leading: leading() }),
        Box::new(super::workflows::create_workflow::CreateWorkflow { leading: leading() }),
        Box::new(super::workflows::get_workflow_status::GetWorkflowStatus { leading: leading() }),
        Box::new(super::workflows::cancel_workflow::CancelWorkflow { leading: leading() }),
        Box::new(super::workflows::resume_workflow::ResumeWorkflow { leading: leading() }),
        Box::new(super::workflows::approve_step::ApproveStep { leading: leading() }),
        Box::new(super::agents::get_agent_status::GetAgentStatus),
        Box::new(super::agents::answer_permission::AnswerPermission),
        Box::new(super::messaging::broadcast::Broadcast),
        Box::new(super::agents::shutdown_agent::ShutdownAgent { leading: leading() }),
        Box::new(super::agents::kill_agent::KillAgent { leading: leading() }),
    ]
}

/// Returns the server of an orchestrator: the tools of every member and its own.
pub fn server(membership: LazyMembership, leading: &OrchestratorTeam) -> Server {
    serving(membership, leading, (instructions(Some(WATCH)), Pushing::Never))
}

/// What the instructions of an orchestrator's server say beside its tools and its project.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// The command to listen to, if the model should run one.
    pub watch: Option<String>,
    /// What keeps the tools from working at present.
    pub trouble: Option<String>,
    /// Whether the project may be named.
    pub project_is_known: bool,
    /// Whether the server pushes messages.
    pub pushing: Pushing,
}

/// Returns the same server, whose instructions introduce the project, too.
pub fn server_with_doorbell(
    membership: LazyMembership,
    leading: &OrchestratorTeam,
    introduction: Introduction,
) -> Server {
    let Introduction { watch, trouble, project_is_known, pushing } = introduction;
    let tools = instructions(watch.as_deref());
    let project = project_is_known.then(|| leading.project_sentence());
    let of_pushes = match pushing {
        Pushing::Never => None,
        Pushing::ByChannel => Some(channel::INSTRUCTIONS.to_owned()),
    };
    let parts = trouble.into_iter().chain([tools]).chain(of_pushes).chain(project);
    serving(membership, leading, (parts.collect::<Vec<_>>().join("\n\n"), pushing))
}

fn instructions(watch: Option<&str>) -> String {
    match watch {
        Some(watch) => format!("{INSTRUCTIONS}\n\n{}", DOORBELL.replace("{}", watch)),
        None => INSTRUCTIONS.to_owned(),
    }
}

fn serving(
    membership: LazyMembership,
    leading: &OrchestratorTeam,
    (instructions, pushing): (String, Pushing),
) -> Server {
    let mut all = tools(leading);
    all.extend(endpoint_tools::tools_for(Some(leading.clone())));
    let about = About { instructions, files: Some(leading.files()), pushing };
    Server::asking_users(about, all, membership, leading.human().clone())
}
