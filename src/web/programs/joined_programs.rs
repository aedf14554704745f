//! The memberships of programs: whoever writes through the API joins the team under the name of its key, as a peer whose presence this
//! process holds, and leaves when it no longer asks, when its key is revoked, or when the server ends. So no claim of a program outlives
//! the program and the server: leaving opens it again, and a server that is killed leaves presences that every other process reaps.
//!
//! The bus is open only as long as somebody has joined.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;

use crate::bus::rules::{Description, NameChoice, Refusal};
use crate::bus::state::AccessKey;
use crate::bus::storage::LogError;
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::domain::access_key::KeyScope;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::name::Name;
use crate::domain::{limits, wait_times};
use crate::sys::mutex::lock;
use crate::web::acts::{ActError, Surroundings};
use crate::web::gate::RequestRate;
use crate::web::programs::Program;

/// The programs that have joined. Cheap to clone.
#[derive(Clone)]
pub(in crate::web) struct JoinedPrograms {
    surroundings: Arc<dyn Surroundings>,
    /// Held while somebody joins or leaves, so that no program joins twice.
    joined: Arc<Mutex<Joined>>,
    /// How many event streams each has open.
    streams: Streams,
}

type Streams = Arc<std::sync::Mutex<BTreeMap<Name, usize>>>;

/// A sign of life of a program, as long as this lives: it has an event stream open.
pub(in crate::web) struct Staying {
    name: Name,
    streams: Streams,
}

impl Drop for Staying {
    fn drop(&mut self) {
        let mut streams = lock(&self.streams);
        if let Some(count) = streams.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                streams.remove(&self.name);
            }
        }
    }
}

#[derive(Default)]
struct Joined {
    /// Open while there are members.
    bus: Option<Bus>,
    members: BTreeMap<Name, Joiner>,
    /// How fast each may ask, also after it has left.
    rates: BTreeMap<Name, RequestRate>,
    /// Whether a task sees them leave.
    is_watched: bool,
    /// Whether the server has ended.
    is_over: bool,
}

/// A program that has joined.
struct Joiner {
    membership: Membership,
    /// The key with which it joined, which says what it is in the team.
    key: AccessKey,
    /// When it last asked for something.
    asked: Instant,
}

impl Joiner {
    /// Says whether it is in the team what a key says of it, or what another valid one does.
    fn is_as(&self, key: &AccessKey, bus: &Bus) -> bool {
        let same =
            |one: &AccessKey| (&one.roles, &one.traits) == (&self.key.roles, &self.key.traits);
        same(key) || bus.look(|state| state.key_of(&self.key.hash).is_some())
    }
}

