//! The arguments of `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What to run, and how.
/// What `--resume` without an id stands for.
pub(super) const LIST: &str = "";

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArguments {
    /// The plan file (TOML; see docs/workflows.md).
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(super) file: Option<PathBuf>,
    /// Resume this interrupted workflow instead; without an id, list the workflows that can be resumed.
    #[arg(long, value_name = "WORKFLOW", num_args = 0..=1, default_missing_value = LIST, conflicts_with_all = ["file", "dry_run", "graph", "scripted"])]
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
    /// Check the plan and print the order of its steps, without running it.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Check the plan and print it as a graph, without running it.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) graph: Option<Graph>,
    /// Replace all agents with this script, to try a workflow without a model.
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
