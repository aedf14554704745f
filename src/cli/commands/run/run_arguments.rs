//! The arguments of `run`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

/// What `--resume` without an id stands for.
pub(super) const LIST: &str = "";

/// What to run, and how.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("what").required(true), after_help = "\
Examples:
  cli-team-bridge run plan.toml --dry-run              check the plan, and run nothing
  cli-team-bridge run plan.toml --scripted team.toml   play it without a model
  cli-team-bridge run plan.toml                        run it
  cli-team-bridge run --resume                         list the interrupted workflows
  cli-team-bridge run --resume wf-k3j7x2abq5wt         resume one of them")]
pub(crate) struct RunArguments {
    /// The plan file (TOML; see docs/workflows.md).
    #[arg(value_name = "FILE", group = "what")]
    pub(super) file: Option<PathBuf>,
    /// Resume this interrupted workflow instead; without an id, list the workflows that can be resumed.
    #[arg(long, value_name = "WORKFLOW", num_args = 0..=1, default_missing_value = LIST, group = "what", conflicts_with_all = ["dry_run", "graph", "scripted"])]
    pub(super) resume: Option<String>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    pub(super) adopt: bool,
    /// The server of the team: a project without a bus gets a shared one, as by `bus init`; with another bus, nothing runs.
    #[arg(long, value_name = "SERVER")]
    pub(super) bus: Option<String>,
    /// The name of the team on that server [default: the name of the project's directory].
    #[arg(long, value_name = "NAME", requires = "bus")]
    pub(super) team: Option<String>,
    /// Check the plan and print the order of its steps, without running it.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Check the plan and print it as a graph, without running it.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) graph: Option<Graph>,
    /// Replace all agents with this script, to try a workflow without a model. Such a run cannot be resumed.
    #[arg(long, value_name = "FILE")]
    pub(super) scripted: Option<PathBuf>,
    /// Approve every step that asks for approval.
    #[arg(long)]
    pub(super) yes: bool,
}

/// A language for graphs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Graph {
    /// For Markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
}
