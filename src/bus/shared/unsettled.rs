//! Acts of which nobody knows whether they took effect, because a server has not acknowledged them, or a disk failed to store them.
//!
//! Whoever does the same again within a while repeats the same command, by its id: so it takes effect once, however the first attempt ended.
//! This is for what would be there twice, such as a message, or would be refused the second time, such as the end of a claim. What says how
//! something shall stand, such as a claim, is decided anew each time: the answer to the first attempt may no longer be true. For that reason
//! the end of a claim is new once its member has claimed or ended something else.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::bus::rules::Operation;
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::sys::random_ids;

/// What a process tries in that time while its server is away; an entry takes less than 100 bytes.
const MOST: usize = 4_096;

tokio::task_local! {
    /// The name that a program has given to what it does.
    static NAMED: String;
}

/// Does something under a name that a repetition has as well, and nothing else, of whatever program.
pub(crate) async fn named_acts<F: Future>(name: String, work: F) -> F::Output {
    NAMED.scope(name, work).await
}

/// Who does something, and what. Equal acts are equal words; if they are named, those of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    by: Option<SessionId>,
    digest: [u8; 32],
    /// Whether it changes what its member owns.
    is_of_claims: bool,
}

impl Act {
    /// Returns the act of an operation; none if it is decided anew each time.
    pub(crate) fn of(by: Option<SessionId>, operation: &Operation) -> Option<Self> {
        if operation.is_decided_anew() {
            return None;
        }
        let words = format!("{operation:?}");
        let name = NAMED.try_with(String::clone).ok();
        let name = name.filter(|_| operation.is_what_was_asked_for());
        // A name is that of a program, which may have left since, and joined anew.
        let by = by.filter(|_| name.is_none());
        let digest = Sha256::digest(name.unwrap_or(words)).into();
        Some(Self { by, digest, is_of_claims: operation.changes_what_is_owned() })
    }
}

#[derive(Default)]
pub(crate) struct Unsettled(Mutex<VecDeque<(Act, CommandId, Instant)>>);

impl Unsettled {
    /// Begins an act, by the command of an earlier attempt whose outcome is unknown, if there is one.
    pub(crate) fn attempt(&self, act: Option<Act>) -> Attempt<'_> {
        let before = act.as_ref().and_then(|act| self.take(act));
        let id = before.unwrap_or_else(random_ids::command);
        Attempt { unsettled: self, act, id, is_settled: false }
    }

    /// Says whether no act is known whose outcome is unknown.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Takes the command of an earlier attempt at an act whose outcome is unknown, if there is one.
    pub(crate) fn take(&self, act: &Act) -> Option<CommandId> {
        let mut acts = lock(&self.0);
        acts.retain(|(.., since)| since.elapsed() < wait_times::REPEATED_WITHIN);
        let at = acts.iter().position(|(known, ..)| known == act)?;
        acts.remove(at).map(|(_, id, _)| id)
    }

    /// Notes that a member has changed what it owns: the same change as one before is another one now.
    pub(crate) fn forget_claims(&self, by: Option<SessionId>) {
        lock(&self.0).retain(|(act, ..)| by.is_none() || act.by != by || !act.is_of_claims);
    }

    /// Notes that nobody knows whether an act took effect.
    pub(crate) fn keep(&self, act: Act, id: CommandId) {
        let mut acts = lock(&self.0);
        while acts.len() >= MOST {
            acts.pop_front();
        }
        acts.push_back((act, id, Instant::now()));
    }
}

/// An act under way. Unless it is settled, the same act will be the same command: also if nobody waits for its outcome any longer.
pub(crate) struct Attempt<'a> {
    unsettled: &'a Unsettled,
    act: Option<Act>,
    id: CommandId,
    is_settled: bool,
}

impl Attempt<'_> {
    pub(crate) fn id(&self) -> CommandId {
        self.id
    }

    /// Notes that the outcome is known.
    pub(crate) fn settle(&mut self) {
        self.is_settled = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(act) = self.act.filter(|_| !self.is_settled) {
            self.unsettled.keep(act, self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::Body;
    use crate::domain::member::Label;

    fn words(by: Option<SessionId>, text: &str) -> Option<Act> {
        Act::of(by, &Operation::Broadcast(Body::Text(text.to_owned())))
    }

    #[test]
    fn the_same_act_of_the_same_member_is_the_same_command_until_its_outcome_is_known() {
        let (ann, ben) = (Some(random_ids::session()), Some(random_ids::session()));
        let unsettled = Unsettled::default();
        let id = unsettled.attempt(words(ann, "one")).id();
        for other in [words(ben, "one"), words(ann, "two")] {
            let mut attempt = unsettled.attempt(other);
            assert_ne!(attempt.id(), id);
            attempt.settle();
        }
        assert_eq!(unsettled.attempt(words(ann, "one")).id(), id, "its outcome is unknown still");
        let mut settled = unsettled.attempt(words(ann, "one"));
        assert_eq!(settled.id(), id);
        settled.settle();
        drop(settled);
        assert_ne!(unsettled.attempt(words(ann, "one")).id(), id);
    }

    #[test]
    fn what_says_how_something_shall_stand_is_decided_anew() {
        let lane = Label::parse("core").unwrap();
        for operation in [
            Operation::ClaimLane(lane.clone()),
            Operation::LeaveTopic(lane.clone()),
            Operation::FollowTopic(lane),
        ] {
            assert_eq!(Act::of(None, &operation), None, "{operation:?}");
        }
    }

    #[test]
    fn the_end_of_a_claim_is_another_one_once_its_member_has_changed_what_it_owns() {
        let unsettled = Unsettled::default();
        let by = Some(random_ids::session());
        let release = |by| Act::of(by, &Operation::ReleaseLane(Label::parse("core").unwrap()));
        let (id, said) =
            (unsettled.attempt(release(by)).id(), unsettled.attempt(words(by, "one")).id());
        unsettled.forget_claims(None);
        assert_eq!(unsettled.attempt(release(by)).id(), id, "somebody else has");
        unsettled.forget_claims(by);
        assert_ne!(unsettled.attempt(release(by)).id(), id);
        assert_eq!(unsettled.attempt(words(by, "one")).id(), said, "what it says is no claim");
    }

    #[tokio::test]
    async fn a_named_act_is_the_same_by_its_name_alone() {
        let act = async |name: &str, text: &str| {
            named_acts(name.to_owned(), async { words(None, text) }).await.unwrap()
        };
        assert_eq!(act("monday", "one").await, act("monday", "two").await);
        assert_ne!(act("monday", "one").await, act("tuesday", "one").await);
        assert_ne!(act("monday", "one").await, words(None, "one").unwrap());
        let lane = Operation::ReleaseLane(Label::parse("core").unwrap());
        let release = async { Act::of(None, &lane) };
        assert_eq!(named_acts("monday".to_owned(), release).await, Act::of(None, &lane));
        let by = Some(random_ids::session());
        let joined_anew = named_acts("monday".to_owned(), async { words(by, "one") }).await;
        assert_eq!(act("monday", "one").await, joined_anew.unwrap());
    }
}
