//! What many members and much unread mail cost: a send while something is due, a broadcast, and a thousand that only wait.

use std::time::{Duration, Instant};

use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::limits::TeamLimits;

use crate::history::fill;
use crate::support::Outcome;
use crate::support::child_process::Other;
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples};
use crate::support::table::{Demand, Row};
use crate::waiting_process::ticks;

const ROUNDS: usize = 9;
const SENDS: usize = 40;
/// Inboxes that are full.
const FULL: usize = 20;
/// Sent at once while they are filled.
const AT_ONCE: usize = 500;
const FEW: usize = 100;
const MANY: usize = 1_000;
const BROADCASTS: usize = 20;
/// A request that is over before the next command.
const OVER: Duration = Duration::from_millis(1);
/// The thousand are watched for so many seconds.
const WATCHED: u32 = 10;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let mut rows = project::run(async {
        Ok(vec![
            Row::ratio(
                "send with something due and 200,000 unread, beside none unread",
                Demand::AtMost(1.25),
                &sends_with_something_due().await?,
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

async fn sends_with_something_due() -> Outcome<Rounds> {
    let (empty, full) = (Project::new()?, Project::new()?);
    let (empty_bus, full_bus) = (project::open(&empty.bus())?, project::open(&full.bus())?);
    let few = Due::on(&empty_bus).await?;
    let many = Due::on(&full_bus).await?;
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

/// A member that sends, and one whose requests end just before.
struct Due {
    asker: Membership,
    sender: Membership,
}

impl Due {
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
            call.open_request(question, None, OVER, OVER).await?;
            call.answered().await;
            pass(OVER * 2);
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

/// Lets time pass for this whole process: the send is to meet what is due, and not a look of the bus of a moment before.
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

/// Members that are all there.
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

    /// Returns how long one takes for each member, in microseconds.
    async fn broadcasts(&self) -> Outcome<f64> {
        let speaker = self.members.first().ok_or("nobody is there")?;
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
    let start = |n: usize| Other::start("member", &[&bus, &format!("member-{n}")]);
    let members = (0..MANY).map(start).collect::<Outcome<Vec<_>>>()?;
    let spent = || -> Outcome<u64> { members.iter().map(|member| ticks(member.pid())).sum() };
    // What joining began is finished.
    pass(Duration::from_secs(5));
    let before = spent()?;
    pass(Duration::from_secs(WATCHED.into()));
    let after = spent()?;
    // A tick is 10 ms, so that ticks a second are percent.
    Ok(f64::from(u32::try_from(after - before)?) / f64::from(WATCHED))
}
