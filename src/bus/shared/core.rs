//! The core of a bus in one process: the log and the state read from it, always together.

use std::collections::BTreeSet;

use super::receipt::Receipt;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::replica::Replica;
use crate::bus::rules::{self, Command, DeadSession, Refusal};
use crate::bus::state::{Session, State};
use crate::bus::storage::{
    Appended, Hold, Log, LogError, Mirror, Presence, Proposed, ProposedLine, SequencedLine, Verdict,
};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::time::Now;

/// The entries that are read at once.
const ENTRIES: usize = 256;

/// The log, its replica, and the sessions of this process.
pub(crate) struct Core {
    pub(crate) log: Box<dyn Log>,
    pub(crate) replica: Replica,
    /// The sessions for whose wakeups this process listens.
    pub(crate) attended: BTreeSet<SessionId>,
    /// The presences that this process holds.
    pub(crate) holds: Vec<(SessionId, Box<dyn Hold>)>,
    /// Whether this process refuses further commands.
    pub(crate) closed: bool,
}

impl Core {
    pub(super) fn new(log: Box<dyn Log>, replica: Replica) -> Self {
        Self { log, replica, attended: BTreeSet::new(), holds: Vec::new(), closed: false }
    }

    /// Decides and appends a command, and wakes the sessions that it concerns. Returns none while another process writes.
    pub(super) fn append(&mut self, command: &Command) -> Result<Option<Receipt>, BusError> {
        let Self { log, replica, .. } = self;
        let mut receipt = Receipt::default();
        loop {
            let entry = match append_command(&mut **log, replica, command)? {
                Appended::Written(entry) => entry,
                Appended::Nothing | Appended::Refused => return Ok(Some(receipt)),
                Appended::Contended => return Ok(None),
            };
            log.wake(&rules::concerned(&replica.state, &entry.events));
            receipt.events.extend(entry.events);
            // Otherwise the entry held only due events, and the command comes next.
            if entry.id == command.id {
                return Ok(Some(receipt));
            }
        }
    }

    /// Finds those of these sessions whose presence is free, the oldest first, but after each bridge its agents: who reads the log knows
    /// so with which bridge they ended.
    pub(crate) fn dead_of(&mut self, sessions: &[SessionId]) -> Vec<DeadSession> {
        let Self { log, replica, .. } = self;
        let live = sessions.iter().filter_map(|id| replica.state.session(*id));
        let is_free =
            |session: &&Session| presence(&mut **log, &replica.state, session.id) == Presence::Free;
        let mut dead: Vec<_> = live.filter(is_free).collect();
        dead.sort_unstable_by_key(|session| {
            let bridge = session.owner.map(|owner| replica.state.session(owner));
            // One whose bridge has left is told of before any other bridge.
            let of_bridge = bridge
                .map_or(session.since_seq, |bridge| bridge.map_or(0, |bridge| bridge.since_seq));
            (of_bridge, session.owner, session.since_seq, session.id)
        });
        let with_life = |session: &Session| DeadSession {
            session: session.id,
            alive_ms: log.last_alive_ms(session.id, session.running.as_ref()),
        };
        dead.into_iter().map(with_life).collect()
    }

    /// Finds the live sessions, if the presence of all of them is free. The first that is not ends the look.
    pub(crate) fn dead_if_all_are(&mut self) -> Option<Vec<DeadSession>> {
        let Self { log, replica, .. } = self;
        let live: Vec<_> = replica.state.session_ids().collect();
        let is_dead = |id: &SessionId| presence(&mut **log, &replica.state, *id) == Presence::Free;
        live.iter().all(is_dead).then(|| self.dead_of(&live))
    }

    /// Finds the live sessions whose presence is free.
    pub(crate) fn dead(&mut self) -> Vec<DeadSession> {
        let live: Vec<_> = self.replica.state.session_ids().collect();
        self.dead_of(&live)
    }
}

