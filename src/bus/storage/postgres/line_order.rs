//! The order of a team's lines in PostgreSQL.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::host_link::PostgresLink;
use super::server_connection::{Connection, Failed, PAUSE};
use super::shared_sql::{TIME, channel, lock_number, signed, unsigned};
use super::team_clock::TeamClock;
use crate::bus::storage::{
    BYTES_AT_ONCE, BYTES_IN_TURN, HostLink, LINES_AT_ONCE, LogError, NextLines, OrderedBy,
    ProposedLine, Sequenced, SequencedLine, Sequencer,
};
use crate::domain::ids::CommandId;
use crate::domain::time::Tick;
use crate::sys::mutex::lock;

/// How long a holder of the turn may be silent, until the server ends its connection: it reads a line or two meanwhile and decides, which
/// takes a millisecond, or stands still.
const SILENT_IN_TURN: Duration = Duration::from_secs(1);

/// How long one attempt waits for the turn: longer than one silent holder has it.
const WAIT_FOR_TURN: Duration = Duration::from_millis(1_500);

/// How long a line waits at the server for its place while another machine has the turn. After that its machine asks for the turn, and has
/// time left to end a holder that stands still.
const WAIT_FOR_PLACE: Duration = Duration::from_millis(500);

/// The first of the two numbers of a team's advisory lock, so that it is no other program's: `turn`.
pub(super) const TURN: i32 = 0x7475_726e;

/// What the server says if a line got no place, and another attempt may get one.
const NOTHING_PUT: [SqlState; 4] = [
    // The command has a place already.
    SqlState::UNIQUE_VIOLATION,
    // Another machine had the turn for longer than a line waits, or than this role may.
    SqlState::LOCK_NOT_AVAILABLE,
    SqlState::QUERY_CANCELED,
    // Another use of the connection failed in the turn, which ends by that.
    SqlState::IN_FAILED_SQL_TRANSACTION,
];

/// The order of one team.
pub struct PostgresOrder {
    connection: Mutex<Connection>,
    order: OrderedBy,
    clock: TeamClock,
    put: String,
    /// Begins the turn. The lock lets the waiting in one after another, which a locked row does not.
    begin_turn: String,
    /// Ends the connection of a holder that stands still.
    end_holder: String,
}

