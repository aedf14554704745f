//! The places of connections. When all are taken, the connection that has been idle the longest gives its place to a new one: it has no
//! request, or not a whole one, so nobody loses an answer, and whoever only holds connections open keeps nobody out.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::sys::mutex::lock;

/// A connection that was answered is not idle before: the answer may still be on the way.
const IDLE_AFTER: Duration = Duration::from_millis(500);

/// The places of a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct ConnectionPlaces {
    most: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    places: Vec<Occupied>,
    next: u64,
}

struct Occupied {
    number: u64,
    /// How many of its requests are being answered.
    requests: usize,
    /// When it was last answered, or taken.
    since: Instant,
    has_answered: bool,
    is_lost: CancellationToken,
}

/// A place, until it is dropped.
pub(super) struct Place {
    number: u64,
    taken: Arc<Mutex<Taken>>,
    is_lost: CancellationToken,
}

/// A request that is being answered, until it is dropped.
pub(super) struct Answering {
    number: u64,
    taken: Arc<Mutex<Taken>>,
}

impl ConnectionPlaces {
    pub(super) fn of(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a place; none if all are taken by connections at work.
    pub(super) fn take(&self, now: Instant) -> Option<Place> {
        let mut taken = lock(&self.taken);
        if taken.places.len() >= self.most {
            let idle = taken.places.iter().enumerate().filter(|(_, one)| one.is_idle(now));
            let (longest, _) = idle.min_by_key(|(_, one)| one.since)?;
            taken.places.swap_remove(longest).is_lost.cancel();
        }
        let number = taken.next;
        taken.next += 1;
        let is_lost = CancellationToken::new();
        let one = Occupied {
            number,
            requests: 0,
            since: now,
            has_answered: false,
            is_lost: is_lost.clone(),
        };
        taken.places.push(one);
        Some(Place { number, taken: Arc::clone(&self.taken), is_lost })
    }
}

impl Occupied {
    fn is_idle(&self, now: Instant) -> bool {
        let is_done = !self.has_answered || now.saturating_duration_since(self.since) >= IDLE_AFTER;
        self.requests == 0 && is_done
    }
}

impl Taken {
    fn find(&mut self, number: u64) -> Option<&mut Occupied> {
        self.places.iter_mut().find(|one| one.number == number)
    }
}

impl Place {
    /// Ends when another connection has this place.
    pub(super) async fn lost(&self) {
        self.is_lost.cancelled().await;
    }

    /// Notes a request, which is answered until the answer is dropped.
    pub(super) fn answering(&self) -> Answering {
        if let Some(one) = lock(&self.taken).find(self.number) {
            one.requests += 1;
        }
        Answering { number: self.number, taken: Arc::clone(&self.taken) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.taken).places.retain(|one| one.number != self.number);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(one) = lock(&self.taken).find(self.number) {
            one.requests = one.requests.saturating_sub(1);
            one.since = Instant::now();
            one.has_answered = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_is_idle_the_longest_gives_its_place() {
        let places = ConnectionPlaces::of(3);
        let began = Instant::now();
        let at = |second| began + Duration::from_secs(second);
        let busy = places.take(at(0)).unwrap();
        let request = busy.answering();
        let (first, second) = (places.take(at(1)).unwrap(), places.take(at(2)).unwrap());
        let third = places.take(at(3)).unwrap();
        assert!(first.is_lost.is_cancelled() && !second.is_lost.is_cancelled());
        // Whoever has lost its place takes no other one with it.
        drop(first);
        let fourth = places.take(at(4)).unwrap();
        assert!(second.is_lost.is_cancelled() && !third.is_lost.is_cancelled());
        let requests = [third.answering(), fourth.answering()];
        assert!(places.take(at(5)).is_none(), "all are at work");
        assert!(!busy.is_lost.is_cancelled());
        drop(requests);
        assert!(places.take(Instant::now()).is_none(), "their answers may be on the way");
        drop(fourth);
        assert!(places.take(at(5)).is_some());
        drop(request);
    }
}
