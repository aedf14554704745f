//! Starting an agent: its process, its connection, its session with our endpoint in it.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::model_and_mode::{What, choose};
use super::start_timeout::{longest, patient};
use crate::acp::{
    AcpError, AcpSessionId, AgentEvents, ConnectOptions, Connection, Deadlines, Feature,
    FileSystem, McpServerSpec, SessionInfo, connect,
};
use crate::config::Profile;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::{TaskError, error_class};
use crate::domain::text::redact::{Hidden, Secrets};
use crate::supervisor::{self, SpawnError, Supervised};
use crate::sys::rate_limit::Metered;
use crate::team::launch::{Launch, NewAgentIdentity};
use crate::team::project_trust::UnreadableYes;
use crate::team::results::error_advice::Advice;

/// The end of an agent's stderr that goes into an error: enough for a reason, short enough for a model.
const STDERR_SHOWN_BYTES: usize = 1536;

/// A started agent.
pub(crate) struct Started {
    pub(crate) child: Supervised,
    pub(crate) connection: Connection,
    pub(crate) events: AgentEvents,
    pub(crate) session: SessionInfo,
    pub(crate) endpoint: McpServerSpec,
    /// Whether the session is the one that was to be taken up again.
    pub(crate) resumed: bool,
}

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Its process could not be made.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The user has taken back the yes to the file that says what it is.
    #[error(
        "it is defined by the project's own bridge.toml, and the user revoked the approval of that \
            file. `cli-team-bridge trust` approves it again"
    )]
    YesTakenBack,
    /// Whether the user still says yes to that file cannot be read.
    #[error(
        "it is defined by the project's own bridge.toml, and {0}. Start it again when it can be \
            read"
    )]
    UnreadableYes(#[from] UnreadableYes),
    /// It ended before it was ready.
    #[error("it ended before it was ready: {0}")]
    Ended(String),
    /// It does not answer as an agent.
    #[error("{}{stderr}", .error.message)]
    Protocol {
        /// What it did or did not answer, and what to do about it.
        error: Box<TaskError>,
        /// The end of its stderr, ready to append.
        stderr: String,
    },
}

/// Starts the process, the first of an agent or a further one. Everything after that can be undone by stopping it.
pub(crate) async fn spawn(
    launch: &Launch,
    profile: &Profile,
    program: PathBuf,
    identity: &NewAgentIdentity,
    presence: Option<OwnedFd>,
) -> Result<(Supervised, supervisor::Pipes), StartError> {
    if let Some(file) = &identity.needs
        && !launch.trust.has(file)?
    {
        return Err(StartError::YesTakenBack);
    }
    Ok(supervisor::spawn(launch.child(profile, program, identity, presence)).await?)
}

/// How a process is connected to.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) profile: &'a Profile,
    /// The session of the process before, to be taken up again.
    pub(crate) earlier: Option<&'a AcpSessionId>,
    /// The model that this session used.
    pub(crate) model: Option<&'a str>,
    /// Bytes that are read of its stdout in a second.
    pub(crate) output_per_second: u64,
    /// The wall time.
    pub(crate) now_ms: i64,
    /// What must not be written down.
    pub(crate) secrets: &'a Secrets,
}

impl StartError {
    /// Returns what a task is told that waits for the agent, where there is more to tell than that it did not start.
    pub(crate) fn task_error(&self, advice: Advice<'_>) -> Option<TaskError> {
        let error = match self {
            Self::Protocol { error, .. } => {
                TaskError { message: self.to_string(), ..(**error).clone() }
            }
            // Its last words may say that a login is missing; what else they say is not the reason for certain.
            Self::Ended(words) if error_class::class(None, words) == Some(error_class::AUTH) => {
                advice.on_words(words, self.to_string())
            }
            Self::Spawn(_) | Self::Ended(_) | Self::YesTakenBack | Self::UnreadableYes(_) => {
                return None;
            }
        };
        (error.class != error_class::AGENT).then_some(error)
    }
}

/// Connects to a started process, and begins its session.
pub(crate) async fn connect_to(
    child: Supervised,
    pipes: supervisor::Pipes,
    endpoint: McpServerSpec,
    identity: &NewAgentIdentity,
    terms: Terms<'_>,
) -> Result<Started, StartError> {
    let exited = child.exited();
    let connecting = begin(&child, pipes, &endpoint, identity, terms);
    let begun = tokio::select! {
        begun = connecting => begun,
        exit = exited => return Err(StartError::Ended(told_exit(&child, &exit.to_string(), terms.secrets))),
    };
    match begun {
        Ok((connection, events, mut session, resumed)) => {
            let setting_up = set_up(&connection, &mut session, resumed, terms);
            setting_up.await.map_err(|error| StartError::Protocol {
                error: Box::new(error),
                stderr: stderr_shown(&child.stderr_tail(), terms.secrets),
            })?;
            Ok(Started { child, connection, events, session, endpoint, resumed })
        }
        Err(AcpError::Closed { .. }) => {
            let exit = child.exited();
            // It closed its stdout, so its exit is near; if it is not, its silence is the reason.
            match tokio::time::timeout(std::time::Duration::from_secs(2), exit).await {
                Ok(exit) => {
                    Err(StartError::Ended(told_exit(&child, &exit.to_string(), terms.secrets)))
                }
                Err(_) => {
                    Err(StartError::Ended(told_exit(&child, "it closed its stdout", terms.secrets)))
                }
            }
        }
        Err(error) => Err(StartError::Protocol {
            error: Box::new(Advice::of(terms.profile, terms.now_ms).on_start(&error)),
            stderr: stderr_shown(&child.stderr_tail(), terms.secrets),
        }),
    }
}

