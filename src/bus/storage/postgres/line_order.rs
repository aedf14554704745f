//! The order of a team's lines in PostgreSQL.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::connection::{Connection, Failed};
use crate::bus::storage::{LogError, ProposedLine, Sequenced, SequencedLine, Sequencer};
use crate::domain::ids::CommandId;
use crate::sys::mutex::lock;

/// How many lines are read at once: few enough for the memory of one process, as a line may have half a megabyte.
const LINES: i64 = 64;

/// The pause before another attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// Compares and moves the head, and inserts the line in the same statement: one round trip.
const PUT: &str = "
WITH moved AS (
    UPDATE cli_team_bridge.head SET next_seq = $3 WHERE team = $1 AND next_seq = $2 RETURNING team
)
INSERT INTO cli_team_bridge.log (team, seq, command, line, texts)
SELECT team, $2, $4, $5, $6 FROM moved";

/// The order of one team.
pub struct PostgresOrder {
    connection: Mutex<Connection>,
    team: String,
}

impl PostgresOrder {
    /// Uses a team of a server, without connecting yet.
    pub fn of(address: &str, team: &str) -> Result<Self, LogError> {
        let connection = Connection::new(address)?;
        Ok(Self { connection: Mutex::new(connection), team: team.to_owned() })
    }

    /// Makes the team, unless it is there.
    pub fn make_team(&self, until: Instant) -> Result<(), LogError> {
        let team = &self.team;
        self.connection().run(until, async |client| {
            let insert =
                "INSERT INTO cli_team_bridge.head (team) VALUES ($1) ON CONFLICT DO NOTHING";
            client.execute(insert, &[team]).await.map(drop)
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // After a panic of the holder the next use finds the connection closed, or uses it.
        lock(&self.connection)
    }

    /// Returns the seq of a command's line, if it has its place.
    fn place_of(
        &self,
        connection: &mut Connection,
        command: CommandId,
        until: Instant,
    ) -> Result<Option<i64>, Failed> {
        let select = "SELECT seq FROM cli_team_bridge.log WHERE team = $1 AND command = $2";
        connection.attempt(until, async |client| {
            let row = client.query_opt(select, &[&self.team, &command.0]).await?;
            Ok(row.map(|row| row.get(0)))
        })
    }
}

impl Sequencer for PostgresOrder {
    fn put(&self, line: &ProposedLine, until: Instant) -> Result<Sequenced, LogError> {
        let mut connection = self.connection();
        let mut was_sent = false;
        loop {
            let failed = match self.try_to_put(&mut connection, line, was_sent, until) {
                Ok(sequenced) => return Ok(sequenced),
                Err(failed) => failed,
            };
            if let Failed::Server(error) = &failed
                && error.as_db_error().is_some()
            {
                return Err(connection.unfit(error));
            }
            was_sent = true;
            if Instant::now() + PAUSE >= until {
                let LogError::Away { server, reason } = connection.away(failed) else {
                    unreachable!("it names what is away");
                };
                let lost = format!("{server}: {reason}");
                let source = std::sync::Arc::new(std::io::Error::other(lost));
                return Err(LogError::OutcomeUnknown { source });
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn lines_from(&self, seq: u64, until: Instant) -> Result<Vec<SequencedLine>, LogError> {
        let (team, from) = (&self.team, signed(seq));
        let mut connection = self.connection();
        let (lines, next_seq) = connection.run(until, async |client| {
            let select = "SELECT seq, line, texts FROM cli_team_bridge.log
                          WHERE team = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
            let rows = client.query(select, &[team, &from, &LINES]).await?;
            let lines: Vec<_> = rows
                .iter()
                .map(|row| SequencedLine {
                    seq: unsigned(row.get(0)),
                    bytes: row.get(1),
                    texts: row.get(2),
                })
                .collect();
            let head = "SELECT next_seq FROM cli_team_bridge.head WHERE team = $1";
            let next_seq = match lines.last() {
                Some(_) => None,
                None => client.query_opt(head, &[team]).await?.map(|row| row.get::<_, i64>(0)),
            };
            Ok((lines, next_seq))
        })?;
        match (lines.first(), next_seq) {
            (Some(first), _) if first.seq == seq => Ok(lines),
            (None, Some(next)) if next == from => Ok(lines),
            (Some(first), _) => Err(LogError::OutOfOrder { seq: first.seq, expected: seq }),
            (None, next) => Err(LogError::OutOfOrder {
                seq: unsigned(next.unwrap_or_default()),
                expected: seq,
            }),
        }
    }

    fn put_text(&self, id: Uuid, text: &str, until: Instant) -> Result<(), LogError> {
        let insert = "INSERT INTO cli_team_bridge.text (team, id, text) VALUES ($1, $2, $3)
                      ON CONFLICT DO NOTHING";
        self.connection().run(until, async |client| {
            client.execute(insert, &[&self.team, &id, &text.as_bytes()]).await.map(drop)
        })
    }

    fn text(&self, id: Uuid, until: Instant) -> Result<String, LogError> {
        let select = "SELECT text FROM cli_team_bridge.text WHERE team = $1 AND id = $2";
        let row = self
            .connection()
            .run(until, async |client| client.query_opt(select, &[&self.team, &id]).await)?;
        let bytes: Vec<u8> = row.ok_or(LogError::Gone)?.get(0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl PostgresOrder {
    /// Puts a line once. One that was sent before may have its place by now.
    fn try_to_put(
        &self,
        connection: &mut Connection,
        line: &ProposedLine,
        was_sent: bool,
        until: Instant,
    ) -> Result<Sequenced, Failed> {
        if was_sent && let Some(seq) = self.place_of(connection, line.command, until)? {
            return Ok(if seq == signed(line.seq) { Sequenced::Accepted } else { Sequenced::Behind });
        }
        let (seq, next_seq) = (signed(line.seq), signed(line.next_seq));
        let put = connection.attempt(until, async |client| {
            client
                .execute(
                    PUT,
                    &[&self.team, &seq, &next_seq, &line.command.0, &line.bytes, &line.texts],
                )
                .await
        });
        match put {
            Ok(0) => Ok(Sequenced::Behind),
            Ok(_) => Ok(Sequenced::Accepted),
            // The command has a place already.
            Err(Failed::Server(error)) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                Ok(Sequenced::Behind)
            }
            Err(failed) => Err(failed),
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