impl PostgresOrder {
    /// Uses a team of a server, without connecting yet.
    pub fn of(order: &OrderedBy) -> Result<Self, LogError> {
        let connection = Connection::new(&order.server)?;
        // Compares and moves the head, and inserts the line in the same statement: one round trip. The server knows how long it may wait,
        // so that nothing waits there for a client that has given up.
        let put = format!(
            "WITH patience AS MATERIALIZED (
                 SELECT set_config('lock_timeout', '{}', true) AS known
             ), moved AS (
                 UPDATE cli_team_bridge.head SET next_seq = $3, last_command = $4
                 FROM patience
                 WHERE team = $1 AND next_seq = $2 AND last_command IS NOT DISTINCT FROM $7 AND epoch = $8
                     AND patience.known IS NOT NULL
                 RETURNING team
             )
             INSERT INTO cli_team_bridge.log (team, seq, command, line, texts)
             SELECT team, $2, $4, $5, $6 FROM moved RETURNING {TIME}",
            WAIT_FOR_PLACE.as_millis(),
        );
        let number = lock_number(&order.team);
        let begin_turn = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SET LOCAL idle_in_transaction_session_timeout = {};
             SET LOCAL lock_timeout = {};
             SELECT pg_advisory_xact_lock({TURN}, {});",
            SILENT_IN_TURN.as_millis(),
            WAIT_FOR_TURN.as_millis(),
            number,
        );
        // Its own limit does not count while it waits for its client to read. A role may end its own connections.
        let end_holder = format!(
            "SELECT pg_terminate_backend(pid)
             FROM pg_locks JOIN pg_stat_activity AS holder USING (pid)
             WHERE locktype = 'advisory' AND granted AND objsubid = 2
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                 AND classid = {TURN}::bigint::oid AND objid = {}::bigint::oid
                 AND holder.state_change < clock_timestamp() - interval '{} ms'
                 AND pg_has_role(holder.usesysid, 'MEMBER')",
            number.cast_unsigned(),
            SILENT_IN_TURN.as_millis(),
        );
        let (connection, clock) = (Mutex::new(connection), TeamClock::default());
        Ok(Self { connection, order: order.clone(), clock, put, begin_turn, end_holder })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // After a panic of the holder the next use finds the connection closed, or uses it.
        lock(&self.connection)
    }

    /// Puts a line once. One that was sent before may have its place by now.
    fn try_to_put(
        &self,
        connection: &mut Connection,
        line: &ProposedLine,
        was_sent: bool,
        until: Instant,
    ) -> Result<Sequenced, Failed> {
        if was_sent && let Some(seq) = self.place_of(connection, line.command, until)? {
            return Ok(if seq == signed(line.seq) {
                Sequenced::Accepted
            } else {
                Sequenced::Behind
            });
        }
        let OrderedBy { team, epoch, .. } = &self.order;
        let (seq, next_seq) = (signed(line.seq), signed(line.next_seq));
        let after = line.after.map(|command| command.0);
        let (told, of_team) = (next_seq.to_string(), channel(team));
        let put = connection.attempt(until, async |client| {
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
                [team, &seq, &next_seq, &line.command.0, &line.bytes, &line.texts, &after, epoch];
            let put = client.query_opt(&self.put, &values);
            // A statement of its own, after the commit: inside of it, all commits would wait for one lock. It travels with the first.
            let told: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&of_team, &told];
            let tell = client.execute("SELECT pg_notify($1, $2)", &told);
            let put = async {
                if client.is_in_turn.get() {
                    // Prepared before, so that it is sent before the other.
                    client.prepared(&self.put).await?;
                    client.is_in_turn.set(false);
                    let (put, ()) = tokio::try_join!(put, client.batch_execute("COMMIT"))?;
                    return Ok(put);
                }
                put.await
            };
            let (mut put, mut tell) = (std::pin::pin!(put), std::pin::pin!(tell));
            // Nobody waits for the answer to the last.
            tokio::select! {
                biased;
                done = &mut put => done,
                _ = &mut tell => put.await,
            }
        });
        match put {
            Ok(None) => Ok(Sequenced::Behind),
            Ok(Some(row)) => {
                self.clock.note(row.get(0));
                Ok(Sequenced::Accepted)
            }
            Err(failed) if failed.is_any(&NOTHING_PUT) => Ok(Sequenced::Behind),
            Err(failed) => Err(failed),
        }
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
            let row = client.query_opt(select, &[&self.order.team, &command.0]).await?;
            Ok(row.map(|row| row.get(0)))
        })
    }

    /// Compares what the server has before a seq with what is here, and reads the lines from there on: both in one round trip, after
    /// `begin`, if there is one, which allows less. None if another machine kept the turn.
    fn read(
        &self,
        begin: Option<&str>,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<Option<NextLines>, LogError> {
        let OrderedBy { team, .. } = &self.order;
        let (lock, bytes, or_first) = match begin {
            Some(_) => ("FOR NO KEY UPDATE", BYTES_IN_TURN, ""),
            None => ("", BYTES_AT_ONCE, "OR total = octet_length(line)"),
        };
        let compare = format!(
            "SELECT next_seq, epoch, {TIME},
                    (SELECT command FROM cli_team_bridge.log
                     WHERE team = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1)
             FROM cli_team_bridge.head WHERE team = $1 {lock}"
        );
        let lines = format!(
            "SELECT seq, CASE WHEN total <= {bytes} {or_first} THEN line END, texts
             FROM (
                 SELECT seq, line, texts, sum(octet_length(line)) OVER (ORDER BY seq) AS total
                 FROM (
                     SELECT seq, line, texts FROM cli_team_bridge.log
                     WHERE team = $1 AND seq >= $2 ORDER BY seq LIMIT {LINES_AT_ONCE}
                 ) AS next
             ) AS summed
             ORDER BY seq"
        );
        let read = self.connection().run(until, async |client| {
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [team, &signed(seq)];
            let taking = async {
                let Some(begin) = begin else { return Ok(()) };
                let again = if client.is_in_turn.replace(true) { "ROLLBACK;" } else { "" };
                client.batch_execute(&format!("{again}{begin}")).await
            };
            // In this order, so that a turn that did not come is the reason, and not what failed after it.
            let read = tokio::try_join!(
                biased;
                taking,
                client.query_opt(&compare, &values),
                client.query(&lines, &values)
            );
            match read {
                Ok(((), row, lines)) => Ok(Some((row, lines))),
                Err(error) if begin.is_some() && is_too_long(&error) => Ok(None),
                Err(error) => Err(error),
            }
        })?;
        let Some((row, rows)) = read else { return Ok(None) };
        self.check(row.as_ref(), seq, after, until)?;
        let lines: Vec<_> = rows.iter().map_while(line).collect();
        let has_more = lines.len() < rows.len() || rows.len() == LINES_AT_ONCE;
        Ok(Some(NextLines { lines, has_more }))
    }

    /// Fails if the server has lost what is here.
    fn check(
        &self,
        row: Option<&Row>,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<(), LogError> {
        let OrderedBy { team, epoch, .. } = &self.order;
        let lost = |why: String| LogError::ServerLost { team: team.clone(), why };
        let row = row.ok_or_else(|| lost("it does not know the team".to_owned()))?;
        self.clock.note(row.get(2));
        if row.get::<_, Uuid>(1) != *epoch {
            return Err(self
                .copied_into_files(until)
                .unwrap_or_else(|| lost("its team of this name is another one".to_owned())));
        }
        let next_seq: i64 = row.get(0);
        let before: Option<Uuid> = row.get(3);
        if next_seq < signed(seq) {
            let here = seq.saturating_sub(1);
            return Err(lost(format!(
                "it has {} events, and this machine knows {here}",
                next_seq - 1
            )));
        }
        if before != after.map(|command| command.0) {
            return Err(lost(format!("it has other events before event {seq} than this machine")));
        }
        Ok(())
    }

    /// Says that the team has ended here, if it was copied into files.
    fn copied_into_files(&self, until: Instant) -> Option<LogError> {
        let OrderedBy { team, epoch, .. } = &self.order;
        let select = "SELECT host FROM cli_team_bridge.outgone WHERE team = $1 AND epoch = $2";
        let row = self
            .connection()
            .run(until, async |client| client.query_opt(select, &[team, epoch]).await);
        // Tables of an older version know nothing of it.
        let row = row.ok().flatten()?;
        Some(LogError::CopiedAway { team: team.clone(), host: row.get(0) })
    }
}

/// Says whether a wait for the turn was too long: for it, or for what this role may do.
fn is_too_long(error: &tokio_postgres::Error) -> bool {
    let too_long = [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::QUERY_CANCELED];
    error.code().is_some_and(|code| too_long.contains(&code))
}

/// Returns the line of a row; none if that was too much.
fn line(row: &Row) -> Option<SequencedLine> {
    let bytes = row.get::<_, Option<Vec<u8>>>(1)?;
    Some(SequencedLine { seq: unsigned(row.get(0)), bytes, texts: row.get(2) })
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
            if failed.is_refused() {
                return Err(connection.error(failed));
            }
            was_sent |= connection.has_asked;
            if Instant::now() + PAUSE >= until {
                if !was_sent {
                    return Err(connection.error(failed));
                }
                let lost = connection.error(failed);
                let lost =
                    format!("{lost}. The same call again, within 10 minutes, takes effect once");
                let source = std::sync::Arc::new(std::io::Error::other(lost));
                return Err(LogError::OutcomeUnknown { source });
            }
            connection.pause(PAUSE);
        }
    }

    fn lines_from(
        &self,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<NextLines, LogError> {
        Ok(self.read(None, seq, after, until)?.unwrap_or_default())
    }

    fn take_turn(
        &self,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<Option<NextLines>, LogError> {
        let next = self.read(Some(&self.begin_turn), seq, after, until);
        if !matches!(next, Ok(Some(NextLines { has_more: false, .. }))) {
            self.let_go(until);
        }
        if matches!(next, Ok(None)) {
            let ended = self
                .connection()
                .attempt(until, async |client| client.query(&self.end_holder, &[]).await);
            if ended.is_ok_and(|ended| !ended.is_empty()) {
                tracing::warn!("a machine stood still in its turn to write, and has lost it");
            }
        }
        next
    }

    fn let_go(&self, until: Instant) -> bool {
        let mut connection = self.connection();
        if !connection.is_in_turn() {
            return false;
        }
        let ended = connection.attempt(until, async |client| {
            let was_in_turn = client.is_in_turn.take();
            // Without the turn, by a new connection, there is nothing to end.
            client.batch_execute(if was_in_turn { "ROLLBACK" } else { "" }).await?;
            Ok(was_in_turn)
        });
        // After a failure the connection is closed, or the next use finds that it is.
        ended.unwrap_or(false)
    }

    fn put_text(&self, id: Uuid, text: &str, until: Instant) -> Result<(), LogError> {
        // In the transaction of the turn it would be lost with the turn, and a line that is put after that would name nothing.
        self.let_go(until);
        let insert = "INSERT INTO cli_team_bridge.text (team, id, text) VALUES ($1, $2, $3)
                      ON CONFLICT DO NOTHING";
        self.connection().run(until, async |client| {
            client.execute(insert, &[&self.order.team, &id, &text.as_bytes()]).await.map(drop)
        })
    }

    fn text(&self, id: Uuid, until: Instant) -> Result<String, LogError> {
        let select = "SELECT text FROM cli_team_bridge.text WHERE team = $1 AND id = $2";
        let row = self
            .connection()
            .run(until, async |client| client.query_opt(select, &[&self.order.team, &id]).await)?;
        let bytes: Vec<u8> = row.ok_or(LogError::Gone)?.get(0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn tick(&self) -> Option<Tick> {
        self.clock.tick()
    }

    fn learn_time(&self, until: Instant) -> Result<Tick, LogError> {
        if let Some(tick) = self.clock.tick() {
            return Ok(tick);
        }
        let select = format!("SELECT {TIME}");
        let row =
            self.connection().run(until, async |client| client.query_one(&select, &[]).await)?;
        Ok(self.clock.note(row.get(0)))
    }

    fn link(&self) -> Result<Box<dyn HostLink>, LogError> {
        Ok(Box::new(PostgresLink::of(&self.order, self.clock.clone())?))
    }
}
