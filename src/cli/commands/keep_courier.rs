//! The user's other projects, for the commands whose sessions take messages to them.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::courier::{Courier, KnownProjects};
use crate::domain::wait_times;
use crate::mcp::LazyMembership;

/// Returns the projects of the user's configuration, as this one sees them.
pub(in crate::cli) fn known_projects(config: &Config, project: &Path) -> KnownProjects {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    KnownProjects::of(config.projects(), project, home.as_deref())
}

/// Takes messages across for the bus that a server has joined, and for one that replaces it. `projects` are known once it has.
pub(in crate::cli) async fn take_across(
    membership: LazyMembership,
    projects: impl Fn() -> Option<KnownProjects>,
) {
    loop {
        if let Some(held) = membership.current()
            && let Some(projects) = projects()
        {
            let _courier = Courier::start(&held, projects);
            membership.until_replaced(held.session()).await;
        }
        tokio::time::sleep(wait_times::COURIER_LOOK).await;
    }
}
