//! Whether a model was shown the words that went into its turn: proven by its own words after them.
//!
//! An agent takes a text at once, and shows it to its model with the next request. What the model says until then belongs to a
//! request that was made without the text, and ends with the turn if that is cancelled or crashes. So what was steered is proven
//! by words behind the end of a tool call, with no other call running: these are a later request's. Where no call ends, only the
//! good end of the turn is left, after words of any kind: an agent begins a last request for what it has not yet shown. An agent
//! that asks for messages does so between two requests: the next words prove it.
//!
//! Some adapters say that a text is taken when it is only on its way into their program. There a call's end counts only some time
//! after that: the request behind a call that ends at once may have been made without the text.

use tokio::time::Instant;

use crate::domain::ids::CallId;

/// What has been put into a turn, and is not known to have been shown.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    given: Vec<DeliveredText>,
    /// Calls whose answers our tools gave before the last tool call ended: the next words prove that they were read.
    answered: Vec<CallId>,
    /// What has been proven, and the bus does not know yet.
    proven: Vec<CallId>,
}

#[derive(Debug)]
struct DeliveredText {
    call: CallId,
    stage: Stage,
    /// Whether the model has said anything since it was put there.
    spoken: bool,
}

/// How far a text has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The agent has not yet said that it takes it.
    Offered,
    /// The agent has it, from then on for sure; a request that was made without it may still run.
    Taken(Instant),
    /// The next request of the model is made with it, and its words are the proof.
    Next,
}

/// What an agent has said, as far as it proves anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sign {
    /// These are words of its model: a text, a thought, a plan, a new call.
    pub(crate) own: bool,
    /// A tool call has ended, and no other runs.
    pub(crate) calls_over: bool,
    /// A tool call has ended, and has not failed.
    pub(crate) ended_well: bool,
}

impl Proof {
    /// Notes what is offered to the agent.
    pub(crate) fn offer(&mut self, call: CallId) {
        self.give(call, Stage::Offered);
    }

    /// Notes what the agent has been given as the answer to its own question.
    pub(crate) fn answer(&mut self, call: CallId) {
        self.give(call, Stage::Next);
    }

    fn give(&mut self, call: CallId, stage: Stage) {
        let spoken = false;
        self.given.push(DeliveredText { call, stage, spoken });
    }

    /// Notes that the agent has taken what it was offered, for sure from then on.
    pub(crate) fn take(&mut self, call: CallId, since: Instant) {
        let mut given = self.given.iter_mut();
        if let Some(given) = given.find(|given| given.call == call) {
            given.stage = Stage::Taken(since);
        }
    }

    /// Forgets what the agent has not taken.
    pub(crate) fn withdraw(&mut self, call: CallId) {
        self.given.retain(|given| given.call != call);
    }

    /// Says whether it is open whether this was shown.
    pub(crate) fn is_open(&self, call: CallId) -> bool {
        self.given.iter().any(|given| given.call == call) || self.proven.contains(&call)
    }

    /// Notes the calls of our tools that have been answered, as a tool call has ended and no other runs.
    pub(crate) fn answered(&mut self, calls: impl IntoIterator<Item = CallId>) {
        let open: Vec<_> = calls.into_iter().filter(|call| !self.is_open(*call)).collect();
        self.answered = open;
    }

    /// Takes in what the agent says.
    pub(crate) fn hear(&mut self, sign: Sign, now: Instant) {
        if sign.own {
            for given in &mut self.given {
                given.spoken = true;
            }
            let next = |given: &mut DeliveredText| given.stage == Stage::Next;
            self.proven.extend(self.given.extract_if(.., next).map(|given| given.call));
            self.proven.append(&mut self.answered);
        }
        if sign.calls_over {
            for given in &mut self.given {
                if matches!(given.stage, Stage::Taken(since) if since <= now) {
                    given.stage = Stage::Next;
                }
            }
        }
    }

