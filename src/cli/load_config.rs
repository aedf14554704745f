//! The configuration of a project, and the user's approvals of its own file.

use std::path::{Path, PathBuf};

use super::{Failure, find_project};
use crate::config::{Author, Config, Load, NamedFile};
use crate::sys::fs::real_path;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::random_ids;
use crate::team::{Trust, trust_command};

/// Loads the configuration of a project. `explicit` is the file named with `--config`.
pub(super) fn load(project: &Path, explicit: Option<&Path>) -> Result<Config, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let config_home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let mut config = Config::load(Load {
        project,
        home: home.as_deref(),
        config_home: config_home.as_deref(),
        explicit: explicit.map(|path| NamedFile { path, author: author_of(path, project) }),
    })?;
    trust_store().settle(&mut config);
    Ok(config)
}

/// Returns whose word a file is that the command line names: the user's, unless it lies in the project or leads through it. A repository
/// may bring both the file and the entry of an MCP client whose arguments name it.
pub(super) fn author_of(file: &Path, project: &Path) -> Author {
    let here = find_project::current_directory().unwrap_or_else(|_| PathBuf::from("/"));
    let Some(places) = real_path::places_on_the_way(&here, file) else {
        return Author::Project;
    };
    if find_project::is_around(&places, project) { Author::Project } else { Author::User }
}

/// Loads the user's own configuration, as it is outside of every project.
pub(super) fn load_without_project() -> Result<Config, Failure> {
    load(&nowhere(), None)
}

/// Returns the path of a project that does not exist, and so has no configuration.
pub(super) fn nowhere() -> PathBuf {
    std::env::temp_dir().join(format!("cli-team-bridge-nowhere-{}", random_ids::session()))
}

/// Returns the store of this user's approvals.
pub(super) fn trust_store() -> Trust {
    Trust::kept_in(StateDirectory::of_process().as_ref())
}

/// Warns of ignored settings in the project's own file.
pub(super) fn warn_of_what_does_not_count(config: &Config) {
    for file in config.unagreed() {
        tracing::warn!(
            "{} would run programs or raise limits. Those settings are ignored until you review \
             and approve the file with `{}`",
            file.title(),
            trust_command(file.trust_argument()),
        );
    }
    if config.leaves_out_auto_resume() {
        tracing::warn!(
            "`resume = \"auto\"` is ignored in a file of the project. Set it in your own \
             config.toml"
        );
    }
}
