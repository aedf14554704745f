//! Which team to act on, and how to report what came of it.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::look::print_json;
use crate::cli::steer::{Ended, Outcome, Patience, Steering};
use crate::cli::{Failure, output, serve_mcp};

/// The options that all acts share.
#[derive(Clone, Debug, Args)]
pub(super) struct TeamPlace {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print JSON instead of a line for people.
    #[arg(long)]
    json: bool,
}

/// Whether to wait for what comes of an act.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Waiting {
    /// Return at once, without waiting for what comes of it.
    #[arg(long)]
    no_wait: bool,
}

impl Waiting {
    pub(super) fn patience(self) -> Patience {
        if self.no_wait { Patience::None } else { Patience::Waits }
    }
}

impl TeamPlace {
    /// Returns the project, if one is named.
    pub(super) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns the same options for the project in this directory.
    pub(super) fn at(&self, project: PathBuf) -> Self {
        Self { project: Some(project), json: self.json }
    }

    /// Acts on the team, and prints what came of it. It fails if the process that had to act did not.
    pub(super) fn act(
        &self,
        act: impl AsyncFnOnce(&Steering) -> Result<Outcome, Failure>,
    ) -> Result<(), Failure> {
        serve_mcp::run(async || {
            let team = Steering::open(self.project.as_deref()).await?;
            let acted = act(&team).await;
            team.close().await;
            self.report(&acted?)
        })
    }

    fn report(&self, outcome: &Outcome) -> Result<(), Failure> {
        let has_failed = outcome.ended == Ended::Silent;
        if self.json {
            print_json(outcome);
        } else if !has_failed {
            output::say(&outcome.words);
        }
        if has_failed { Err(outcome.words.clone().into()) } else { Ok(()) }
    }
}
