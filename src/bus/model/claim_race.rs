//! Many members race for few requests and lanes: they claim, release, hand over, answer, give up, fall silent and die. Each request and
//! each lane has one owner at a time, and no two claims of a request the same fence. The ledger checks that, entry by entry.
//!
//! `BRIDGE_CHAOS=large` plays 1,000 rounds of each racer, `BRIDGE_RACE_ROUNDS` another number, and `BRIDGE_RACE_SEED` sets the seed,
//! which each run prints.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use super::ledger::Ledger;
use super::model_inputs::{claim_update, lane, name, text};
use crate::bus::error::BusError;
use crate::bus::event::{Entry, Event};
use crate::bus::replica::Replica;
use crate::bus::rules::{ClaimUpdate, Command, NameChoice, NewMember, Operation, Pick, Refusal};
use crate::bus::shared::append_command;
use crate::bus::storage::in_memory::{MemoryLog, Store};
use crate::bus::storage::{Appended, Log};
use crate::domain::ids::{CallId, CommandId, RequestId, SessionId};
use crate::domain::member::MemberKind;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::time::{Now, Tick};

const RACERS: u64 = 64;
const REQUESTS: usize = 8;
const LEASE_MS: u64 = 30_000;

/// The default number of rounds: enough for some hundred claims.
const ROUNDS: u64 = 12;

/// The rounds of a large run.
const LARGE_ROUNDS: u64 = 1_000;

/// A small generator of numbers that look random, always the same for a seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.throw() % end
    }

    fn uuid(&mut self) -> Uuid {
        Uuid::from_u64_pair(self.throw(), self.throw())
    }
}

/// What all racers share: the store, its clock, and every entry that one of them has written.
struct Track {
    store: Store,
    now: Arc<Mutex<Now>>,
    written: Mutex<Vec<Entry>>,
    asker: SessionId,
    /// The rounds of those that have played all of theirs.
    played: AtomicU64,
}

/// A process with one member.
struct Racer<'a> {
    track: &'a Track,
    log: MemoryLog,
    replica: Replica,
    dice: Dice,
    number: u64,
    session: SessionId,
}