/// Why a program is no member.
#[derive(Debug, thiserror::Error)]
pub(in crate::web) enum NotJoined {
    /// The bus cannot be opened.
    #[error(transparent)]
    Closed(#[from] ActError),
    #[error(transparent)]
    Bus(#[from] BusError),
    /// A live member of another process has its name.
    #[error("`{name}` is a live {kind} that is not this program")]
    Taken { name: Name, kind: &'static str },
    #[error("`{0}` asks for too much at once")]
    TooFast(Name),
    #[error("its key was revoked")]
    Revoked,
    #[error("the server ends")]
    Over,
}

impl JoinedPrograms {
    pub(in crate::web) fn none_yet(surroundings: Arc<dyn Surroundings>) -> Self {
        Self { surroundings, joined: Arc::default(), streams: Arc::default() }
    }

    /// Notes that a program follows what happens: it need not ask to stay a member.
    pub(in crate::web) fn stay(&self, name: &Name) -> Staying {
        *lock(&self.streams).entry(name.clone()).or_default() += 1;
        Staying { name: name.clone(), streams: Arc::clone(&self.streams) }
    }

    /// Returns the membership of a program, which joins if it has not yet, or has left.
    pub(in crate::web) async fn membership(
        &self,
        program: &Program,
    ) -> Result<Membership, NotJoined> {
        // A task of its own: a program that breaks its connection halfway must not leave a member whom nobody knows.
        let (programs, program) = (self.clone(), program.clone());
        let joining = tokio::spawn(async move { programs.found_or_joined(&program).await });
        joining.await.map_err(|_| BusError::Closed)?
    }

    async fn found_or_joined(&self, program: &Program) -> Result<Membership, NotJoined> {
        let name = &program.name;
        let mut joined = self.joined.lock().await;
        if joined.is_over {
            return Err(NotJoined::Over);
        }
        joined.check_rate(name)?;
        joined.forget_lost_bus();
        let open = joined.bus.clone();
        let bus = if let Some(bus) = open { bus } else { self.open().await? };
        joined.bus = Some(bus.clone());
        if !std::mem::replace(&mut joined.is_watched, true) {
            // Also before a failure, which leaves the bus open.
            tokio::spawn(self.clone().see_them_leave());
        }
        // It may have been revoked since the request began.
        bus.refresh()?;
        let key = bus.look(|state| state.key_of(&program.hash).map(|(_, key)| key.clone()));
        let Some(key) = key else { return Err(NotJoined::Revoked) };
        // What only a revoked key says of it ends with that key.
        if joined.members.get(name).is_some_and(|joiner| !joiner.is_as(&key, &bus))
            && let Some(before) = joined.members.remove(name)
        {
            part(before.membership).await;
        }
        if let Some(membership) = joined.present(name) {
            return Ok(membership);
        }
        joined.join(&bus, key).await
    }

    async fn open(&self) -> Result<Bus, NotJoined> {
        let surroundings = Arc::clone(&self.surroundings);
        let opened = tokio::task::spawn_blocking(move || surroundings.open_to_join()).await;
        Ok(opened.map_err(|_| BusError::Closed)??)
    }

    /// Records the death of members whose process has ended, as everybody does who opens the bus.
    pub(super) async fn record_deaths(&self) -> Result<(), NotJoined> {
        self.open().await?.close().await;
        Ok(())
    }

    /// Has those leave who have gone, until nobody is left.
    async fn see_them_leave(self) {
        loop {
            tokio::time::sleep(wait_times::PROGRAM_LOOK).await;
            let mut joined = self.joined.lock().await;
            let follows = |name: &Name| lock(&self.streams).contains_key(name);
            joined.part_with_the_gone(follows).await;
            if joined.members.is_empty() {
                joined.is_watched = false;
                joined.close().await;
                return;
            }
        }
    }

    /// Has a program leave at once, if it is there. If that cannot be written, it stays.
    pub(in crate::web) async fn leave(&self, name: Name) -> Result<(), BusError> {
        let programs = self.clone();
        // A task of its own, for the same reason.
        let leaving = tokio::spawn(async move {
            let mut joined = programs.joined.lock().await;
            joined.forget_lost_bus();
            if let Some(joiner) = joined.members.get(&name) {
                joiner.membership.leave_or_stay(Departure::Closed).await?;
                joined.members.remove(&name);
            }
            Ok(())
        });
        leaving.await.map_err(|_| BusError::Closed)?
    }

    /// Has all leave, and lets nobody in any more.
    pub(in crate::web) async fn end(&self) {
        let mut joined = self.joined.lock().await;
        joined.is_over = true;
        for joiner in std::mem::take(&mut joined.members).into_values() {
            part(joiner.membership).await;
        }
        joined.close().await;
    }
}

impl Joined {
    fn check_rate(&mut self, name: &Name) -> Result<(), NotJoined> {
        let rate = self.rates.entry(name.clone());
        let rate = rate.or_insert_with(|| RequestRate::new(limits::API_WRITES_PER_SECOND));
        if rate.takes(Instant::now()) { Ok(()) } else { Err(NotJoined::TooFast(name.clone())) }
    }

    /// Forgets a bus that was removed or is none of ours any more, with all that had joined it: another may have taken its place. A disk
    /// that fails for a moment ends no membership.
    fn forget_lost_bus(&mut self) {
        let is_lost = |bus: &Bus| {
            matches!(
                bus.refresh(),
                Err(BusError::Log(
                    LogError::Removed
                        | LogError::Newer
                        | LogError::Refused { .. }
                        | LogError::OtherMachine { .. }
                        | LogError::Gone
                ))
            )
        };
        let lost = self.bus.take_if(|bus| is_lost(bus));
        if let Some(bus) = lost {
            self.members.clear();
            // Whoever asks now does not wait for its end.
            tokio::spawn(async move { bus.close().await });
        }
    }

    /// Returns the membership of a program that is there.
    fn present(&mut self, name: &Name) -> Option<Membership> {
        let joiner = self.members.get_mut(name)?;
        if joiner.membership.check_live().is_err() {
            let gone = self.members.remove(name)?;
            gone.membership.bus().release(gone.membership.session());
            return None;
        }
        joiner.asked = Instant::now();
        Some(joiner.membership.clone())
    }

    /// Joins as the member that the bearer of a key is.
    async fn join(&mut self, bus: &Bus, key: AccessKey) -> Result<Membership, NotJoined> {
        let AccessKey { name, roles, traits, .. } = key.clone();
        bus.refresh()?;
        let holder = bus.look(|state| state.live(&name).map(|live| (live.id, live.kind.as_str())));
        if let Some((holder, kind)) = holder
            && bus.is_held(holder)
        {
            return Err(NotJoined::Taken { name, kind });
        }
        let joining = Joining {
            choice: NameChoice::Chosen(name.clone()),
            kind: MemberKind::Peer,
            roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
            description: Description { traits, ..Description::default() },
        };
        let membership = Membership::join_for_program(bus, joining).await;
        let membership = membership.map_err(|error| match error {
            BusError::Refused(Refusal::NameTaken { name, kind, .. }) => {
                NotJoined::Taken { name, kind }
            }
            error => error.into(),
        })?;
        let joiner = Joiner { membership: membership.clone(), key, asked: Instant::now() };
        self.members.insert(name, joiner);
        Ok(membership)
    }

    /// Has those leave who have not asked for long, and those without a key.
    async fn part_with_the_gone(&mut self, follows: impl Fn(&Name) -> bool) {
        self.forget_lost_bus();
        let Some(bus) = self.bus.clone() else { return };
        // What it has claimed ends with the last key that may claim, and its membership with the last one that makes a member.
        let has_key = |name: &Name, session| {
            bus.look(|state| {
                let keys = state.keys();
                let may =
                    |scope| keys.iter().any(|(_, key)| key.name == *name && key.allows(scope));
                let has_claims = || state.claimed_by(session).next().is_some();
                may(KeyScope::Write) || (may(KeyScope::Assign) && !has_claims())
            })
        };
        let now = Instant::now();
        let is_gone = |name: &Name, joiner: &mut Joiner| {
            if follows(name) {
                joiner.asked = now;
            }
            now.saturating_duration_since(joiner.asked) >= wait_times::PROGRAM_AWAY
                || !has_key(name, joiner.membership.session())
        };
        let gone: Vec<_> = self.members.extract_if(.., is_gone).collect();
        for (_, joiner) in gone {
            part(joiner.membership).await;
        }
    }

    async fn close(&mut self) {
        self.rates.clear();
        if let Some(bus) = self.bus.take() {
            bus.close().await;
        }
    }
}

async fn part(membership: Membership) {
    if let Err(error) = membership.leave(Departure::Closed).await {
        // Its presence is free, so others reap it.
        tracing::debug!(%error, "failed to leave the team as {}", membership.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_asks_too_fast_is_slowed_down_and_the_others_are_not() {
        let (mut joined, fast) = (Joined::default(), Name::parse("fast").unwrap());
        let passed = (0..10_000).filter(|_| joined.check_rate(&fast).is_ok()).count();
        assert!((80..10_000).contains(&passed), "{passed}");
        assert!(joined.check_rate(&Name::parse("other").unwrap()).is_ok());
    }
}
