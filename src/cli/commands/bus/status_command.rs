//! `bus status`: where the order of a project's bus is kept, and whether this machine is up to date.

use std::time::Instant;

use clap::Args;
use serde::Serialize;

use crate::bus::storage::postgres;
use crate::cli::commands::look::{Place, no_team, print_json, unusable};
use crate::cli::open_bus::KeptBy;
use crate::cli::{Failure, open_bus, output, with_hint};
use crate::domain::text::counted::counted;
use crate::domain::wait_times;

/// What helps a machine that knows more than its server.
const KEEP_AND_BEGIN: &str = "end the sessions of this machine, move `.claude/bridge` aside, which keeps what only it knows, and run \
                              `cli-team-bridge bus init` again";

/// Which bus to look at.
#[derive(Clone, Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    place: Place,
}

/// The report for programs.
#[derive(Serialize)]
struct StatusJson {
    version: u32,
    kept: &'static str,
    #[serde(flatten)]
    server: Option<ServerJson>,
    events_here: u64,
}

#[derive(Serialize)]
struct ServerJson {
    server: String,
    team: String,
    server_version: String,
    round_trip_us: u64,
    synchronous_commit: String,
    events_there: Option<u64>,
    hosts: Vec<String>,
}

pub(super) fn run(arguments: &StatusArguments) -> Result<(), Failure> {
    let place = &arguments.place;
    let (project, _) = place.project_and_proof()?;
    let directory = project.bus_directory();
    let order = match open_bus::kept_by(&directory)? {
        KeptBy::Nobody => {
            output::tell(&no_team(&project.root));
            return Ok(());
        }
        KeptBy::Files => None,
        KeptBy::Server(order) => Some(order),
    };
    let events_here = open_bus::open_bus_in_use(&directory)
        .map_err(|error| Failure::from(error.to_string()))?
        .map_or(0, |bus| bus.last_seq());
    let Some(order) = order else {
        let status = StatusJson { version: 1, kept: "files", server: None, events_here };
        if place.json {
            print_json(&status);
        } else {
            output::say(&format!("kept in files here: {}", counted(events_here, "event")));
        }
        return Ok(());
    };
    let until = Instant::now() + wait_times::SERVER;
    let report = postgres::inspect(&order, until).map_err(unusable)?;
    if place.json {
        print_json(&StatusJson {
            version: 1,
            kept: "postgres",
            events_here,
            server: Some(ServerJson {
                server: report.server,
                team: order.team,
                server_version: report.version,
                round_trip_us: u64::try_from(report.round_trip.as_micros()).unwrap_or(u64::MAX),
                synchronous_commit: report.synchronous_commit,
                events_there: report.last_seq,
                hosts: report.hosts,
            }),
        });
        return Ok(());
    }
    let there = match report.last_seq {
        Some(seq) if seq == events_here => format!("{}, all of them here", counted(seq, "event")),
        Some(seq) if seq < events_here => {
            let lost = format!(
                "the server has {}, and this machine knows {events_here}: the server was restored from a backup, or has lost the rest",
                counted(seq, "event")
            );
            return Err(with_hint(lost, KEEP_AND_BEGIN));
        }
        Some(seq) => format!("{}, of which {events_here} are here", counted(seq, "event")),
        None => {
            let gone = "the server does not have this team any more";
            return Err(with_hint(gone.to_owned(), KEEP_AND_BEGIN));
        }
    };
    let hosts =
        if report.hosts.is_empty() { "none at work".into() } else { report.hosts.join(", ") };
    for (what, value) in [
        ("server", format!("{} (PostgreSQL {})", report.server, report.version)),
        ("team", order.team),
        ("round trip", format!("{} µs", report.round_trip.as_micros())),
        ("commit", format!("synchronous_commit = {}", report.synchronous_commit)),
        ("log", there),
        ("machines", hosts),
    ] {
        output::say(&format!("{what:<12}{value}"));
    }
    Ok(())
}
