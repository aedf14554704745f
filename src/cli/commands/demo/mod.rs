//! `demo`: a team of scripted agents at work in a temporary project, told on the terminal.
//!
//! Nothing is staged: the demo starts this binary as an orchestrator, calls its tools over MCP as any client does, and counts
//! afterwards what the log says.

mod totals;
mod demo_project;
mod story;

use std::time::{Duration, Instant};

use clap::Args;

use self::demo_project::Stage;
use crate::cli::{Failure, below_agent, output, serve_mcp};

/// How long the whole demo may take before it is called a failure; it takes about two seconds.
const LIMIT: Duration = Duration::from_mins(1);

/// How the demo runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArguments {
    /// Keep the temporary project and its log.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(arguments: &DemoArguments) -> Result<(), Failure> {
    below_agent::refuse_to("lead a team, as the demo does")?;
    let keep = arguments.keep;
    serve_mcp::run_team(async move || match tokio::time::timeout(LIMIT, play(keep)).await {
        Ok(played) => played,
        Err(_) => Err(format!("the demo did not finish within {} s", LIMIT.as_secs()).into()),
    })
}

async fn play(keep: bool) -> Result<(), Failure> {
    let began = Instant::now();
    let teller = Teller { began };
    output::say(
        "A team of three scripted agents. Each is a real process that speaks ACP and has the \
            bridge's MCP tools.",
    );
    let stage = Stage::build(keep)?;
    teller.tell(&format!("project    {}", stage.project().display()));
    let orchestrator = stage.orchestrator().await?;
    let tools = orchestrator.client.tools().await?;
    teller.tell(&format!("orchestrator is up: {} tools over MCP", tools.len()));
    let told = story::tell(&orchestrator.client, &teller).await;
    // In either case nothing may be left running.
    let closed = orchestrator.close(&teller).await;
    let woken = told?;
    closed?;
    let count = totals::of(&stage.bus_directory())?;
    output::say("");
    output::say(&count.sentence());
    output::say(&format!(
        "A message woke an idle agent; its answer arrived after {} ms.",
        woken.as_millis()
    ));
    if keep {
        output::say(&format!("Kept: {}", stage.project().display()));
    }
    let left = count.processes_left();
    output::say(&format!("{left} processes left. Took {:.1} s.", began.elapsed().as_secs_f64()));
    if left > 0 {
        return Err(format!("{left} processes of the team are still running").into());
    }
    if count.lost > 0 {
        return Err(format!("{} messages were lost", count.lost).into());
    }
    Ok(())
}

/// Tells what happens, with the time since the beginning.
struct Teller {
    began: Instant,
}

impl Teller {
    fn tell(&self, what: &str) {
        output::say(&format!("{:>6.2} s  {what}", self.began.elapsed().as_secs_f64()));
    }
}
