//! The cost of many members and many unread messages: a send while a request expires, a broadcast, and a thousand waiting processes.

use std::time::{Duration, Instant};

use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::limits::TeamLimits;

use crate::history::fill;
use crate::support::Outcome;
use crate::support::child_process::ChildProcess;
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples};
use crate::support::table::{Demand, Row};
use crate::waiting_process::ticks;

const ROUNDS: usize = 9;
const SENDS: usize = 40;
/// The number of full inboxes.
const FULL: usize = 20;
/// How many messages are sent at once to fill them.
const AT_ONCE: usize = 500;
const FEW: usize = 100;
const MANY: usize = 1_000;
const BROADCASTS: usize = 20;
/// How long a request lives: it expires before the next command.
const EXPIRY: Duration = Duration::from_millis(1);
/// For how many seconds the waiting processes are watched.
const WATCHED: u32 = 10;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let mut rows = project::run(async {
        Ok(vec![
            Row::ratio(
                "send with something due and 200,000 unread, beside none unread",
                Demand::AtMost(1.25),
                &sends_with_expired_requests().await?,
                "µs",
            ),
            Row::ratio(
                "broadcast to 1,000 members, a member, beside to 100",
                Demand::AtMost(1.25),
                &broadcasts().await?,
                "µs",
            ),
        ])
    })?;
    rows.push(Row::absolute(
        "1,000 processes that only wait: processor time of all, of one core",
        Demand::None,
        idle_processes()?,
        "%",
    ));
    Ok(rows)
}

async fn sends_with_expired_requests() -> Outcome<Rounds> {
    let (empty, full) = (Project::new()?, Project::new()?);
    let (empty_bus, full_bus) = (project::open(&empty.bus())?, project::open(&full.bus())?);
    let few = ExpiringRequests::on(&empty_bus).await?;
    let many = ExpiringRequests::on(&full_bus).await?;
    for n in 0..FULL {
        let name = format!("absent-{n}");
        project::absent(&full_bus, &name).await?;
        for _ in 0..TeamLimits::default().unread / AT_ONCE {
            fill(&many.sender, &name, AT_ONCE).await?;
        }
    }
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let (anchor, ours) = (few.sends().await?, many.sends().await?);
        rounds.push(anchor.percentile_us(50), ours.percentile_us(50));
    }
    empty_bus.close().await;
    full_bus.close().await;
    Ok(rounds)
}

/// A member that sends, and a member whose request expires just before each send.
struct ExpiringRequests {
    asker: Membership,
    sender: Membership,
}

impl ExpiringRequests {
    async fn on(bus: &Bus) -> Outcome<Self> {
        project::absent(bus, "reader").await?;
        let asker = project::join(bus, "asker").await?;
        let sender = project::join(bus, "sender").await?;
        Ok(Self { asker, sender })
    }

    async fn sends(&self) -> Outcome<Samples> {
        let mut samples = Samples::default();
        for _ in 0..SENDS {
            let mut call = self.asker.call();
            let question = "Review this.".to_owned();
            call.open_request(question, None, EXPIRY, EXPIRY).await?;
            call.answered().await;
            pass(EXPIRY * 2);
            let content = text("");
            let begun = Instant::now();
            let mut call = self.sender.call();
            call.send("reader".to_owned(), content, None).await?;
            samples.push(begun.elapsed());
            call.answered().await;
        }
        Ok(samples)
    }
}

/// Blocks the whole process, so that the send handles the expired request, and not an earlier check by the bus.
#[expect(clippy::disallowed_methods, reason = "nothing else runs here")]
fn pass(time: Duration) {
    std::thread::sleep(time);
}

async fn broadcasts() -> Outcome<Rounds> {
    let (small, large) = (Project::new()?, Project::new()?);
    let few = Crowd::of(&small, FEW).await?;
    let many = Crowd::of(&large, MANY).await?;
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        rounds.push(few.broadcasts().await?, many.broadcasts().await?);
    }
    Ok(rounds)
}

/// Members that are all present.
struct Crowd {
    members: Vec<Membership>,
}

impl Crowd {
    async fn of(project: &Project, count: usize) -> Outcome<Self> {
        let bus = project::open(&project.bus())?;
        let mut members = Vec::new();
        for n in 0..count {
            members.push(project::join(&bus, &format!("member-{n}")).await?);
        }
        Ok(Self { members })
    }

    /// Returns the time of a broadcast divided by the number of members, in microseconds.
    async fn broadcasts(&self) -> Outcome<f64> {
        let speaker = self.members.first().ok_or("the crowd has no members")?;
        let mut samples = Samples::default();
        for _ in 0..BROADCASTS {
            let begun = Instant::now();
            let mut call = speaker.call();
            call.broadcast(text("")).await?;
            samples.push(begun.elapsed());
            call.answered().await;
        }
        let members = u32::try_from(self.members.len())?;
        Ok(samples.percentile_us(50) / f64::from(members))
    }
}

/// Returns the percentage of one core that a thousand waiting processes take together.
fn idle_processes() -> Outcome<f64> {
    let project = Project::new()?;
    let bus = project.bus_argument();
    let start = |n: usize| ChildProcess::start("member", &[&bus, &format!("member-{n}")]);
    let members = (0..MANY).map(start).collect::<Outcome<Vec<_>>>()?;
    let spent = || -> Outcome<u64> { members.iter().map(|member| ticks(member.pid())).sum() };
    // The work that joining started ends first.
    pass(Duration::from_secs(5));
    let before = spent()?;
    pass(Duration::from_secs(WATCHED.into()));
    let after = spent()?;
    // A tick is 10 ms, so ticks per second are percent.
    Ok(f64::from(u32::try_from(after - before)?) / f64::from(WATCHED))
}
