//! A durable send by one writer, compared with an append and an fdatasync.

use std::time::Instant;

use cli_team_bridge::bus::Membership;

use crate::support::Outcome;
use crate::support::anchor;
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples};
use crate::support::table::{Demand, Row};

const ROUNDS: usize = 15;
const MESSAGES: usize = 60;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let (mut p50, mut p99) = (Rounds::default(), Rounds::default());
        let project = Project::new()?;
        let bus = project::open(&project.bus())?;
        project::absent(&bus, "reader").await?;
        let sender = project::join(&bus, "sender").await?;
        for _ in 0..ROUNDS {
            let anchor = anchor::append_and_sync(&project.path().join("anchor"), MESSAGES)?;
            let ours = sends(&sender, "reader", MESSAGES).await?;
            p50.push(anchor.percentile_us(50), ours.percentile_us(50));
            p99.push(anchor.percentile_us(99), ours.percentile_us(99));
        }
        Ok(vec![
            Row::ratio("durable send, 1 writer, p50", Demand::AtMost(1.3), &p50, "µs"),
            Row::ratio("the same, p99", Demand::None, &p99, "µs"),
        ])
    })
}

/// Sends messages one after the other, each in a call of its own.
pub(crate) async fn sends(membership: &Membership, to: &str, count: usize) -> Outcome<Samples> {
    let mut samples = Samples::default();
    for _ in 0..count {
        let content = text("");
        let begun = Instant::now();
        let mut call = membership.call();
        call.send(to.to_owned(), content, None).await?;
        samples.push(begun.elapsed());
        call.answered().await;
    }
    Ok(samples)
}
