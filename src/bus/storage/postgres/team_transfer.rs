//! A team that comes from files, or goes back into them: its lines and long texts as they are, in bites.
//!
//! While a bus is being copied in, the row of its team in `incoming` keeps everybody else from joining or making that team; whoever
//! repeats the copy goes on where it ended. A team that was copied into files gets another id in the same transaction in which the
//! files take over, so no other machine appends to it.

use std::time::Instant;

use uuid::Uuid;

use super::schema::{alone, make_tables};
use super::server_connection::Connection;
use super::shared_sql::{signed, unsigned};
use crate::bus::storage::{LogError, OrderedBy};
use crate::domain::ids::CommandId;
use crate::domain::member::HostId;
use crate::domain::wait_times;

/// The bytes of lines that are read at once, unless one line has more.
const BITE_BYTES: i64 = 4 * 1024 * 1024;

/// The lines that are read at once.
const BITE_LINES: i64 = 4_096;

/// A line that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedLine {
    pub seq: u64,
    pub command: CommandId,
    /// The whole line, with its newline.
    pub bytes: Vec<u8>,
    /// The long texts that it names, as far as they are there.
    pub texts: Vec<Uuid>,
}

/// A team into which a bus is being copied.
pub struct IncomingTeam {
    connection: Connection,
    order: OrderedBy,
    bus: Uuid,
}

fn soon() -> Instant {
    Instant::now() + wait_times::COPY_BITE
}

impl IncomingTeam {
    /// Begins a copy of a bus into a new team, or goes on with one. `host` is the name of this machine, for people.
    pub fn begin(server: &str, team: &str, bus: Uuid, host: &str) -> Result<Self, LogError> {
        let mut connection = Connection::new(server)?;
        make_tables(&mut connection, Instant::now() + wait_times::SERVER)?;
        let is_there = "SELECT EXISTS (SELECT FROM cli_team_bridge.head WHERE team = $1)
                            OR EXISTS (SELECT FROM cli_team_bridge.outgone WHERE team = $1)";
        let insert = "INSERT INTO cli_team_bridge.incoming (team, bus, host) VALUES ($1, $2, $3)";
        let select = "SELECT epoch, bus, host FROM cli_team_bridge.incoming WHERE team = $1";
        let begun = connection.run(soon(), async |client| {
            alone(client, async || {
                let mut row = client.query_opt(select, &[&team]).await?;
                if row.is_none() && !client.query_one(is_there, &[&team]).await?.get::<_, bool>(0) {
                    client.execute(insert, &[&team, &bus, &host]).await?;
                    row = client.query_opt(select, &[&team]).await?;
                }
                Ok(row)
            })
            .await
        })?;
        let Some(row) = begun else {
            let reason =
                format!("it has a team {team:?} already: choose another name with `--team`");
            return Err(connection.unfit(reason));
        };
        if row.get::<_, Uuid>(1) != bus {
            let host: String = row.get(2);
            let reason = format!(
                "the machine {host:?} is copying another bus into the team {team:?}, or was interrupted: choose another name with `--team`"
            );
            return Err(connection.unfit(reason));
        }
        let order =
            OrderedBy { server: server.to_owned(), team: team.to_owned(), epoch: row.get(0) };
        Ok(Self { connection, order, bus })
    }

    /// Opens a team that a bus has become, to end the copy; none if it has ended.
    pub fn of(order: &OrderedBy, bus: Uuid) -> Result<Option<Self>, LogError> {
        let mut connection = Connection::new(&order.server)?;
        let select = "SELECT 1 FROM cli_team_bridge.incoming WHERE team = $1 AND epoch = $2";
        let row = connection.run(soon(), async |client| {
            client.query_opt(select, &[&order.team, &order.epoch]).await
        })?;
        Ok(row.map(|_| Self { connection, order: order.clone(), bus }))
    }

    pub fn order(&self) -> &OrderedBy {
        &self.order
    }

