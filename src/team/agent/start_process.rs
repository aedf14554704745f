//! Starts an agent: its process, its connection, and a session with our endpoint in it.

use super::context::AgentContext;
use super::model_and_mode::{What, choose};
use super::printed::Printed;
use super::start_timeout::{longest, patient};
use crate::acp::{
    AcpError, AcpSessionId, AgentEvents, ConnectOptions, Connection, Deadlines, Feature,
    FileSystem, McpServerSpec, SessionInfo, connect,
};
use crate::domain::grace_periods::{self, StopPlan};
use crate::domain::permission::Policy;
use crate::domain::task::TaskError;
use crate::domain::task::error_class;
use crate::supervisor::{self, SpawnError, Supervised};
use crate::sys::rate_limit::Metered;
use crate::team::launch::NewAgentIdentity;
use crate::team::project_trust::UnreadableApproval;
use crate::team::results::error_advice::Advice;

/// A connected process with a session that has our endpoint in it.
pub(crate) struct AgentProcess {
    pub(crate) child: Supervised,
    pub(crate) connection: Connection,
    pub(crate) events: AgentEvents,
    pub(crate) session: SessionInfo,
    pub(crate) endpoint: McpServerSpec,
    /// Whether this is the resumed session.
    pub(crate) resumed: bool,
}

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The user revoked the approval of the file that defines the agent.
    #[error(
        "it is defined by a file of the project, and the user revoked the approval of that file. \
            `cli-team-bridge trust` approves it again"
    )]
    ApprovalRevoked,
    /// The user's approval of that file cannot be read.
    #[error("it is defined by a file of the project, and {0}. Start it again when it can be read")]
    UnreadableApproval(#[from] UnreadableApproval),
    /// It ended before it was ready.
    #[error("it ended before it was ready: {0}")]
    Ended(String),
    /// It does not answer as an agent.
    #[error("{}{printed}", .error.message)]
    Protocol {
        /// The agent's wrong or missing answer, and what to do about it.
        error: Box<TaskError>,
        /// What it printed beside messages, ready to append.
        printed: String,
    },
}

/// Spawns a process of an agent. To undo all later steps, stop it. A force stop kills it by itself.
pub(crate) async fn spawn(
    agent: &AgentContext,
) -> Result<(Supervised, supervisor::Pipes), StartError> {
    let AgentContext { launch, identity, .. } = agent;
    for file in &identity.needs {
        if !launch.trust.has(file)? {
            return Err(StartError::ApprovalRevoked);
        }
    }
    let presence = agent.bus().share(identity.session);
    let child = launch.child(&agent.profile, agent.program.clone(), identity, presence);
    let (child, pipes) = supervisor::spawn(child).await?;
    // Works whatever the actor waits for then.
    child.stop_on(agent.force_stop.clone().cancelled_owned(), StopPlan::FORCED);
    Ok((child, pipes))
}

/// What a process continues from the previous one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Continued<'a> {
    /// The session to resume.
    pub(crate) session: Option<&'a AcpSessionId>,
    /// The model that this session used.
    pub(crate) model: Option<&'a str>,
}

impl StartError {
    /// Returns the error for the tasks that wait for the agent, if it says more than that the agent did not start.
    pub(crate) fn task_error(&self, advice: Advice<'_>) -> Option<TaskError> {
        let error = match self {
            Self::Protocol { error, .. } => {
                TaskError { message: self.to_string(), ..(**error).clone() }
            }
            // The last output may say that a login is missing. Anything else in it need not be the reason.
            Self::Ended(words) if error_class::class(None, words) == Some(error_class::AUTH) => {
                advice.on_words(words, self.to_string())
            }
            Self::Spawn(_)
            | Self::Ended(_)
            | Self::ApprovalRevoked
            | Self::UnreadableApproval(_) => {
                return None;
            }
        };
        (error.class != error_class::AGENT).then_some(error)
    }
}

/// Connects to a spawned process, and begins its session.
pub(crate) async fn connect_to(
    agent: &AgentContext,
    child: Supervised,
    pipes: supervisor::Pipes,
    continued: Continued<'_>,
) -> Result<AgentProcess, StartError> {
    let endpoint = agent.launch.endpoint(&agent.identity, &agent.profile);
    let printed = Printed::by(&child, &agent.secrets);
    agent.printed.note(agent.session(), printed.clone());
    let exited = child.exited();
    let begun = {
        let connecting = begin(agent, &child, (pipes, &printed), &endpoint, continued.session);
        tokio::pin!(connecting);
        tokio::select! {
            begun = &mut connecting => begun,
            exit = exited => {
                // What it printed last may not have been read yet.
                let _ = tokio::time::timeout(grace_periods::LAST_STDERR, &mut connecting).await;
                return Err(StartError::Ended(format!("{exit}{}", printed.shown())));
            }
        }
    };
    match begun {
        Ok((connection, events, mut session, resumed)) => {
            let model = continued.model.filter(|_| resumed);
            let setting_up = set_up(agent, &connection, &mut session, model);
            setting_up.await.map_err(|error| StartError::Protocol {
                error: Box::new(error),
                printed: printed.shown(),
            })?;
            Ok(AgentProcess { child, connection, events, session, endpoint, resumed })
        }
        Err(AcpError::Closed { .. }) => {
            let exit = child.exited();
            // The agent closed its stdout, so its exit is near. If it does not exit, that is the reason.
            let exit = tokio::time::timeout(grace_periods::LAST_BREATH, exit).await;
            let reason =
                exit.map_or_else(|_| "it closed its stdout".to_owned(), |exit| exit.to_string());
            Err(StartError::Ended(format!("{reason}{}", printed.shown())))
        }
        Err(error) => Err(StartError::Protocol {
            error: Box::new(agent.advice().on_start(&error)),
            printed: printed.shown(),
        }),
    }
}

