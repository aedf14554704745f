//! The configuration of a project, and the user's approvals of its own file.

use std::path::{Path, PathBuf};

use super::Failure;
use super::find_project::{self, ProjectError};
use crate::config::{Author, Config, ConfigError, Load, NamedFile};
use crate::mcp::ToolError;
use crate::sys::fs::real_path;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::random_ids;
use crate::team::{Trust, trust_command};

/// Loads the configuration of a project. `explicit` is the file named with `--config`.
pub(super) fn load(project: &Path, explicit: Option<&Path>) -> Result<Config, ConfigError> {
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
    Ok(load(&nowhere(), None)?)
}

/// The configuration files of an MCP server, which serves on while they are invalid: a client shows nothing of a server that ends, but
/// it shows the answers of tools.
#[derive(Clone, Debug)]
pub(super) struct ServerConfig {
    pub(super) project: PathBuf,
    /// The file named with `--config`.
    pub(super) explicit: Option<PathBuf>,
}

impl ServerConfig {
    /// Reads the files for a call, away from the thread that serves.
    pub(super) async fn load_for_call(&self) -> Result<Config, ToolError> {
        let files = self.clone();
        let loaded =
            tokio::task::spawn_blocking(move || load(&files.project, files.explicit.as_deref()));
        match loaded.await {
            Ok(Ok(config)) => Ok(config),
            Ok(Err(error)) => Err(ToolError::Unavailable(explain(&error))),
            Err(_) => Err(ToolError::Unavailable("the bridge is ending".to_owned())),
        }
    }
}

/// Explains to a model why no tool works. What is wrong has words of the file in it, which a repository may have brought: it is one JSON
/// string, so that they cannot pass for the bridge's own.
fn explain(error: &ConfigError) -> String {
    let quoted = serde_json::Value::from(error.to_string());
    format!(
        "The bridge does nothing until its configuration is valid ({}). What is wrong, with words of that file in it: {quoted}. Correct \
         it, or tell your user. Then call again: each call reads the configuration anew.",
        error.place()
    )
}

/// Says at the start of a session why no tool works. It quotes nothing from the file, which a repository may have brought.
pub(super) fn trouble(error: &ConfigError) -> String {
    format!(
        "No tool of this server works at present, because its configuration is invalid ({}). Each call says what is wrong, until \
         that is corrected.",
        error.place()
    )
}

/// Explains to a model that no tool works, because the server was started where no project can be, as in the home directory. Its path is
/// one JSON string, so that no word of it can pass for the bridge's own.
pub(super) fn explain_no_project(error: &ProjectError) -> String {
    let quoted = serde_json::Value::from(error.to_string());
    let hint = error.hint().unwrap_or("name a project with `--project`");
    format!(
        "No tool of this server works in this session, because it has no project: {quoted}. Nothing that you call changes that. Tell \
         your user what to do: {hint}, and start a new session."
    )
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
            "{} would run programs or raise limits. Until you review and approve the file with \
             `{}`, those settings have no effect, and agents with some of them are not started",
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
