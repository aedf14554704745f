//! What launching an agent takes: our own binary, our environment, the project and its bus.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::process_mark;
use super::project_trust::Trust;
use crate::acp::McpServerSpec;
use crate::config::{Brought, Config, Profile};
use crate::domain::env_vars;
use crate::domain::ids::SessionId;
use crate::domain::missing_program::MissingProgram;
use crate::domain::name::Name;
use crate::domain::text::redact::Secrets;
use crate::domain::tool_names::SERVER;
use crate::supervisor::{ChildSpec, Shim};
use crate::sys::fs::git_worktrees::Worktree;
use crate::sys::process::find_program;

/// Where agents are launched from.
#[derive(Clone, Debug)]
pub struct Launch {
    /// This binary: the shim of each agent, and the endpoint that agents start.
    pub own_binary: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    /// The project, links resolved.
    pub project: PathBuf,
    /// Where agents work unless `cwd` says otherwise: the project, or the same place in the linked worktree in which the
    /// orchestrator runs.
    pub ground: PathBuf,
    pub bus_dir: PathBuf,
    /// Where the project was before it was moved, the last place first.
    pub former: Vec<PathBuf>,
    /// The user's approvals.
    pub trust: Trust,
}

/// An agent that is about to be launched.
#[derive(Clone, Debug)]
pub(crate) struct NewAgentIdentity {
    pub(crate) session: SessionId,
    pub(crate) name: Name,
    pub(crate) token: String,
    pub(crate) cwd: PathBuf,
    /// The project as this agent sees it: in the worktree that it works in.
    pub(crate) root: PathBuf,
    /// The files of the project that the user must approve for its profile.
    pub(crate) needs: Vec<Brought>,
}

impl Launch {
    /// Returns the `PATH` of this process.
    pub(super) fn search_path(&self) -> Option<&OsStr> {
        let is_path = |(name, _): &&(OsString, OsString)| name == "PATH";
        let found = self.environment.iter().find(is_path);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Returns the identity of the bus directory that is recorded with the processes started for it.
    pub(super) fn place(&self) -> Option<String> {
        process_mark::place_of(&self.bus_dir)
    }

    /// Returns the mark of an agent's processes.
    pub(super) fn mark(&self, session: SessionId) -> String {
        process_mark::run_mark(&self.bus_dir, session)
    }

    /// Returns whether a directory is the home directory or contains it.
    fn is_too_wide(&self, place: &Path) -> bool {
        let home = self.environment.iter().find(|(name, _)| name == "HOME");
        let home = home.and_then(|(_, home)| Path::new(home).canonicalize().ok());
        place.parent().is_none() || home.is_some_and(|home| home.starts_with(place))
    }

    /// Returns the root of the project as an agent in this directory sees it, links resolved; `None` outside of the project.
    ///
    /// In a worktree of the project's repository, the root is the same part of the repository as the project. Where the directory
    /// lies outside of that part, it is the whole worktree.
    pub(super) fn root_of(&self, cwd: &Path) -> Option<PathBuf> {
        let own = Worktree::around(&self.project);
        let same = own.and_then(|own| {
            let mut around = Worktree::all_around(cwd);
            let here = around.find(|here| here.is_of_same_repository(&own))?;
            Some((own, here))
        });
        if let Some((own, here)) = same {
            let part = self.project.strip_prefix(&own.root).ok()?;
            let root = here.root.join(part);
            // Where the home directory is a repository, the rest of it is not the project.
            if self.is_too_wide(&here.root) && !cwd.starts_with(&root) {
                return None;
            }
            return Some(if cwd.starts_with(&root) { root } else { here.root });
        }
        let roots = [&self.project, &self.ground].into_iter();
        roots
            .filter(|root| cwd.starts_with(root))
            .max_by_key(|root| root.as_os_str().len())
            .cloned()
    }

    /// Finds the program of a profile.
    pub(super) fn program(&self, profile: &Profile) -> Result<PathBuf, MissingProgram> {
        let search = self.search_path();
        profile.program(&self.own_binary, |program| find_program(Path::new(program), search))
    }

    /// Returns how to start an agent's process: behind a shim, which holds its presence as this bridge does.
    pub(super) fn child(
        &self,
        profile: &Profile,
        program: PathBuf,
        identity: &NewAgentIdentity,
        presence: Option<OwnedFd>,
    ) -> ChildSpec {
        let mut env = profile.environment(self.environment.iter().cloned());
        if profile.user_entry_wins.value {
            let identity = self.identity_variables(identity, profile);
            env.extend(identity.into_iter().map(|(name, value)| (name.into(), value.into())));
        } else {
            env.push((env_vars::RUN.into(), self.mark(identity.session).into()));
        }
        ChildSpec {
            program,
            args: profile.args.value.iter().map(OsString::from).collect(),
            env,
            cwd: identity.cwd.clone(),
            shim: Some(Shim { binary: self.own_binary.clone(), presence: presence.map(Arc::new) }),
        }
    }

    /// Returns the secrets of an agent: the keys in its environment, and its token. They must not be written down.
    pub(super) fn secrets(&self, profile: &Profile, token: &str) -> Secrets {
        let environment = profile.environment(self.environment.iter().cloned());
        let texts =
            environment.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let mut secrets = Secrets::of(texts);
        secrets.hide(env_vars::TOKEN, token);
        secrets
    }

    /// Returns the secrets of this process and of the agents of every profile.
    pub(super) fn all_secrets(&self, config: &Config) -> Secrets {
        let own = self.environment.iter().cloned();
        let given = config
            .profiles()
            .flat_map(|profile| profile.environment(self.environment.iter().cloned()));
        let all: BTreeSet<_> = own.chain(given).collect();
        let texts = all.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        Secrets::of(texts)
    }

    /// Returns the variables from which our endpoint knows its member.
    fn identity_variables(
        &self,
        identity: &NewAgentIdentity,
        profile: &Profile,
    ) -> [(&'static str, String); 6] {
        let result_bytes = profile.result_bytes.value.to_string();
        [
            (env_vars::DIR, self.bus_dir.to_string_lossy().into_owned()),
            (env_vars::MEMBER, identity.name.to_string()),
            (env_vars::SESSION, identity.session.to_string()),
            (env_vars::TOKEN, identity.token.clone()),
            (env_vars::RESULT_BYTES, result_bytes),
            (env_vars::RUN, self.mark(identity.session)),
        ]
    }

    /// Returns the MCP server that an agent starts: our endpoint, which knows its member from its environment alone.
    pub(super) fn endpoint(&self, identity: &NewAgentIdentity, profile: &Profile) -> McpServerSpec {
        let env = self.identity_variables(identity, profile);
        McpServerSpec {
            name: SERVER.to_owned(),
            command: self.own_binary.clone(),
            args: vec!["agent".to_owned()],
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}
