//! The time that the bridge adds to each step of a workflow: from the end of one step's task to the start of the next step.

use std::process::Command;

use cli_team_bridge::bus::BusError;
use cli_team_bridge::bus::event::Event;
use cli_team_bridge::bus::storage::LogError;

use crate::support::Outcome;
use crate::support::project::{self, Project};
use crate::support::samples::median;
use crate::support::table::{Demand, Row};

/// The steps of the chain: the most that a plan may have.
const STEPS: usize = 200;

/// An agent that answers at once.
const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let project = Project::new()?;
    let (plan, script) = (project.path().join("plan.toml"), project.path().join("script.toml"));
    std::fs::write(&plan, chain())?;
    std::fs::write(&script, SCRIPT)?;
    let ran = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .arg("run")
        .arg(&plan)
        .arg("--project")
        .arg(project.path())
        .env("XDG_STATE_HOME", project.path().join("state"))
        .arg("--scripted")
        .arg(&script)
        .output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    let gaps = project::run(async { gaps(&project) })?;
    if gaps.len() != STEPS - 1 {
        return Err(format!("{} of {STEPS} steps followed another", gaps.len()).into());
    }
    Ok(vec![Row::absolute(
        "workflow: from a task's end to the next step's beginning",
        Demand::AtMost(5.0),
        median(gaps.into_iter()),
        "ms",
    )])
}

/// Writes a plan in which each step depends on the one before.
fn chain() -> String {
    let step = |number: usize| {
        let before = number.checked_sub(1);
        let before =
            before.map_or_else(String::new, |before| format!("depends_on = [\"n{before}\"]\n"));
        format!("[[steps]]\nname = \"n{number}\"\nagent = \"red\"\nprompt = \"go on\"\n{before}")
    };
    let steps: String = (0..STEPS).map(step).collect();
    format!("name = \"chain\"\n{steps}")
}

/// Returns the milliseconds between the end of each task and the start of the next step, from the log.
fn gaps(project: &Project) -> Outcome<Vec<f64>> {
    let bus = project::open(&project.bus())?;
    let (mut place, mut gaps, mut ended) = (bus.oldest()?, Vec::new(), None);
    loop {
        let (lines, next) = match bus.read_after(place, 1_000) {
            Err(BusError::Log(LogError::Gone)) => return Ok(gaps),
            read => read?,
        };
        if lines.is_empty() {
            return Ok(gaps);
        }
        for (_, entry) in lines {
            for event in &entry.events {
                match event {
                    Event::TaskFinished(_) => ended = Some(entry.tick.ms),
                    Event::StepStarted(_) => {
                        let gap = ended.take().map(|ended| entry.tick.ms - ended);
                        gaps.extend(
                            gap.map(|gap| f64::from(u32::try_from(gap).unwrap_or(u32::MAX))),
                        );
                    }
                    _ => {}
                }
            }
        }
        place = next;
    }
}