impl<'a> Racer<'a> {
    fn new(track: &'a Track, number: u64, seed: u64) -> Self {
        let mut log = track.store.log();
        let replica = log.open().unwrap();
        let mut dice = Dice(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let session = SessionId(dice.uuid());
        Self { track, log, replica, dice, number, session }
    }

    fn ask(&mut self, by: Option<SessionId>, operation: Operation) -> Result<Vec<Event>, Refusal> {
        let command =
            Command { id: CommandId(self.dice.uuid()), by, received: Vec::new(), operation };
        loop {
            match append_command(&mut self.log, &mut self.replica, &command) {
                Err(BusError::Refused(refusal)) => return Err(refusal),
                Ok(Appended::Contended) => {}
                Ok(Appended::Written(entry)) => {
                    let events = entry.events.clone();
                    let is_whole = entry.id == command.id;
                    self.track.written.lock().unwrap().push(entry);
                    if is_whole {
                        return Ok(events);
                    }
                }
                Ok(Appended::Refused | Appended::Nothing) => return Ok(Vec::new()),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn join(&mut self, session: SessionId, called: &str) {
        let choice = NameChoice::Chosen(name(called));
        let new = NewMember::new(session, choice, MemberKind::Peer, 1);
        self.ask(None, Operation::Join(Box::new(new))).unwrap();
    }

    fn open_request(&mut self) {
        let open = Operation::Open {
            description: text(),
            context: None,
            to: None,
            nudge_ms: 3_600_000,
            ttl_ms: 86_400_000,
            lease_ms: Some(LEASE_MS),
            urgency: None,
        };
        let asker = self.track.asker;
        self.ask(Some(asker), open).unwrap();
    }

    /// The asker and the racer read their mail, so that it does not pile up.
    fn read_mail(&mut self, session: SessionId) {
        let call = CallId(self.dice.uuid());
        let pick = Pick::any(500, usize::MAX, usize::MAX);
        let take = Operation::Take { session, call, method: DeliveryMethod::Pull, pick };
        if self.ask(Some(session), take).is_ok() {
            drop(self.ask(Some(session), Operation::Settle { session, call, seen: true }));
        }
    }

    fn some_request(&mut self) -> Option<RequestId> {
        let open = self.replica.state.unanswered_requests();
        let ids: Vec<_> = open.map(|request| request.id.clone()).collect();
        let index = self.dice.below((ids.len() as u64).max(1));
        ids.get(usize::try_from(index).unwrap()).cloned()
    }

    fn take_part(&mut self) {
        let me = self.session;
        let Some(request) = self.some_request() else {
            return self.open_request();
        };
        match self.dice.below(20) {
            0..8 => {
                let call = CallId(self.dice.uuid());
                drop(self.ask(Some(me), Operation::Claim(request, call)));
            }
            8..13 => {
                let how = u8::try_from(self.dice.below(6)).unwrap();
                let heir = name(&format!("racer-{}", self.dice.below(RACERS)));
                let update = claim_update(how, &heir, u128::from(self.dice.throw()));
                let ends = matches!(update, ClaimUpdate::Complete(_) | ClaimUpdate::Fail(_));
                let done = self.ask(Some(me), Operation::UpdateClaim(request, update));
                if ends && done.is_ok() {
                    self.open_request();
                }
            }
            13 => {
                self.track.now.lock().unwrap().tick.ms += LEASE_MS / 3;
                self.track.now.lock().unwrap().wall_ms += 10_000;
                drop(self.ask(None, Operation::Due));
            }
            14 => {
                self.read_mail(me);
                self.read_mail(self.track.asker);
            }
            15..19 => {
                let lane = lane(u8::try_from(self.dice.below(2)).unwrap());
                let claims = self.dice.below(2) == 0;
                let how = if claims { Operation::ClaimLane } else { Operation::ReleaseLane };
                drop(self.ask(Some(me), how(lane)));
            }
            _ => {
                self.ask(None, Operation::Reap(vec![me.into()])).unwrap();
                self.session = SessionId(self.dice.uuid());
                self.join(self.session, &format!("racer-{}", self.number));
            }
        }
    }
}

fn from_env(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn whoever_races_for_requests_and_lanes_each_has_one_owner_and_no_fence_twice() {
    let seed = from_env("BRIDGE_RACE_SEED", u64::from(std::process::id()));
    let is_large = std::env::var("BRIDGE_CHAOS").is_ok_and(|size| size == "large");
    let rounds = from_env("BRIDGE_RACE_ROUNDS", if is_large { LARGE_ROUNDS } else { ROUNDS });
    println!("{RACERS} racers, {rounds} rounds each, BRIDGE_RACE_SEED={seed}");
    let begun = std::time::Instant::now();
    let now = Arc::new(Mutex::new(Now { wall_ms: 0, tick: Tick { boot: 1, ms: 1 } }));
    let clock = Arc::clone(&now);
    let store = Store::new(Arc::new(move || *clock.lock().unwrap()));
    let asker = SessionId(Dice(seed | 1).uuid());
    let track = Track { store, now, written: Mutex::default(), asker, played: AtomicU64::new(0) };
    let mut first = Racer::new(&track, RACERS, seed);
    first.join(asker, "asker");
    for _ in 0..REQUESTS {
        first.open_request();
    }
    std::thread::scope(|scope| {
        for number in 0..RACERS {
            let track = &track;
            scope.spawn(move || {
                let mut racer = Racer::new(track, number, seed);
                racer.join(racer.session, &format!("racer-{number}"));
                for _ in 0..rounds {
                    racer.take_part();
                }
                track.played.fetch_add(rounds, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(track.played.load(Ordering::Relaxed), RACERS * rounds, "all play to the end");
    let mut entries = std::mem::take(&mut *track.written.lock().unwrap());
    entries.sort_by_key(|entry| entry.seq);
    let mut ledger = Ledger::default();
    for entry in &entries {
        ledger.enter(entry);
    }
    ledger.check(&track.store.log().open().unwrap().state);
    let count = |is: fn(&Event) -> bool| {
        entries.iter().flat_map(|entry| &entry.events).filter(|event| is(event)).count()
    };
    let claims = count(|event| matches!(event, Event::RequestClaimed { .. }));
    let moved = count(|event| matches!(event, Event::RequestHandedOver { .. }));
    let reopened = count(|event| matches!(event, Event::RequestReopened { .. }));
    let released = count(|event| matches!(event, Event::RequestReopened { released: true, .. }));
    let deaths = count(|event| matches!(event, Event::MemberLeft { .. }));
    let lanes = count(|event| matches!(event, Event::LaneClaimed(_)));
    let leaves =
        |entry: &&Entry| entry.events.iter().any(|event| matches!(event, Event::MemberLeft { .. }));
    let of_dead = entries.iter().filter(leaves).flat_map(|entry| &entry.events);
    let of_dead = of_dead.filter(|event| matches!(event, Event::RequestReopened { .. })).count();
    let lapsed = reopened - released - of_dead;
    println!(
        "{claims} claims, {moved} handed over, {released} released, {lapsed} lapsed, {of_dead} lost by \
         {deaths} deaths, {lanes} lanes claimed in {} lines, {} s",
        entries.len(),
        begun.elapsed().as_secs()
    );
    assert!(claims > REQUESTS && reopened > 0 && lanes > 1);
}
