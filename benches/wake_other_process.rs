//! A message to another process that sleeps in a wait, end to end, compared with an append that wakes a reader through inotify.

use std::path::Path;
use std::time::Duration;

use cli_team_bridge::bus::{Membership, WaitFor, Waited};

use crate::support::Outcome;
use crate::support::anchor::{self, END, PACE};
use crate::support::child_process::{self, ChildProcess};
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples, monotonic_ns};
use crate::support::table::{Demand, Row};

const ROUNDS: usize = 11;
const MESSAGES: usize = 200;
/// Other members on the bus, which get no messages.
const IDLE: usize = 10;
/// Longer than any run.
const LONG: Duration = Duration::from_mins(10);

/// A sender in this process and a receiver in another process.
struct Pair {
    sender: Membership,
    receiver: ChildProcess,
    _idle: Vec<ChildProcess>,
    /// Dropped last: the others use it.
    project: Project,
}

impl Pair {
    async fn new(idle: usize) -> Outcome<Self> {
        let project = Project::new()?;
        let bus = project::open(&project.bus())?;
        let sender = project::join(&bus, "sender").await?;
        let start = |name: &str| ChildProcess::start("receiver", &[&project.bus_argument(), name]);
        let receiver = start("receiver")?;
        let idle: Outcome<Vec<_>> = (0..idle).map(|n| start(&format!("idle-{n}"))).collect();
        Ok(Self { _idle: idle?, project, sender, receiver })
    }

    /// Sends messages, and returns how long each took to arrive.
    async fn round(&mut self) -> Outcome<Samples> {
        for _ in 0..MESSAGES {
            tokio::time::sleep(PACE).await;
            self.send(&format!("{} ", monotonic_ns())).await?;
        }
        tokio::time::sleep(PACE).await;
        self.send(END).await?;
        Samples::from_line(&self.receiver.hear()?)
    }

    async fn send(&self, head: &str) -> Outcome {
        let mut call = self.sender.call();
        call.send("receiver".to_owned(), text(head), None).await?;
        call.answered().await;
        Ok(())
    }
}

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let (mut alone, mut crowded) = (Pair::new(0).await?, Pair::new(IDLE).await?);
        let (mut p50, mut p99, mut idle) =
            (Rounds::default(), Rounds::default(), Rounds::default());
        for round in 0..ROUNDS {
            let path = alone.project.path().join(format!("anchor-{round}"));
            let anchor = anchor::append_to_reader(&path, MESSAGES).await?;
            let without = alone.round().await?;
            let with = crowded.round().await?;
            p50.push(anchor.percentile_us(50), without.percentile_us(50));
            p99.push(anchor.percentile_us(99), without.percentile_us(99));
            idle.push(without.percentile_us(50), with.percentile_us(50));
        }
        Ok(vec![
            Row::ratio(
                "message to a sleeping process, end to end, p50",
                Demand::AtMost(4.0),
                &p50,
                "µs",
            ),
            Row::ratio("the same, p99", Demand::None, &p99, "µs"),
            Row::ratio(
                "the same with ten idle members, p50, beside without",
                Demand::AtMost(1.1),
                &idle,
                "µs",
            ),
        ])
    })
}

/// The role of a receiver: waits for messages, and reports how long each message with a time took.
pub(crate) fn receive(bus: &Path, name: &str) -> Outcome {
    project::run(async {
        let bus = project::open(bus)?;
        let membership = project::join(&bus, name).await?;
        let mut samples = Samples::default();
        child_process::reply("ready")?;
        loop {
            let mut call = membership.call();
            let Waited::Message(letter) = call.wait(WaitFor::default(), LONG).await? else {
                return Ok(());
            };
            let now = monotonic_ns();
            call.answered().await;
            if letter.text.starts_with(END) {
                child_process::reply(&std::mem::take(&mut samples).to_line())?;
            } else if let Some((sent, _)) = letter.text.split_once(' ') {
                samples.push_ns(now.saturating_sub(sent.parse()?));
            }
        }
    })
}