/// Puts a session into the mode that its profile wants, and one that was taken up again back to the model that it used.
///
/// In another mode it could do more than its profile allows, so that has to succeed; another model is told by the session.
async fn set_up(
    connection: &Connection,
    session: &mut SessionInfo,
    resumed: bool,
    terms: Terms<'_>,
) -> Result<(), TaskError> {
    let advice = Advice::of(terms.profile, terms.now_ms);
    let policy = terms.profile.permissions.value;
    set_mode(connection, session, terms.profile, policy, advice).await?;
    let model = terms.model.filter(|_| resumed);
    let Some(model) =
        model.filter(|model| session.model().is_none_or(|now| now.as_str() != *model))
    else {
        return Ok(());
    };
    match choose(What::Model, model, connection, session, advice).await {
        Ok(()) => session.note_model(&terms.secrets.hidden(model)),
        Err(error) => tracing::warn!("a session continues with another model: {}", error.message),
    }
    Ok(())
}

/// Puts a session into the mode that its profile wants while a policy holds.
pub(crate) async fn set_mode(
    connection: &Connection,
    session: &mut SessionInfo,
    profile: &Profile,
    policy: Policy,
    advice: Advice<'_>,
) -> Result<(), TaskError> {
    let Some(mode) = profile.mode_under(policy) else {
        return Ok(());
    };
    choose(What::Mode, mode, connection, session, advice).await?;
    session.note_mode(mode);
    Ok(())
}

async fn begin(
    child: &Supervised,
    pipes: supervisor::Pipes,
    endpoint: &McpServerSpec,
    identity: &NewAgentIdentity,
    terms: Terms<'_>,
) -> Result<(Connection, AgentEvents, SessionInfo, bool), AcpError> {
    let limit = terms.profile.start.value;
    let options = ConnectOptions {
        file_system: if terms.profile.file_system.value {
            FileSystem::Offered
        } else {
            FileSystem::Absent
        },
        // The patience ends earlier.
        deadlines: Deadlines {
            initialize: longest(limit),
            session: longest(limit),
            ..Deadlines::default()
        },
        secrets: terms.secrets.clone(),
        ..ConnectOptions::default()
    };
    let stdout = Metered::new(pipes.stdout, terms.output_per_second);
    let (connection, mut events) = connect(stdout, pipes.stdin, options).await?;
    patient(child, limit, "initialize", connection.initialize()).await?;
    if let Some(earlier) = terms.earlier {
        let taking = take_up(&connection, &mut events, earlier, identity, endpoint);
        match patient(child, limit, "session/load", taking).await {
            Ok(session) => return Ok((connection, events, session, true)),
            Err(AcpError::Closed { method, ending }) => {
                return Err(AcpError::Closed { method, ending });
            }
            Err(error) => {
                tracing::warn!("failed to resume the session of {}: {error}", identity.name)
            }
        }
    }
    let beginning = connection.new_session(&identity.cwd, std::slice::from_ref(endpoint));
    let session = patient(child, limit, "session/new", beginning).await?;
    Ok((connection, events, session, false))
}

/// Takes up a session without its history where the agent offers that, else with it.
async fn take_up(
    connection: &Connection,
    events: &mut AgentEvents,
    earlier: &AcpSessionId,
    identity: &NewAgentIdentity,
    endpoint: &McpServerSpec,
) -> Result<SessionInfo, AcpError> {
    let servers = std::slice::from_ref(endpoint);
    let offers = |feature| connection.agent().is_some_and(|agent| agent.offers(feature));
    let taking = async {
        if offers(Feature::Resume) {
            connection.resume_session(earlier, &identity.cwd, servers).await
        } else {
            connection.load_session(earlier, &identity.cwd, servers).await
        }
    };
    tokio::pin!(taking);
    loop {
        tokio::select! {
            taken = &mut taking => {
                // What was said before the answer waits already, and is history too.
                while events.try_recv().is_some() {}
                return taken;
            }
            // The history is known; unless it is taken, the answer behind it is not read.
            Some(_) = events.recv() => {}
        }
    }
}

/// Returns the id of a session as it is written down. One with a secret in it stays in memory: so its conversation goes on after a
/// crash of its agent, and not once the agent has left.
pub(crate) fn written(id: &AcpSessionId, secrets: &Secrets, agent: &Name) -> Option<Hidden> {
    let written = id.written(secrets);
    if written.is_none() {
        tracing::warn!(
            "the session id of {agent} contains one of its keys or tokens, so it is not stored. \
             Once {agent} has left, its conversation cannot be resumed"
        );
    }
    written
}

/// Tells how an agent ended, with what it said last.
pub(crate) fn told_exit(child: &Supervised, exit: &str, secrets: &Secrets) -> String {
    format!("{exit}{}", stderr_shown(&child.stderr_tail(), secrets))
}

/// Returns the end of a stderr text, ready to append.
fn stderr_shown(stderr: &str, secrets: &Secrets) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return String::new();
    }
    let stderr = secrets.hidden(stderr);
    let (end, is_cut) = stderr.tail(STDERR_SHOWN_BYTES);
    let cut = if is_cut { "…" } else { "" };
    format!("; its stderr ends: {cut}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_the_cut_goes_through_is_hidden() {
        let key = "live-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let secrets = Secrets::of([("API_KEY", key)].into_iter());
        for left in 0..=key.len() {
            let text = format!("{key}{}", "b".repeat(STDERR_SHOWN_BYTES - left));
            let shown = stderr_shown(&text, &secrets);
            assert!(!shown.contains("789"), "{left}: {shown}");
        }
        assert_eq!(stderr_shown(" \n", &secrets), "");
        assert_eq!(stderr_shown("no\n", &secrets), "; its stderr ends: no");
    }
}
