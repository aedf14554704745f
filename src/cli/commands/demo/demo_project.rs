//! The stage of the demo: a temporary project, and this binary as its orchestrator.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::teller::Teller;
use crate::cli::{Failure, find_project};
use crate::domain::env_vars;
use crate::mcp::client::Client;
use crate::supervisor::{self, ChildSpec, StopPlan, Supervised};
use crate::sys::random_ids;

/// The script of the agents.
const SCRIPT: &str = include_str!("../../../../examples/demo.toml");

/// A temporary project, removed at the end unless it is kept.
pub(crate) struct Stage {
    root: PathBuf,
    keep: bool,
}

/// A running orchestrator and the client that uses it.
pub(crate) struct Orchestrator {
    pub(crate) client: Client,
    child: Supervised,
}

impl Stage {
    pub(crate) fn build(keep: bool) -> Result<Self, Failure> {
        let root =
            std::env::temp_dir().join(format!("cli-team-bridge-demo-{}", random_ids::session()));
        // The demo's agents are this program alone, which reads no settings in directories above its project.
        DirBuilder::new().mode(0o700).create(&root)?;
        let root = root.canonicalize()?;
        let stage = Self { root, keep };
        std::fs::write(stage.script(), SCRIPT)?;
        Ok(stage)
    }

    pub(crate) fn project(&self) -> &Path {
        &self.root
    }

    pub(crate) fn bus_directory(&self) -> PathBuf {
        find_project::bus_directory(&self.root)
    }

    fn script(&self) -> PathBuf {
        self.root.join("script.toml")
    }

    /// Makes its bus one that several machines share.
    pub(super) async fn share(&self, server: &str, team: &str) -> Result<(), Failure> {
        let init = self.command(&["bus", "init", server, "--team", team])?;
        let (child, pipes) = supervisor::spawn(init).await?;
        drop(pipes);
        let exit = child.exited().await;
        if exit.code == Some(0) {
            return Ok(());
        }
        Err(format!("`bus init` exited with {exit}; its stderr: {}", child.stderr_tail()).into())
    }

    /// Returns a command line of this program in the project.
    fn command(&self, arguments: &[&str]) -> Result<ChildSpec, Failure> {
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        env.push((env_vars::SCRIPT.into(), self.script().into()));
        // So that its record of this bus is deleted with the project. A bus that is kept is the user's own.
        if !self.keep {
            env.retain(|(name, _)| name != "XDG_STATE_HOME");
            env.push(("XDG_STATE_HOME".into(), self.root.join("state").into()));
        }
        let mut args: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        args.extend(["--project".into(), self.root.clone().into()]);
        let (program, cwd) = (std::env::current_exe()?, self.root.clone());
        Ok(ChildSpec { program, args, env, cwd, shim: None })
    }

    pub(crate) async fn orchestrator(&self) -> Result<Orchestrator, Failure> {
        // As a client would start it.
        let (child, pipes) = supervisor::spawn(self.command(&["orchestrator"])?).await?;
        match Client::connect(pipes.stdout, pipes.stdin).await {
            Ok(client) => Ok(Orchestrator { client, child }),
            Err(error) => Err(format!("{error}; its stderr: {}", child.stderr_tail()).into()),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            // If this fails, the system cleans up its temporary directory.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

impl Orchestrator {
    /// Closes the orchestrator's input, as an ending client does, and waits until the orchestrator has stopped its agents and
    /// exited.
    pub(crate) async fn close(self, teller: &Teller) -> Result<(), Failure> {
        let began = std::time::Instant::now();
        self.client.close().await;
        let exit = self.child.stop(StopPlan::DEMO).await?;
        teller.tell(&format!(
            "the client closed; the orchestrator stopped its agents and exited in {} ms ({exit})",
            began.elapsed().as_millis()
        ));
        if exit.code == Some(0) {
            return Ok(());
        }
        Err(format!(
            "the orchestrator exited with {exit}; its stderr: {}",
            self.child.stderr_tail()
        )
        .into())
    }
}
