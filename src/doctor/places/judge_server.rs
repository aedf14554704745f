//! Judges the server that keeps the order of a bus, as it is seen from this machine. Pure.

use crate::bus::storage::postgres::{KEEP_AND_BEGIN, ServerReport};
use crate::bus::storage::{LogError, OrderedBy};
use crate::doctor::finding::{Finding, Subject};

const CHECK: &str = "server";

/// What helps a role without rights.
const GIVE_RIGHTS: &str = "let the owner of the tables run what `cli-team-bridge bus init --role NAME` prints for this role and team";

/// Judges what a server said, or why it said nothing. `here` is the number of the last event of this mirror; `is_pooled` says whether a
/// pooler gives each transaction another connection, if that could be found out.
pub(super) fn judge(
    order: &OrderedBy,
    report: Result<ServerReport, LogError>,
    is_pooled: Option<bool>,
    here: u64,
) -> Finding {
    let team = &order.team;
    let report = match report {
        Ok(report) => report,
        Err(error @ LogError::Away { .. }) => {
            let remedy = "start the server, or open the way to it; until then the team's tools only read, and nothing is lost";
            return Finding::problem(&Subject::Bus, CHECK, error.to_string(), remedy);
        }
        Err(error @ LogError::CopiedAway { .. }) => {
            let remedy = "end the sessions of this machine, and move `.claude/bridge` aside";
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
    let lost = report.lost(here);
    let finding = match lost {
        _ if !report.lacking.is_empty() => {
            let lacking = report.lacking.join(", ");
            let says = format!("{says}: this role lacks {lacking}");
            Finding::problem(&Subject::Bus, CHECK, says, GIVE_RIGHTS)
        }
        Some(lost) if report.last_seq.is_none() && report.sees_some_teams => {
            Finding::problem(&Subject::Bus, CHECK, format!("{says}: {lost}"), GIVE_RIGHTS)
        }
        Some(lost) => {
            Finding::problem(&Subject::Bus, CHECK, format!("{says}: {lost}"), KEEP_AND_BEGIN)
        }
        None if is_pooled == Some(true) => {
            let says = format!(
                "{says}. A pooler gives each transaction another connection, so no news comes by itself, and a dead machine is found by its \
                 silence alone"
            );
            Finding::note(&Subject::Bus, CHECK, says).with_remedy(
                "name the server itself, or let the pooler keep a connection for a session",
            )
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
            lacking: Vec::new(),
            sees_some_teams: false,
        };
        let level = |report, here| judge(&order, report, Some(false), here).level;
        assert_eq!(level(Ok(report(Some(9))), 9), Level::Ok);
        assert_eq!(level(Ok(report(Some(9))), 7), Level::Ok, "it is fetched");
        assert_eq!(level(Ok(report(Some(9))), 10), Level::Problem);
        assert_eq!(level(Ok(report(None)), 0), Level::Problem);
        let away = LogError::Away {
            server: "db:5432/agents".into(),
            reason: "refused".into(),
            is_down: true,
        };
        let finding = judge(&order, Err(away), None, 3);
        assert_eq!(finding.level, Level::Problem);
        assert!(finding.says.contains("cannot be reached"), "{}", finding.says);
        let pooled = judge(&order, Ok(report(Some(9))), Some(true), 9);
        assert_eq!(pooled.level, Level::Note);
        let lacking = ServerReport { lacking: vec!["INSERT on log".into()], ..report(Some(9)) };
        let finding = judge(&order, Ok(lacking), Some(false), 9);
        assert_eq!(finding.level, Level::Problem);
        assert!(finding.says.contains("lacks INSERT on log"), "{}", finding.says);
        let hidden = ServerReport { sees_some_teams: true, ..report(None) };
        let finding = judge(&order, Ok(hidden), Some(false), 9);
        assert!(finding.remedy.unwrap().contains("--role"));
    }
}
