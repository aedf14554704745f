//! What the overview shows, as data.

use crate::domain::ids::{TaskId, WorkflowId};
use crate::setup::connected_clients::InstalledClient;
use crate::setup::installed_agents::InstalledAgent;

/// All that the overview shows.
pub(super) struct Overview {
    /// The installed clients.
    pub(super) clients: Vec<InstalledClient>,
    /// What keeps clients that have an entry from starting the bridge.
    pub(super) hindrances: Vec<Hindrance>,
    /// The agents, or why the user's configuration cannot be read.
    pub(super) agents: Result<Vec<InstalledAgent>, String>,
    pub(super) project: ProjectView,
}

/// What keeps a client from starting the bridge, as the doctor says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hindrance {
    /// The client's name for people.
    pub(super) client: &'static str,
    /// Whether only the directory is not trusted, which the user decides in each.
    pub(super) is_trust: bool,
    pub(super) says: String,
    pub(super) remedy: String,
}

/// The project of the current directory.
pub(super) enum ProjectView {
    /// There is none, for this reason.
    Absent(String),
    Found {
        root: String,
        file: FileView,
        bus: BusView,
    },
}

/// The configuration of a project.
pub(super) enum FileView {
    /// Nothing is to be said of it.
    Good,
    /// No session can use it, for this reason.
    Invalid { place: String, why: String },
    /// A file of the project has settings that wait for the user's approval. The command shows and approves them.
    Unapproved { title: String, command: String },
}

/// The bus of a project.
pub(super) enum BusView {
    Absent,
    /// It was not created here.
    Foreign,
    /// It cannot be read, for this reason.
    Unusable(String),
    Present {
        /// The number of live members.
        members: usize,
        /// How far its team is.
        team: TeamNow,
        /// The number of workflows that have not ended.
        unfinished: usize,
        /// Interrupted workflows besides those, in which scripts played the agents: nobody can resume them.
        trials: usize,
        /// The unfinished ones that can be resumed, the newest first.
        resumable: Vec<WorkflowId>,
        /// The tasks that were not done when their agents or their bridge ended, as far as nobody was told of that, the newest first.
        lost: Vec<TaskId>,
    },
}

/// How far the team of a project is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TeamNow {
    /// No session leads it.
    Unled,
    /// A session leads it, without an agent or a workflow.
    Alone,
    /// A session leads agents, or a workflow.
    AtWork,
    /// One of its members waits for the user.
    NeedsYou,
}
