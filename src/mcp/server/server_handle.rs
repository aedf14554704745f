//! The handle on a server: its tools, its membership, and the calls that it has just answered.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::model::{self, ProtocolVersion, RequestId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::client_pipes;
use super::first_message::{SESSION_VERSIONS, VERSIONS};
use crate::domain::ids::CallId;
use crate::domain::wait_times;
use crate::mcp::ask_user::User;
use crate::mcp::lazy_membership::LazyMembership;
use crate::mcp::tool::{AnyTool, json_schema};
use crate::sys::fs::project::ProjectFiles;
use crate::sys::mutex::lock;
use crate::team::UserReachable;

/// How many answered calls are remembered in case their client cancels them: as many as the wire remembers.
const RECENT: usize = client_pipes::REMEMBERED;

/// How a server introduces itself.
#[derive(Clone, Debug)]
pub struct About {
    /// The instructions to a model for all the tools together.
    pub instructions: String,
    /// The files of the project, if members can name some to each other here.
    pub files: Option<ProjectFiles>,
    pub pushing: Pushing,
}

/// Whether a server pushes messages into the session of its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pushing {
    #[default]
    Never,
    /// As notifications, which some clients show their models. Such a server serves only clients that begin with `initialize`.
    ByChannel,
}

/// An MCP server with some tools for one membership. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    pub(super) shared: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) about: About,
    pub(super) tools: Vec<Offered>,
    pub(super) membership: LazyMembership,
    /// The client's user, if the server asks that person.
    pub(super) user: Option<Arc<User>>,
    recent: Mutex<VecDeque<(RequestId, CallId)>>,
    /// Cancelled when the client is gone: ends waiting calls.
    pub(super) ending: CancellationToken,
    tasks: TaskTracker,
    /// Held by the task that records on the bus that the tools are ready.
    pub(super) announcing: tokio::sync::Mutex<()>,
    /// How long a tool that does not wait may take.
    pub(super) limit: Duration,
}

/// A tool with its entry in `tools/list`.
pub(super) struct Offered {
    pub(super) tool: Box<dyn AnyTool>,
    pub(super) definition: model::Tool,
}

impl Offered {
    /// Returns its entry in `tools/list` as it is now.
    pub(super) fn listed(&self) -> model::Tool {
        let mut listed = self.definition.clone();
        if let Some((field, note)) = self.tool.present_note() {
            let schema = Arc::make_mut(&mut listed.input_schema);
            json_schema::add_to_description(schema, field, &note);
        }
        listed
    }
}

impl Server {
    /// Makes a server with these tools, listed in this order.
    pub fn new(about: About, tools: Vec<Box<dyn AnyTool>>, membership: LazyMembership) -> Self {
        Self::with_limit(about, tools, membership, wait_times::TOOL)
    }

    /// Makes the same server, which also asks its client's user about agents' permission requests.
    pub fn asking_users(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        human: UserReachable,
    ) -> Self {
        Self::made(about, tools, membership, (wait_times::TOOL, Some(Arc::new(User::new(human)))))
    }

    /// Makes a server with another limit for tools that do not wait.
    pub(in crate::mcp) fn with_limit(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        limit: Duration,
    ) -> Self {
        Self::made(about, tools, membership, (limit, None))
    }

    fn made(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        (limit, user): (Duration, Option<Arc<User>>),
    ) -> Self {
        let offered = tools.into_iter().map(|tool| Offered { definition: tool.definition(), tool });
        Self {
            shared: Arc::new(Inner {
                about,
                tools: offered.collect(),
                membership,
                user,
                recent: Mutex::default(),
                ending: CancellationToken::new(),
                tasks: TaskTracker::new(),
                announcing: tokio::sync::Mutex::default(),
                limit,
            }),
        }
    }

    /// Returns the membership for which it answers calls.
    pub fn membership(&self) -> &LazyMembership {
        &self.shared.membership
    }

    /// Returns the versions of the protocol that it serves.
    pub(super) fn versions(&self) -> &'static [ProtocolVersion] {
        match self.shared.about.pushing {
            Pushing::Never => &VERSIONS,
            Pushing::ByChannel => &SESSION_VERSIONS,
        }
    }

    /// Returns the token that is cancelled when the client is gone, which ends waiting calls.
    pub fn ending(&self) -> &CancellationToken {
        &self.shared.ending
    }

    /// Returns the tracker of all tasks of this server.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.shared.tasks
    }

    pub(super) fn remember(&self, request: RequestId, call: CallId) {
        let mut recent = self.recent();
        recent.push_back((request, call));
        if recent.len() > RECENT {
            recent.pop_front();
        }
    }

    pub(super) fn recent(&self) -> MutexGuard<'_, VecDeque<(RequestId, CallId)>> {
        // Each pair is pushed in one step, so a poisoned list is whole.
        lock(&self.shared.recent)
    }
}
