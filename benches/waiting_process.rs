//! The cost of a process that waits for a message.

use std::fs;
use std::time::Duration;

use crate::support::Outcome;
use crate::support::child_process::ChildProcess;
use crate::support::project::{self, Project};
use crate::support::table::{Demand, Row};

/// How long the work that joining started may take.
const SETTLE: Duration = Duration::from_millis(1_500);
/// For how many seconds the waiter is watched.
const WATCHED: u32 = 5;

/// What a process has used so far.
struct Account {
    sleeps: u64,
    writes: u64,
    written_bytes: u64,
    ticks: u64,
}

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let project = Project::new()?;
        let waiter = ChildProcess::start("receiver", &[&project.bus_argument(), "waiter"])?;
        tokio::time::sleep(SETTLE).await;
        let before = account(waiter.pid())?;
        tokio::time::sleep(Duration::from_secs(WATCHED.into())).await;
        let after = account(waiter.pid())?;
        let a_second = |before: u64, after: u64| -> Outcome<f64> {
            Ok(f64::from(u32::try_from(after - before)?) / f64::from(WATCHED))
        };
        Ok(vec![
            Row::absolute(
                "idle waiter: wake-ups a second, all threads",
                Demand::AtMost(2.0),
                a_second(before.sleeps, after.sleeps)?,
                "/s",
            ),
            Row::absolute(
                "idle waiter: write calls a second",
                Demand::AtMost(0.0),
                a_second(before.writes, after.writes)?,
                "/s",
            ),
            Row::absolute(
                "idle waiter: bytes written to disk a second",
                Demand::AtMost(0.0),
                a_second(before.written_bytes, after.written_bytes)?,
                "B/s",
            ),
            Row::absolute(
                "idle waiter: processor time, of one core",
                Demand::None,
                // A tick is 10 ms, so ticks per second are percent.
                a_second(before.ticks, after.ticks)?,
                "%",
            ),
        ])
    })
}

/// Returns how often the threads of a process have gone to sleep.
pub(crate) fn sleeps(pid: u32) -> Outcome<u64> {
    let mut sleeps = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        sleeps += number_after(&status, "\nvoluntary_ctxt_switches:")?;
    }
    Ok(sleeps)
}

fn account(pid: u32) -> Outcome<Account> {
    let io = fs::read_to_string(format!("/proc/{pid}/io"))?;
    Ok(Account {
        sleeps: sleeps(pid)?,
        writes: number_after(&io, "syscw:")?,
        written_bytes: number_after(&io, "\nwrite_bytes:")?,
        ticks: ticks(pid)?,
    })
}

/// Returns the processor time that a process has taken so far, in ticks of 10 ms.
pub(crate) fn ticks(pid: u32) -> Outcome<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may contain anything. User and system time are the 12th and 13th fields after it.
    let (_, fields) = stat.rsplit_once(") ").ok_or("a process without a name")?;
    let times = fields.split(' ').skip(11).take(2);
    let times: Result<Vec<u64>, _> = times.map(str::parse).collect();
    Ok(times?.iter().sum())
}

/// Returns the number after a label in a `/proc` file.
pub(crate) fn number_after(text: &str, label: &str) -> Outcome<u64> {
    let (_, rest) =
        text.split_once(label).ok_or_else(|| format!("no `{}` in /proc", label.trim()))?;
    let number = rest.split_whitespace().next().unwrap_or_default();
    Ok(number.parse()?)
}
