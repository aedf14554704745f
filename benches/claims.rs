//! Sixteen processes that race for a thousand requests, in the same order.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use cli_team_bridge::bus::Claimed;
use cli_team_bridge::domain::ids::RequestId;
use futures::future::try_join_all;

use crate::support::Outcome;
use crate::support::child_process::{self, ChildProcess};
use crate::support::project::{self, Project};
use crate::support::samples::median;
use crate::support::table::{Demand, Row};

const ROUNDS: usize = 5;
const CLAIMERS: usize = 16;
const REQUESTS: usize = 1_000;
/// Longer than the benchmark, so that no request expires.
const LONG: Duration = Duration::from_hours(1);

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(race()?.as_secs_f64() * 1000.0);
    }
    Ok(vec![Row::absolute(
        "16 processes × 1,000 claims, no duplicates",
        Demand::AtMost(200.0),
        median(times.into_iter()),
        "ms",
    )])
}

/// Returns the time until all requests are claimed and every claimer has reported.
fn race() -> Outcome<Duration> {
    let project = Project::new()?;
    let bus = project.bus_argument();
    let start = |n: usize| ChildProcess::start("claimer", &[&bus, &format!("claimer-{n}")]);
    let mut claimers = (0..CLAIMERS).map(start).collect::<Outcome<Vec<_>>>()?;
    let list = project::run(open_requests(&project.bus()))?;
    for claimer in &mut claimers {
        claimer.say(&list)?;
        claimer.hear()?;
    }
    let begun = Instant::now();
    for claimer in &mut claimers {
        claimer.say("go")?;
    }
    let mut won = Vec::new();
    // Each claimer stays until all are done, because the claims of an ended one are released.
    for claimer in &mut claimers {
        won.extend(claimer.hear()?.split_whitespace().map(str::to_owned));
    }
    let time = begun.elapsed();
    let different: BTreeSet<_> = won.iter().collect();
    if (won.len(), different.len()) != (REQUESTS, REQUESTS) {
        return Err(format!("{} of {} claims were won", different.len(), won.len()).into());
    }
    Ok(time)
}

async fn open_requests(bus: &Path) -> Outcome<String> {
    let bus = project::open(bus)?;
    let membership = project::join(&bus, "asker").await?;
    let open = async || {
        let mut call = membership.call();
        let opened = call.open_request("Review this.".to_owned(), None, LONG, LONG).await;
        call.answered().await;
        opened
    };
    let opened = try_join_all((0..REQUESTS).map(|_| open())).await?;
    bus.close().await;
    let ids: Vec<_> = opened.iter().map(RequestId::to_string).collect();
    Ok(ids.join(" "))
}

/// The role of a claimer.
pub(crate) fn claim(bus: &Path, name: &str) -> Outcome {
    project::run(async {
        let bus = project::open(bus)?;
        let membership = project::join(&bus, name).await?;
        child_process::reply("ready")?;
        let list = child_process::listen()?;
        let requests: Result<Vec<_>, _> = list.split_whitespace().map(RequestId::parse).collect();
        bus.refresh()?;
        child_process::reply("ready")?;
        child_process::listen()?;
        let mut won = Vec::new();
        for request in requests? {
            let mut call = membership.call();
            if let Claimed::Won(request) = call.claim(request).await? {
                won.push(request.id.to_string());
            }
            call.answered().await;
        }
        child_process::reply(&won.join(" "))?;
        child_process::listen()?;
        Ok(())
    })
}