    /// Returns the seq of the last line that is there.
    pub fn last_seq(&mut self) -> Result<Option<u64>, LogError> {
        let select = "SELECT max(seq) FROM cli_team_bridge.log WHERE team = $1";
        let team = &self.order.team;
        let row =
            self.connection.run(soon(), async |client| client.query_one(select, &[team]).await)?;
        Ok(row.get::<_, Option<i64>>(0).map(unsigned))
    }

    /// Stores a long text, and returns the SHA-256 of what is there now.
    pub fn put_text(&mut self, id: Uuid, text: &str) -> Result<Vec<u8>, LogError> {
        let insert = "INSERT INTO cli_team_bridge.text (team, id, text) VALUES ($1, $2, $3)
                      ON CONFLICT DO NOTHING";
        let select = "SELECT sha256(text) FROM cli_team_bridge.text WHERE team = $1 AND id = $2";
        let team = &self.order.team;
        self.connection.run(soon(), async |client| {
            client.execute(insert, &[team, &id, &text.as_bytes()]).await?;
            Ok(client.query_one(select, &[team, &id]).await?.get(0))
        })
    }

    /// Stores lines. Those that are there already stay as they are.
    pub fn put_lines(&mut self, lines: &[CopiedLine]) -> Result<(), LogError> {
        let insert = "INSERT INTO cli_team_bridge.log (team, seq, command, line, texts)
                      SELECT $1, seq, command, line, string_to_array(texts, ',')::uuid[]
                      FROM unnest($2::bigint[], $3::uuid[], $4::bytea[], $5::text[])
                           AS copied (seq, command, line, texts)
                      ON CONFLICT (team, seq) DO NOTHING";
        let team = &self.order.team;
        let seqs: Vec<i64> = lines.iter().map(|line| signed(line.seq)).collect();
        let commands: Vec<Uuid> = lines.iter().map(|line| line.command.0).collect();
        let bytes: Vec<&[u8]> = lines.iter().map(|line| line.bytes.as_slice()).collect();
        let texts: Vec<String> = lines
            .iter()
            .map(|line| line.texts.iter().map(Uuid::to_string).collect::<Vec<_>>().join(","))
            .collect();
        self.connection.run(soon(), async |client| {
            client.execute(insert, &[team, &seqs, &commands, &bytes, &texts]).await.map(drop)
        })
    }

    /// Passes all lines that are there to a function, in their order.
    pub fn each_line(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), LogError> {
        each_line(&mut self.connection, &self.order.team, take)
    }

    /// Makes the team what was copied: `next_seq` and the command of the last line say where it continues.
    pub fn complete(&mut self, next_seq: u64, last: Option<CommandId>) -> Result<(), LogError> {
        let insert =
            "INSERT INTO cli_team_bridge.head AS head (team, epoch, next_seq, last_command)
                      VALUES ($1, $2, $3, $4)
                      ON CONFLICT (team) DO UPDATE
                      SET next_seq = excluded.next_seq, last_command = excluded.last_command
                      WHERE head.epoch = excluded.epoch";
        let OrderedBy { team, epoch, .. } = &self.order;
        let last = last.map(|command| command.0);
        let made = self.connection.run(soon(), async |client| {
            client.execute(insert, &[team, epoch, &signed(next_seq), &last]).await
        })?;
        if made == 1 {
            return Ok(());
        }
        let reason = format!("the team {team:?} was made by another machine meanwhile");
        Err(self.connection.unfit(reason))
    }

    /// Lets other machines join: the bus has become the team.
    pub fn end(mut self) -> Result<(), LogError> {
        let delete =
            "DELETE FROM cli_team_bridge.incoming WHERE team = $1 AND epoch = $2 AND bus = $3";
        let OrderedBy { team, epoch, .. } = &self.order;
        let bus = self.bus;
        self.connection.run(soon(), async |client| {
            client.execute(delete, &[team, epoch, &bus]).await.map(drop)
        })
    }
}