    /// Returns what has been proven since.
    pub(crate) fn proven(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.proven)
    }

    /// Takes in the end of the turn, a good one or another; returns what was not taken back by anybody, and whether it was shown.
    pub(crate) fn end(&mut self, good: bool) -> Vec<(CallId, bool)> {
        // These are the tools' to account for, which know more.
        self.answered.clear();
        let shown = |given: DeliveredText| {
            let by_its_end = good && given.spoken && matches!(given.stage, Stage::Taken(_));
            (given.call, by_its_end)
        };
        let proven = self.proven().into_iter().map(|call| (call, true));
        let over = |given: &mut DeliveredText| given.stage != Stage::Offered;
        let rest = self.given.extract_if(.., over).map(shown);
        proven.chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::wait_times;

    const CALL: CallId = CallId(Uuid::nil());
    const WORDS: Sign = Sign { own: true, calls_over: false, ended_well: false };
    const CALLS_OVER: Sign = Sign { own: false, calls_over: true, ended_well: true };

    fn taken() -> Proof {
        let mut proof = Proof::default();
        proof.offer(CALL);
        proof.take(CALL, Instant::now());
        proof
    }

    #[test]
    fn words_of_a_request_that_ran_already_prove_nothing() {
        let mut proof = taken();
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), []);
        assert_eq!(proof.end(false), [(CALL, false)], "the turn was cancelled");
    }

    #[test]
    fn words_behind_the_end_of_the_calls_are_the_proof() {
        let mut proof = taken();
        proof.hear(CALLS_OVER, Instant::now());
        assert_eq!(proof.proven(), []);
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), [CALL]);
        assert_eq!(proof.end(false), [], "it is known already");
    }

    #[test]
    fn a_call_that_ends_before_the_agent_has_taken_it_proves_nothing() {
        let mut proof = Proof::default();
        proof.offer(CALL);
        proof.hear(CALLS_OVER, Instant::now());
        proof.take(CALL, Instant::now());
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), []);
    }

    #[test]
    fn a_call_that_ends_while_it_may_be_on_its_way_proves_nothing() {
        let mut proof = Proof::default();
        let now = Instant::now();
        proof.offer(CALL);
        proof.take(CALL, now + wait_times::STEER_LAG);
        proof.hear(CALLS_OVER, now);
        proof.hear(WORDS, now + wait_times::STEER_LAG);
        assert_eq!(proof.proven(), []);
        proof.hear(CALLS_OVER, now + wait_times::STEER_LAG);
        proof.hear(WORDS, now + wait_times::STEER_LAG);
        assert_eq!(proof.proven(), [CALL]);
    }

    #[test]
    fn a_good_end_proves_what_words_followed_and_nothing_else() {
        let mut proof = taken();
        assert_eq!(proof.end(true), [(CALL, false)], "not a word");
        let mut proof = taken();
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.end(true), [(CALL, true)]);
    }

    #[test]
    fn the_next_words_prove_what_an_agent_asked_for_and_an_end_without_any_does_not() {
        let mut proof = Proof::default();
        proof.answer(CALL);
        assert!(proof.is_open(CALL));
        proof.hear(WORDS, Instant::now());
        assert!(proof.is_open(CALL), "the bus does not know it yet");
        assert_eq!(proof.proven(), [CALL]);
        proof.answer(CALL);
        proof.hear(CALLS_OVER, Instant::now());
        assert_eq!(proof.end(true), [(CALL, false)]);
    }

    #[test]
    fn words_prove_what_our_tools_answered_before() {
        let mut proof = Proof::default();
        proof.hear(CALLS_OVER, Instant::now());
        proof.answered([CALL]);
        assert!(!proof.is_open(CALL), "the next call proves it too");
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.end(false), [(CALL, true)]);
        proof.answered([CALL]);
        assert_eq!(proof.end(true), []);
    }

    #[test]
    fn what_is_on_its_way_stays_open_when_the_turn_ends() {
        let mut proof = Proof::default();
        proof.offer(CALL);
        assert_eq!(proof.end(true), []);
        assert!(proof.is_open(CALL));
        proof.withdraw(CALL);
        assert!(!proof.is_open(CALL));
    }
}