/// Says whether a session is present. One of another host is for its host to say, and once that is dead, for the hosts that are left.
fn presence(log: &mut dyn Log, state: &State, session: SessionId) -> Presence {
    if state.host_of(session).is_some_and(|host| log.is_elsewhere(host)) {
        Presence::Held
    } else {
        log.held(session)
    }
}

/// What a command proposes to a log whose order a server keeps.
pub(crate) enum ProposedCommand {
    Line(ProposedLine),
    /// There is nothing to do, or it was done before.
    Done,
    Refused(Refusal),
}

impl Core {
    fn mirror(&mut self) -> Result<(&mut dyn Mirror, &mut Replica), LogError> {
        let mirror = self.log.mirror().ok_or(LogError::Removed)?;
        Ok((mirror, &mut self.replica))
    }

    /// Begins or ends the turn to write to the mirror, which the calling thread has waited for. Says whether it has it.
    pub(super) fn hold_turn(&mut self, is_held: bool) -> Result<bool, LogError> {
        self.mirror()?.0.hold_turn(is_held)
    }

    /// Decides what a command is to append.
    pub(super) fn propose(&mut self, command: &Command) -> Result<ProposedCommand, LogError> {
        let (mirror, replica) = self.mirror()?;
        let mut refusal = None;
        let proposed = mirror.propose(replica, &mut |replica, now| {
            verdict(&replica.state, now, command, &mut refusal)
        })?;
        Ok(match (proposed, refusal) {
            (Proposed::Line(line), _) => ProposedCommand::Line(line),
            (Proposed::Refused, Some(reason)) => ProposedCommand::Refused(reason),
            (Proposed::Refused | Proposed::Nothing, _) => ProposedCommand::Done,
        })
    }

    /// Returns the events of a command that was done before; none if it was not, or had nothing to do.
    pub(super) fn events_of_done(&mut self, command: CommandId) -> Result<Vec<Event>, LogError> {
        if !self.replica.state.knows_command(command) {
            return Ok(Vec::new());
        }
        // It is one of the last commands, so it is found soon.
        for part in self.log.parts()?.into_iter().rev() {
            let mut place = part;
            loop {
                let (entries, next) = self.log.read_after(place, ENTRIES)?;
                if entries.is_empty() {
                    break;
                }
                place = next;
                let found = entries.into_iter().find(|(_, entry)| entry.id == command);
                if let Some((_, entry)) = found {
                    return Ok(entry.events);
                }
            }
        }
        Err(LogError::Gone)
    }

    /// Takes lines that have their place, and wakes the sessions of this machine that they concern. Returns their events.
    pub(super) fn take(&mut self, lines: &[SequencedLine]) -> Result<Vec<Event>, LogError> {
        let (mirror, replica) = self.mirror()?;
        let entries = mirror.take(replica, lines)?;
        let events: Vec<_> = entries.into_iter().flat_map(|entry| entry.events).collect();
        self.log.wake(&rules::concerned(&self.replica.state, &events));
        Ok(events)
    }
}

/// Appends what the rules decide about a command. A refusal is an error.
pub(crate) fn append_command(
    log: &mut dyn Log,
    replica: &mut Replica,
    command: &Command,
) -> Result<Appended, BusError> {
    let mut refusal = None;
    let appended = log
        .append(replica, &mut |replica, now| verdict(&replica.state, now, command, &mut refusal))?;
    match (appended, refusal) {
        // The last verdict set this reason.
        (Appended::Refused, Some(reason)) => Err(reason.into()),
        (appended, _) => Ok(appended),
    }
}

/// Asks the rules about a command, and keeps the reason of a refusal.
fn verdict(state: &State, now: Now, command: &Command, refusal: &mut Option<Refusal>) -> Verdict {
    match rules::decide(state, now, command) {
        Ok(Some(proposal)) => Verdict::Append(proposal),
        Ok(None) => Verdict::Nothing,
        Err(reason) => {
            *refusal = Some(reason);
            Verdict::Refused
        }
    }
}
