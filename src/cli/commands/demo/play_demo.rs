//! The command itself: plays the demo within a time limit, and leaves nothing running.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::demo_project::Stage;
use super::teller::Teller;
use super::{closing_lines, shared_demo, story};
use crate::cli::commands::overview::next_step;
use crate::cli::{Failure, below_agent, output, serve_mcp};
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::edits::entry_arguments::JudgeArguments;

/// The time limit of the whole demo, which takes about two seconds, or five with a server.
const LIMIT: Duration = Duration::from_mins(1);

/// How the demo runs.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge demo                  play it, and remove its project
  cli-team-bridge demo --keep           keep the project, to look at it
  cli-team-bridge demo --bus postgres   a team on two machines, where PostgreSQL is installed")]
pub(crate) struct DemoArguments {
    /// Keep the temporary project and its log.
    #[arg(long)]
    keep: bool,
    /// Where the bus of the team is: in files of one project, or shared by two machines through a PostgreSQL server of the demo's own.
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = Engine::Files)]
    bus: Engine,
}

/// Where the bus of the team is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    Files,
    Postgres,
}

/// Plays it, and says what to do next, as the overview does.
pub(crate) fn run(
    arguments: &DemoArguments,
    judge_arguments: JudgeArguments,
) -> Result<(), Failure> {
    below_agent::refuse_to("lead a team, as the demo does")?;
    let DemoArguments { keep, bus } = arguments.clone();
    let played = serve_mcp::run_team(async move || {
        let playing = async {
            match bus {
                Engine::Files => play(keep).await,
                Engine::Postgres => shared_demo::play(keep).await,
            }
        };
        match tokio::time::timeout(LIMIT, playing).await {
            Ok(played) => played,
            Err(_) => Err(format!("the demo did not finish within {} s", LIMIT.as_secs()).into()),
        }
    });
    played?;
    // The demo has been played, whatever hinders a look around.
    if let Ok(next) = next_step(judge_arguments) {
        output::tell(&format!("\nnext: {next}"));
    }
    Ok(())
}

async fn play(keep: bool) -> Result<(), Failure> {
    let began = Instant::now();
    let teller = Teller::starting_now();
    output::say(
        "A team of three scripted agents. Each is a real process that speaks ACP and has the \
            bridge's MCP tools.",
    );
    let stage = Stage::build(keep)?;
    teller.tell(&format!("project    {}", stage.project().shown()));
    let orchestrator = stage.orchestrator().await?;
    let tools = orchestrator.client.tools().await?;
    teller.tell(&format!("orchestrator is up: {} tools over MCP", tools.len()));
    let answered = story::tell(&orchestrator.client, &teller, &stage.bus_directory()).await;
    // Nothing may be left running, even after an error.
    let closed = orchestrator.close(&teller).await;
    let woken = answered?;
    closed?;
    let count = closing_lines::of(&stage.bus_directory())?;
    let kept = keep.then(|| stage.project());
    closing_lines::print(&count, woken, kept, began)
}