/// Passes all lines that a server has of a team to a function, in their order.
pub fn each_line_of(order: &OrderedBy, take: &mut dyn FnMut(&[u8])) -> Result<(), LogError> {
    each_line(&mut Connection::new(&order.server)?, &order.team, take)
}

/// Reads all lines of a team, in bites.
fn each_line(
    connection: &mut Connection,
    team: &str,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), LogError> {
    let select = "SELECT seq, line FROM (
                      SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before
                      FROM (SELECT seq, line FROM cli_team_bridge.log
                            WHERE team = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS next
                  ) AS bite WHERE before < $4 ORDER BY seq";
    let mut after = 0_i64;
    loop {
        let rows = connection.run(soon(), async |client| {
            client.query(select, &[&team, &after, &BITE_LINES, &BITE_BYTES]).await
        })?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.get(0);
        for row in &rows {
            take(row.get(1));
        }
    }
}

/// What came of leaving a team on a server for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The files have taken over, and the team has ended on the server.
    Done,
    /// The team had ended before; nothing was done.
    HasEnded,
    /// The server has other lines by now; nothing was done.
    Behind,
    /// These machines are still at work; nothing was done.
    InUse(Vec<String>),
}

/// Ends a team on its server, if its log ends before `next_seq` and no machine but this one is at work in it. `take_over` makes the
/// files their own meanwhile: until that has been done, nobody can append to either.
pub fn close_team(
    order: &OrderedBy,
    next_seq: u64,
    here: Option<HostId>,
    host: &str,
    take_over: &dyn Fn() -> Result<(), LogError>,
) -> Result<Leaving, LogError> {
    let mut connection = Connection::new(&order.server)?;
    make_tables(&mut connection, Instant::now() + wait_times::SERVER)?;
    let OrderedBy { team, epoch, .. } = order;
    let here = here.map(|host| host.0);
    let head =
        "SELECT next_seq FROM cli_team_bridge.head WHERE team = $1 AND epoch = $2 FOR UPDATE";
    let ended = "SELECT 1 FROM cli_team_bridge.outgone WHERE team = $1 AND epoch = $2";
    let at_work = "SELECT name FROM cli_team_bridge.lease
                   WHERE team = $1 AND NOT is_buried AND host IS DISTINCT FROM $2
                     AND clock_timestamp() - at < $3::bigint * interval '1 second' ORDER BY name";
    let silent = signed(wait_times::HOST_SILENT.as_secs());
    let note = "INSERT INTO cli_team_bridge.outgone (team, epoch, host) VALUES ($1, $2, $3)";
    let end = "UPDATE cli_team_bridge.head SET epoch = gen_random_uuid() WHERE team = $1";
    let failure = std::cell::RefCell::new(None);
    let outcome = connection.attempt(soon(), async |client| {
        client.batch_execute("BEGIN").await?;
        let row = client.query_opt(head, &[team, epoch]).await?;
        if row.is_none_or(|row| unsigned(row.get(0)) != next_seq) {
            // An interrupted copy may have ended it.
            let has_ended = client.query_opt(ended, &[team, epoch]).await?.is_some();
            client.batch_execute("ROLLBACK").await?;
            return Ok(if has_ended { Leaving::HasEnded } else { Leaving::Behind });
        }
        let rows = client.query(at_work, &[team, &here, &silent]).await?;
        if !rows.is_empty() {
            client.batch_execute("ROLLBACK").await?;
            return Ok(Leaving::InUse(rows.iter().map(|row| row.get(0)).collect()));
        }
        client.execute(note, &[team, epoch, &host]).await?;
        client.execute(end, &[team]).await?;
        let Err(error) = take_over() else {
            client.batch_execute("COMMIT").await?;
            return Ok(Leaving::Done);
        };
        failure.replace(Some(error));
        client.batch_execute("ROLLBACK").await?;
        Ok(Leaving::Behind)
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => outcome.map_err(|failed| connection.error(failed)),
    }
}