/// Puts a session into the mode of its profile, and a resumed one back to the `model` that it used.
///
/// The mode must succeed, as in another one the agent could do more than its profile allows. A wrong model is only logged: the
/// session reports which one it uses.
async fn set_up(
    agent: &AgentContext,
    connection: &Connection,
    session: &mut SessionInfo,
    model: Option<&str>,
) -> Result<(), TaskError> {
    set_mode(agent, connection, session, agent.profile.permissions.value).await?;
    let Some(model) =
        model.filter(|model| session.model().is_none_or(|now| now.as_str() != *model))
    else {
        return Ok(());
    };
    match choose(What::Model, model, connection, session, agent.advice()).await {
        Ok(()) => session.note_model(&agent.secrets.hidden(model)),
        Err(error) => tracing::warn!("a session continues with another model: {}", error.message),
    }
    Ok(())
}

/// Puts a session into the mode that its profile names for a policy.
pub(crate) async fn set_mode(
    agent: &AgentContext,
    connection: &Connection,
    session: &mut SessionInfo,
    policy: Policy,
) -> Result<(), TaskError> {
    let Some(mode) = agent.profile.mode_under(policy) else {
        return Ok(());
    };
    choose(What::Mode, mode, connection, session, agent.advice()).await?;
    session.note_mode(mode);
    Ok(())
}

async fn begin(
    agent: &AgentContext,
    child: &Supervised,
    (pipes, printed): (supervisor::Pipes, &Printed),
    endpoint: &McpServerSpec,
    earlier: Option<&AcpSessionId>,
) -> Result<(Connection, AgentEvents, SessionInfo, bool), AcpError> {
    let identity = &agent.identity;
    let limit = agent.profile.start.value;
    let options = ConnectOptions {
        file_system: if agent.profile.file_system.value {
            FileSystem::Offered
        } else {
            FileSystem::Absent
        },
        // `patient` enforces the shorter limit.
        deadlines: Deadlines {
            initialize: longest(limit),
            session: longest(limit),
            ..Deadlines::default()
        },
        secrets: agent.secrets.clone(),
        ..ConnectOptions::default()
    };
    let stdout = Metered::new(printed.kept(pipes.stdout), agent.output_per_second);
    let (connection, mut events) = connect(stdout, pipes.stdin, options).await?;
    patient(child, limit, "initialize", connection.initialize()).await?;
    if let Some(earlier) = earlier {
        let resuming = resume(&connection, &mut events, earlier, identity, endpoint);
        match patient(child, limit, "session/load", resuming).await {
            Ok(session) => return Ok((connection, events, session, true)),
            Err(AcpError::Closed { method, ending }) => {
                return Err(AcpError::Closed { method, ending });
            }
            Err(error) => {
                tracing::warn!("failed to resume the session of {}: {error}", identity.name);
            }
        }
    }
    let beginning = connection.new_session(&identity.cwd, std::slice::from_ref(endpoint));
    let session = patient(child, limit, "session/new", beginning).await?;
    Ok((connection, events, session, false))
}

/// Resumes a session without its history where the agent offers that, else with it.
async fn resume(
    connection: &Connection,
    events: &mut AgentEvents,
    earlier: &AcpSessionId,
    identity: &NewAgentIdentity,
    endpoint: &McpServerSpec,
) -> Result<SessionInfo, AcpError> {
    let servers = std::slice::from_ref(endpoint);
    let offers = |feature| connection.agent().is_some_and(|agent| agent.offers(feature));
    let resuming = async {
        if offers(Feature::Resume) {
            connection.resume_session(earlier, &identity.cwd, servers).await
        } else {
            connection.load_session(earlier, &identity.cwd, servers).await
        }
    };
    tokio::pin!(resuming);
    loop {
        tokio::select! {
            resumed = &mut resuming => {
                // Updates sent before the answer are already queued, and are history too.
                while events.try_recv().is_some() {}
                return resumed;
            }
            // The history is known already. But unless it is received, the answer behind it is never read.
            Some(_) = events.recv() => {}
        }
    }
}
