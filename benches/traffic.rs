//! Traffic: how many messages, broadcasts and delegations a second a team handles, each durable before it counts. The limits of members
//! are off. The demands are ten times those of the specification of agent messages.

use std::time::{Duration, Instant};

use cli_team_bridge::bus::{Claimed, Membership};
use futures::future::try_join_all;

use crate::send;
use crate::support::Outcome;
use crate::support::anchor;
use crate::support::project::{self, Project, text};
use crate::support::samples::Rounds;
use crate::support::table::{Demand, Row};
use crate::writers;

const ROUNDS: usize = 7;
/// Of each kind in a round: fewer than an inbox holds.
const COUNT: u32 = 400;
/// To whom a broadcast goes.
const MEMBERS: usize = 10;
/// Longer than the benchmark, so that no request expires.
const LONG: Duration = Duration::from_hours(1);

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let (mut direct, mut broadcasts) = (Rounds::default(), Rounds::default());
    let (mut delegations, mut persisted) = (Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        project::run(async {
            direct.push(appends(1)?, direct_messages().await?);
            broadcasts.push(appends(1)?, broadcasts_to_ten().await?);
            // A request, a claim and an answer are three appends.
            delegations.push(appends(3)?, whole_delegations().await?);
            Ok(())
        })?;
        let (raw, ours) = writers::rates()?;
        persisted.push(raw, ours);
    }
    Ok(vec![
        Row::rate("direct messages, one sender", Demand::AtLeast(1_000.0), &direct),
        Row::rate("broadcasts to ten members, one sender", Demand::AtLeast(100.0), &broadcasts),
        Row::rate("delegations: request, claim, answer", Demand::AtLeast(500.0), &delegations),
        Row::rate("persisted messages, 8 processes", Demand::AtLeast(2_000.0), &persisted),
    ])
}

/// Returns how often a second a file takes so many appends, each synced.
fn appends(each: u32) -> Outcome<f64> {
    let project = Project::new()?;
    let begun = Instant::now();
    let count = usize::try_from(COUNT * each)?;
    anchor::append_and_sync(&project.path().join("anchor"), count)?;
    Ok(a_second(begun))
}

/// Returns the rate of what has been done `COUNT` times since then.
fn a_second(begun: Instant) -> f64 {
    f64::from(COUNT) / begun.elapsed().as_secs_f64()
}

async fn direct_messages() -> Outcome<f64> {
    let project = Project::new()?;
    let bus = project::open(&project.bus())?;
    let (sender, _reader) =
        (project::join(&bus, "sender").await?, project::join(&bus, "reader").await?);
    let begun = Instant::now();
    send::sends(&sender, "reader", usize::try_from(COUNT)?).await?;
    let rate = a_second(begun);
    bus.close().await;
    Ok(rate)
}

async fn broadcasts_to_ten() -> Outcome<f64> {
    let project = Project::new()?;
    let bus = project::open(&project.bus())?;
    let sender = project::join(&bus, "sender").await?;
    let join = async |number| project::join(&bus, &format!("member-{number}")).await;
    let members = try_join_all((0..MEMBERS).map(join)).await?;
    let begun = Instant::now();
    for _ in 0..COUNT {
        let mut call = sender.call();
        let sent = call.broadcast(text("")).await?;
        call.answered().await;
        let reached = sent.map_or(0, |sent| sent.recipients.len());
        if reached != members.len() {
            return Err(format!("a broadcast reached {reached} of {MEMBERS} members").into());
        }
    }
    let rate = a_second(begun);
    bus.close().await;
    Ok(rate)
}

async fn whole_delegations() -> Outcome<f64> {
    let project = Project::new()?;
    let bus = project::open(&project.bus())?;
    let (asker, worker) =
        (project::join(&bus, "asker").await?, project::join(&bus, "worker").await?);
    let begun = Instant::now();
    for _ in 0..COUNT {
        delegate(&asker, &worker).await?;
    }
    let rate = a_second(begun);
    bus.close().await;
    Ok(rate)
}

/// Offers work, takes it, and delivers it.
async fn delegate(asker: &Membership, worker: &Membership) -> Outcome {
    let mut call = asker.call();
    let id = call.open_request(text(""), None, LONG, LONG).await?;
    call.answered().await;
    let mut call = worker.call();
    let Claimed::Won(request) = call.claim(id).await? else {
        return Err("the only worker has not won its claim".into());
    };
    call.answered().await;
    let mut call = worker.call();
    call.send("asker".to_owned(), text(""), Some(request.id.to_string())).await?;
    call.answered().await;
    Ok(())
}
