//! Eight processes that send into one inbox, compared with eight that append to one file, each syncing after its unlock.

use std::path::Path;
use std::time::Instant;

use crate::send;
use crate::support::Outcome;
use crate::support::child_process::{self, ChildProcess};
use crate::support::project::{self, Project};
use crate::support::samples::{Rounds, Samples};
use crate::support::table::{Demand, Row};

const ROUNDS: usize = 7;
const WRITERS: u32 = 8;
/// From all writers together, fewer than an inbox holds.
const MESSAGES: u32 = 1_000;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let (mut rate, mut p99) = (Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        let ((raw_rate, raw), (our_rate, ours)) = both_races()?;
        rate.push(raw_rate, our_rate);
        p99.push(raw.percentile_us(99), ours.percentile_us(99));
    }
    Ok(vec![
        Row::ratio("8 writer processes, one inbox", Demand::AtLeast(0.9), &rate, "/s"),
        Row::absolute("the same, p99", Demand::AtMost(3_000.0), p99.ours(), "µs"),
        Row::ratio("the same, p99 beside the anchor's", Demand::None, &p99, "µs"),
    ])
}

/// Returns the messages per second of one round: the anchor's, and ours.
pub(crate) fn rates() -> Outcome<(f64, f64)> {
    let ((raw, _), (ours, _)) = both_races()?;
    Ok((raw, ours))
}

/// Lets the writers of the anchor race, and then ours.
fn both_races() -> Outcome<((f64, Samples), (f64, Samples))> {
    let project = Project::new()?;
    let path = project.path().join("anchor");
    let raw = race("raw-writer", &path.to_string_lossy())?;
    project::run(async {
        let bus = project::open(&project.bus())?;
        project::absent(&bus, "reader").await
    })?;
    Ok((raw, race("writer", &project.bus_argument())?))
}

/// Starts all writers at once, and returns the messages per second and how long each took.
fn race(role: &str, target: &str) -> Outcome<(f64, Samples)> {
    let start = |n: u32| {
        let name = format!("writer-{n}");
        ChildProcess::start(role, &[target, &name, &MESSAGES.to_string()])
    };
    let mut writers = (0..WRITERS).map(start).collect::<Outcome<Vec<_>>>()?;
    let begun = Instant::now();
    for writer in &mut writers {
        writer.say("go")?;
    }
    let mut samples = Samples::default();
    for writer in &mut writers {
        samples.extend(&Samples::from_line(&writer.hear()?)?);
    }
    let rate = f64::from(WRITERS * MESSAGES) / begun.elapsed().as_secs_f64();
    Ok((rate, samples))
}

/// The role of a writer.
pub(crate) fn write(bus: &Path, name: &str, count: usize) -> Outcome {
    project::run(async {
        let bus = project::open(bus)?;
        let membership = project::join(&bus, name).await?;
        child_process::reply("ready")?;
        child_process::listen()?;
        let samples = send::sends(&membership, "reader", count).await?;
        child_process::reply(&samples.to_line())
    })
}
