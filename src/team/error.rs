//! The team's errors, each a sentence for a model.

use std::sync::Arc;
use std::time::Duration;

use super::project_trust::{Consent, UnreadableApproval};
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::config::UnknownProfile;
use crate::domain::limits;
use crate::domain::member::SessionNumber;
use crate::domain::missing_program::MissingProgram;
use crate::domain::name::{Name, NameError};
use crate::domain::text::listed::listed;
use crate::domain::wait_times;

#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Neither a live member nor a profile has that name.
    #[error("`{name}` is neither a live agent nor a profile{}", known(.nearest, .profiles))]
    Unknown { name: String, nearest: Vec<String>, profiles: Vec<String> },
    /// Neither a live agent nor a profile has the role.
    #[error("no live agent and no profile has the role `{role}`{}", roles(.nearest, .words))]
    NoRole { role: String, nearest: Vec<String>, words: Vec<String> },
    /// No such profile exists.
    #[error(transparent)]
    Profile(#[from] UnknownProfile),
    /// The program of a profile is not installed.
    #[error(transparent)]
    Program(#[from] MissingProgram),
    /// The project's own file says what would run, and the user has not approved it.
    #[error("{_0}")]
    Unagreed(Arc<Consent>),
    /// The user's approval of a file of the project cannot be read now.
    #[error("{what}, and {why}. Try again when it can be read")]
    UnreadableApproval {
        /// The action that was not taken, as a clause.
        what: String,
        #[source]
        why: UnreadableApproval,
    },
    /// The name for a new agent is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No agent was started on another host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The working directory is not valid.
    #[error(
        "cwd {given:?} {problem}: name a directory inside the project, relative to its root, or in a worktree of its repository"
    )]
    Cwd {
        /// As the caller wrote it.
        given: String,
        problem: &'static str,
    },
    /// The agent does not offer the model.
    #[error("`{agent}` cannot take this task: {problem}")]
    Model {
        agent: Name,
        /// Names the models that it offers.
        problem: String,
    },
    /// No remembered session ended under that name.
    #[error("no ended agent is named `{name}`{}", ended(.nearest))]
    NeverHere {
        name: String,
        /// Similar names, else all.
        nearest: Vec<String>,
    },
    /// The conversation of that ended session goes on in a live agent.
    #[error("the conversation of `{number}` goes on already, as `{agent}`: assign to `{agent}`")]
    GoesOn { number: SessionNumber, agent: Name },
    /// A live agent cannot change its directory.
    #[error(
        "`{agent}` works in another directory: assign without `cwd`, or start a new agent with `name`"
    )]
    OtherCwd { agent: Name },
    /// The bridge that holds the agent does not answer.
    #[error("the bridge `{bridge}` that runs `{agent}` did not act within {} s; it may be \
        suspended or overloaded", .after.as_secs())]
    Silent {
        agent: Name,
        bridge: String,
        /// How long the bridge waited.
        after: Duration,
    },
}

/// Why no agent was started on another host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("no host `{host}` starts agents for this team{}", others(.known))]
    Unknown {
        host: String,
        /// The others, with what they offer.
        known: Vec<String>,
    },
    /// Only the name of a bridge says which is meant.
    #[error(
        "several hosts are called {host:?}: give the name of a bridge as `host`, of {}{}",
        listed(.hosts, "or"),
        if *.is_own { ", or leave `host` out for an agent of your own" } else { "" }
    )]
    Several {
        host: String,
        /// The bridges of the other hosts, with what they offer.
        hosts: Vec<String>,
        /// Whether the asking machine is called so too.
        is_own: bool,
    },
    #[error("`{bridge}` did not start the agent: {why}")]
    Refused { bridge: Name, why: String },
    #[error("`{bridge}` has left: list_agents shows which hosts are there")]
    Gone { bridge: Name },
    #[error(
        "`{bridge}` did not answer in {} s: its machine may be overloaded or cut off. Nothing was started",
        wait_times::HOST_STARTS.as_secs()
    )]
    Silent { bridge: Name },
    #[error(
        "`{agent}` ended on {host}, where its conversation and its files are: start a new agent of a profile, here or with `host`"
    )]
    EndedThere { agent: Name, host: String },
    /// The host's own user has not offered it.
    #[error("that is not offered to this machine")]
    NotOffered,
}

fn others(known: &[String]) -> String {
    match known {
        [] => ": `cli-team-bridge host --for …` there offers it".to_owned(),
        known => format!(": there are {}", listed(known, "and")),
    }
}

fn known(nearest: &[String], profiles: &[String]) -> String {
    let quoted = |names: &[String]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    match nearest {
        [] => format!("; profiles: {}", quoted(profiles)),
        names => format!(": did you mean {}?", quoted(names)),
    }
}

fn roles(nearest: &[String], words: &[String]) -> String {
    let quoted = |words: &[String]| {
        let shown = &words[..words.len().min(limits::SHOWN_GROUP_WORDS)];
        shown.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
    };
    match (nearest, words) {
        ([], []) => ": give a profile `roles` in the configuration, or name an agent".to_owned(),
        ([], words) => format!("; there are {}", quoted(words)),
        (nearest, _) => format!(": did you mean {}?", quoted(nearest)),
    }
}

fn ended(names: &[String]) -> String {
    if names.is_empty() {
        return ": assign without `resume` to start one".to_owned();
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(": the ended agents are {}", names.join(", "))
}

impl TeamError {
    /// Returns the sentence for a model: without any path of the bus.
    pub fn message_for_model(&self) -> String {
        match self {
            Self::Bus(error) => error.message_for_model(),
            other => other.to_string(),
        }
    }
}

impl From<Refusal> for TeamError {
    fn from(refusal: Refusal) -> Self {
        Self::Bus(refusal.into())
    }
}
