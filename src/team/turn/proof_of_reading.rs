//! Proves that a model was shown the text delivered into its turn: by its own output after the text.
//!
//! An agent accepts a text at once, and shows it to its model with the next request. Output until then belongs to a request that
//! was made without the text; if the turn is cancelled or crashes, the text may never be shown. So a steered text is proven by
//! output after the end of a tool call, with no other call running: that output belongs to a later request. If no call ends, only a
//! good end of the turn proves it, after output of any kind: an agent makes a last request for a text that it has not shown yet. An
//! agent that drains does so between two requests, so its next output is the proof.
//!
//! Some adapters report a text as taken while it is still on the way into their program. For these a call's end counts only some
//! time later: the request after a call that ends at once may have been made without the text.

use tokio::time::Instant;

use crate::domain::ids::CallId;

/// The texts delivered into a turn that are not known to have been shown.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    given: Vec<DeliveredText>,
    /// Calls that our tools answered before the last tool call ended. The next output proves that their answers were read.
    answered: Vec<CallId>,
    /// Proven calls that the bus does not know yet.
    proven: Vec<CallId>,
}

#[derive(Debug)]
struct DeliveredText {
    call: CallId,
    stage: Stage,
    /// Whether the model has produced output since the delivery.
    spoken: bool,
}

/// How far the delivery of a text has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The agent has not accepted it yet.
    Offered,
    /// The agent certainly has it from this time on. A request that was made without it may still run.
    Taken(Instant),
    /// The model's next request includes it, and the output of that request is the proof.
    Next,
}

/// What an update proves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sign {
    /// It is output of the model: a text, a thought, a plan, a new call.
    pub(crate) own: bool,
    /// A tool call ended, and no other runs.
    pub(crate) calls_over: bool,
    /// A tool call ended without failing.
    pub(crate) ended_well: bool,
}

impl Proof {
    /// Notes a text that is offered to the agent.
    pub(crate) fn offer(&mut self, call: CallId) {
        self.give(call, Stage::Offered);
    }

    /// Notes a text that the agent received as the answer to its own request.
    pub(crate) fn answer(&mut self, call: CallId) {
        self.give(call, Stage::Next);
    }

    fn give(&mut self, call: CallId, stage: Stage) {
        let spoken = false;
        self.given.push(DeliveredText { call, stage, spoken });
    }

    /// Notes that the agent has accepted an offered text, and certainly has it from `since` on.
    pub(crate) fn take(&mut self, call: CallId, since: Instant) {
        let mut given = self.given.iter_mut();
        if let Some(given) = given.find(|given| given.call == call) {
            given.stage = Stage::Taken(since);
        }
    }

    /// Forgets a text that the agent did not accept.
    pub(crate) fn withdraw(&mut self, call: CallId) {
        self.given.retain(|given| given.call != call);
    }

    /// Returns whether it is still unknown if this text was shown.
    pub(crate) fn is_open(&self, call: CallId) -> bool {
        self.given.iter().any(|given| given.call == call) || self.proven.contains(&call)
    }

    /// Notes the answered calls of our tools, now that a tool call has ended and no other runs.
    pub(crate) fn answered(&mut self, calls: impl IntoIterator<Item = CallId>) {
        let open: Vec<_> = calls.into_iter().filter(|call| !self.is_open(*call)).collect();
        self.answered = open;
    }

    /// Handles a sign of the agent.
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

    /// Returns the calls proven since the last look.
    pub(crate) fn proven(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.proven)
    }

    /// Ends the turn; `good` says whether it ended well. Returns the texts that were not withdrawn, and whether each was shown.
    pub(crate) fn end(&mut self, good: bool) -> Vec<(CallId, bool)> {
        // The end of the turn settles the tools' own calls, with better knowledge.
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
    fn output_of_a_request_that_ran_already_proves_nothing() {
        let mut proof = taken();
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), []);
        assert_eq!(proof.end(false), [(CALL, false)], "the turn was cancelled");
    }

    #[test]
    fn output_after_the_end_of_the_calls_is_the_proof() {
        let mut proof = taken();
        proof.hear(CALLS_OVER, Instant::now());
        assert_eq!(proof.proven(), []);
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), [CALL]);
        assert_eq!(proof.end(false), [], "it is known already");
    }

    #[test]
    fn a_call_that_ends_before_the_agent_accepts_the_text_proves_nothing() {
        let mut proof = Proof::default();
        proof.offer(CALL);
        proof.hear(CALLS_OVER, Instant::now());
        proof.take(CALL, Instant::now());
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.proven(), []);
    }

    #[test]
    fn a_call_that_ends_while_the_text_may_be_on_the_way_proves_nothing() {
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
    fn a_good_end_proves_only_texts_that_output_followed() {
        let mut proof = taken();
        assert_eq!(proof.end(true), [(CALL, false)], "not a word");
        let mut proof = taken();
        proof.hear(WORDS, Instant::now());
        assert_eq!(proof.end(true), [(CALL, true)]);
    }

    #[test]
    fn the_next_output_proves_a_drained_text_and_an_end_without_output_does_not() {
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
    fn output_proves_earlier_answers_of_our_tools() {
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
    fn a_text_on_the_way_stays_open_when_the_turn_ends() {
        let mut proof = Proof::default();
        proof.offer(CALL);
        assert_eq!(proof.end(true), []);
        assert!(proof.is_open(CALL));
        proof.withdraw(CALL);
        assert!(!proof.is_open(CALL));
    }
}
