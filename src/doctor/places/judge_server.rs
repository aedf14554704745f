//! Judges the server that keeps the order of a bus, as it is seen from this machine. Pure.

use crate::bus::storage::postgres::{KEEP_AND_BEGIN, ServerReport};
use crate::bus::storage::{LogError, OrderedBy};
use crate::doctor::finding::{Finding, Subject};

const CHECK: &str = "server";

/// Judges what a server said, or why it said nothing. `here` is the number of the last event of this mirror.
pub(super) fn judge(
    order: &OrderedBy,
    report: Result<ServerReport, LogError>,
    here: u64,
) -> Finding {
    let team = &order.team;
    let report = match report {
        Ok(report) => report,
        Err(error @ LogError::Away { .. }) => {
            let remedy = "start the server, or open the way to it; until then the team's tools only read, and nothing is lost";
            return Finding::problem(&Subject::Bus, CHECK, error.to_string(), remedy);
        }
        Err(error) => {
            let remedy = "correct that at the server, or its rights and the password (PGPASSWORD, ~/.pgpass) of this machine's role";
            return Finding::problem(&Subject::Bus, CHECK, error.to_string(), remedy);
        }
    };
    let ServerReport { server, version, round_trip, .. } = &report;
    let says = format!(
        "{server} (PostgreSQL {version}), team {team:?}, {} µs for a round trip",
        round_trip.as_micros()
    );
    let finding = match report.lost(here) {
        Some(lost) => {
            Finding::problem(&Subject::Bus, CHECK, format!("{says}: {lost}"), KEEP_AND_BEGIN)
        }
        None => Finding::ok(&Subject::Bus, CHECK, says),
    };
    finding
        .with_fact("server", server.as_str())
        .with_fact("team", team.as_str())
        .with_fact("round_trip_us", u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::doctor::finding::Level;

    #[test]
    fn a_server_that_is_away_or_has_lost_events_is_a_problem_with_a_remedy() {
        let order = OrderedBy {
            server: "postgres://bridge@db/agents".into(),
            team: "shop".into(),
            epoch: uuid::Uuid::nil(),
        };
        let report = |last_seq| ServerReport {
            server: "db:5432/agents".into(),
            version: "15.18".into(),
            round_trip: Duration::from_micros(250),
            synchronous_commit: "on".into(),
            last_seq,
            hosts: Vec::new(),
        };
        let level = |report, here| judge(&order, report, here).level;
        assert_eq!(level(Ok(report(Some(9))), 9), Level::Ok);
        assert_eq!(level(Ok(report(Some(9))), 7), Level::Ok, "it is fetched");
        assert_eq!(level(Ok(report(Some(9))), 10), Level::Problem);
        assert_eq!(level(Ok(report(None)), 0), Level::Problem);
        let away = LogError::Away {
            server: "db:5432/agents".into(),
            reason: "refused".into(),
            is_down: true,
        };
        let finding = judge(&order, Err(away), 3);
        assert_eq!(finding.level, Level::Problem);
        assert!(finding.says.contains("cannot be reached"), "{}", finding.says);
    }
}
