//! `bus status`: where the order of a project's bus is kept, and whether this machine is up to date.

use std::time::Instant;

use clap::Args;
use serde::Serialize;

use crate::bus::storage::file::{Follower, PresentBus};
use crate::bus::storage::postgres::{self, KEEP_AND_BEGIN};
use crate::cli::commands::look::{Place, foreign, no_team, print_json, unusable};
use crate::cli::open_bus::KeptBy;
use crate::cli::{Failure, open_bus, output, with_hint};
use crate::domain::member::HOST_NAME_BYTES;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::quoted;
use crate::domain::wait_times;

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
    let (project, proof) = place.project_and_proof()?;
    let directory = project.bus_directory();
    let order = match open_bus::kept_by(&directory)? {
        KeptBy::Nobody => {
            return match Follower::look_at(&directory, &proof, None).map_err(unusable)? {
                PresentBus::Foreign => Err(foreign(&directory)),
                PresentBus::Absent | PresentBus::Readable(_) => {
                    output::tell(&no_team(&project.root));
                    Ok(())
                }
            };
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
    if let Some(lost) = report.lost(events_here) {
        return Err(with_hint(format!("{}: {lost}", report.server), KEEP_AND_BEGIN));
    }
    let seq = report.last_seq.unwrap_or_default();
    let there = if seq == events_here {
        format!("{}, all of them here", counted(seq, "event"))
    } else {
        format!("{}, of which {events_here} are here", counted(seq, "event"))
    };
    // Each machine calls itself what it wants.
    let hosts: Vec<_> = report.hosts.iter().map(|name| quoted(name, HOST_NAME_BYTES)).collect();
    let hosts = if hosts.is_empty() { "none at work".into() } else { hosts.join(", ") };
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
