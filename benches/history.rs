//! The cost of a long history: sending, checking and opening with 100,000 earlier messages, compared with 100.

use std::time::Instant;

use cli_team_bridge::bus::rules::Pick;
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::limits::{self, TeamLimits};
use cli_team_bridge::domain::messaging::DeliveryMethod;
use futures::future::try_join_all;

use crate::send;
use crate::support::Outcome;
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples};
use crate::support::table::{Demand, Row};

const ROUNDS: usize = 9;
const MESSAGES: usize = 100;
const SHORT: usize = 100;
const LONG: usize = 100_000;
/// How many messages are sent at once to make a history, so that they share a sync.
const AT_ONCE: usize = 500;
/// How often opening is measured.
const OPENINGS: usize = 9;

/// A bus with a history of read messages.
struct History {
    project: Project,
    sender: Membership,
    receiver: Membership,
}

impl History {
    async fn of(messages: usize) -> Outcome<Self> {
        let project = Project::new()?;
        let sender = project::join(&project::open(&project.bus())?, "sender").await?;
        let receiver = project::join(&project::open(&project.bus())?, "receiver").await?;
        let history = Self { project, sender, receiver };
        for _ in 0..messages / AT_ONCE.min(messages) {
            fill(&history.sender, "receiver", AT_ONCE.min(messages)).await?;
            while history.check().await? > 0 {}
        }
        Ok(history)
    }

    /// Takes the unread messages, and returns their number.
    async fn check(&self) -> Outcome<usize> {
        let mut call = self.receiver.call();
        let letters = call.receive(DeliveryMethod::Pull, pick()).await?;
        call.answered().await;
        Ok(letters.len())
    }

    async fn checks(&self) -> Outcome<Samples> {
        let mut samples = Samples::default();
        for _ in 0..MESSAGES {
            send::sends(&self.sender, "receiver", 1).await?;
            let begun = Instant::now();
            let found = self.check().await?;
            samples.push(begun.elapsed());
            if found != 1 {
                return Err(format!("a check found {found} messages instead of one").into());
            }
        }
        Ok(samples)
    }
}

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let (short, long) = (History::of(SHORT).await?, History::of(LONG).await?);
        let (mut send, mut check) = (Rounds::default(), Rounds::default());
        for _ in 0..ROUNDS {
            let one = send::sends(&short.sender, "receiver", MESSAGES).await?;
            let other = send::sends(&long.sender, "receiver", MESSAGES).await?;
            send.push(one.percentile_us(50), other.percentile_us(50));
            short.check().await?;
            long.check().await?;
            let (one, other) = (short.checks().await?, long.checks().await?);
            check.push(one.percentile_us(50), other.percentile_us(50));
        }
        let read = opening(&long.project)?;
        let unread = opening(&unread().await?)?;
        Ok(vec![
            Row::ratio(
                "send with 100,000 messages of history, beside 100",
                Demand::AtMost(1.25),
                &send,
                "µs",
            ),
            Row::ratio(
                "check with 100,000 messages of history, beside 100",
                Demand::AtMost(1.25),
                &check,
                "µs",
            ),
            Row::absolute(
                "open a bus with 100,000 messages, read",
                Demand::AtMost(20.0),
                read,
                "ms",
            ),
            Row::absolute("the same, all unread in ten inboxes", Demand::None, unread, "ms"),
        ])
    })
}

/// Fills the inboxes of ten members.
async fn unread() -> Outcome<Project> {
    let project = Project::new()?;
    let bus = project::open(&project.bus())?;
    let sender = project::join(&bus, "sender").await?;
    for n in 0..LONG / TeamLimits::default().unread {
        let name = format!("reader-{n}");
        project::absent(&bus, &name).await?;
        for _ in 0..TeamLimits::default().unread / AT_ONCE {
            fill(&sender, &name, AT_ONCE).await?;
        }
    }
    bus.close().await;
    Ok(project)
}

/// Returns the median time to open a bus, in milliseconds.
fn opening(project: &Project) -> Outcome<f64> {
    let mut samples = Samples::default();
    for _ in 0..OPENINGS {
        let begun = Instant::now();
        let bus: Bus = project::open(&project.bus())?;
        samples.push(begun.elapsed());
        drop(bus);
    }
    Ok(samples.percentile_us(50) / 1000.0)
}

/// Sends many messages at once.
pub(crate) async fn fill(sender: &Membership, to: &str, count: usize) -> Outcome {
    let send = async || {
        let mut call = sender.call();
        let sent = call.send(to.to_owned(), text(""), None).await;
        call.answered().await;
        sent
    };
    try_join_all((0..count).map(|_| send())).await?;
    Ok(())
}

/// Picks as many messages as `check_messages` may.
fn pick() -> Pick {
    Pick::any(limits::MAX_CHECK_LIMIT, usize::MAX, limits::HEAD_BYTES)
}
