//! Unheard claims of agents: they depend on the answer of the claiming call.

use super::super::*;
use crate::domain::messaging::RequestStatus;
use crate::domain::wait_times;

/// An agent that has claimed a request by a call, with its bridge, the requester, and another member that could claim it.
struct ClaimedByCall {
    world: World,
    lead: SessionId,
    agent: SessionId,
    other: SessionId,
    request: RequestId,
    call: CallId,
}

fn claimed() -> ClaimedByCall {
    let mut world = World::new();
    let (lead, asker, other) = (world.lead(), world.peer("asker"), world.peer("other"));
    let agent = world.agent(lead, "codex");
    let request = world.open(asker);
    let call = world.call();
    world.ask(agent, Operation::Claim(request.clone(), call));
    ClaimedByCall { world, lead, agent, other, request, call }
}

impl ClaimedByCall {
    fn end_turn(&mut self) -> Vec<Event> {
        self.world.ask(self.lead, Operation::EndCalls(self.agent))
    }

    #[track_caller]
    fn check(&self, expected: RequestStatus) {
        let request = self.world.state.request(&self.request).unwrap();
        assert_eq!(request.status, expected);
    }
}

#[test]
fn an_unheard_claim_ends_with_the_turn() {
    let mut claimed = claimed();
    let events = claimed.end_turn();
    claimed.check(RequestStatus::Open);
    let notices = notices(&events, "asker");
    assert!(notices[0].contains("may not have received the answer to its claim"), "{notices:?}");
    assert!(claimed.end_turn().is_empty(), "once");
    let (other, request) = (claimed.other, claimed.request.clone());
    claimed.world.ask(other, Operation::Claim(request, CALL));
    claimed.check(RequestStatus::Claimed);
    assert!(claimed.end_turn().is_empty(), "another member has claimed it");
}

#[test]
fn a_claim_without_a_written_answer_ends_at_the_deadline_of_a_delivery() {
    let mut claimed = claimed();
    claimed.world.pass(wait_times::HANDED_MS - 1);
    assert!(claimed.world.due().is_empty());
    claimed.world.pass(1);
    claimed.world.due();
    claimed.check(RequestStatus::Open);
    claimed.world.pass(wait_times::HANDED_MS);
    claimed.world.due();
    claimed.check(RequestStatus::Open);
}

#[test]
fn an_agent_that_knows_of_its_claim_may_work_in_silence_without_limit() {
    let mut claimed = claimed();
    let (agent, call) = (claimed.agent, claimed.call);
    claimed.world.send(claimed.other, "codex", "x");
    let take =
        Operation::Take { session: agent, call, method: DeliveryMethod::Piggyback, pick: all() };
    claimed.world.ask(agent, take);
    assert_eq!(claimed.world.ask(agent, Operation::AnswerWritten(call)).len(), 1);
    claimed.world.pass(wait_times::HANDED_MS);
    claimed.world.due();
    assert!(claimed.world.held(agent, call).is_empty());
    claimed.check(RequestStatus::Claimed);
    assert!(claimed.world.state.is_written(agent, call));
    claimed.world.settle(agent, call, true);
    claimed.end_turn();
    claimed.check(RequestStatus::Claimed);
}

#[test]
fn a_claim_stays_when_a_later_call_or_the_turn_proves_its_answer() {
    let mut by_turn = claimed();
    let settle = Operation::Settle { session: by_turn.agent, call: by_turn.call, seen: true };
    by_turn.world.ask(by_turn.lead, settle);
    let mut by_call = claimed();
    let mut later = by_call.world.command(by_call.agent, Operation::Received);
    later.received = vec![by_call.call];
    by_call.world.run(&later).unwrap();
    for claimed in [&mut by_turn, &mut by_call] {
        claimed.world.pass(wait_times::HANDED_MS);
        claimed.world.due();
        claimed.end_turn();
        claimed.check(RequestStatus::Claimed);
    }
}

#[test]
fn a_claim_stays_when_its_agent_writes_about_the_request() {
    let by_request = |claimed: &ClaimedByCall| claimed.request.to_string();
    let by_message = |claimed: &ClaimedByCall| claimed.world.shown(&claimed.request).to_string();
    let cases: [&dyn Fn(&ClaimedByCall) -> String; 2] = [&by_request, &by_message];
    for reply_to in cases {
        let mut claimed = claimed();
        let (agent, call, reply_to) = (claimed.agent, claimed.call, reply_to(&claimed));
        claimed.world.ask(agent, Operation::AnswerWritten(call));
        claimed.world.reply(agent, "other", &reply_to);
        claimed.end_turn();
        claimed.check(RequestStatus::Claimed);
        claimed.world.reply(agent, "asker", &reply_to);
        claimed.check(RequestStatus::Completed);
    }
}

#[test]
fn a_reply_to_a_request_does_not_prove_a_claim_whose_answer_was_not_written() {
    let mut claimed = claimed();
    let (agent, reply_to) = (claimed.agent, claimed.request.to_string());
    let events = claimed.world.ask(agent, sending("other", "what is it?", Some(&reply_to)));
    assert_eq!(events.len(), 1, "{events:?}");
    claimed.end_turn();
    claimed.check(RequestStatus::Open);
}

#[test]
fn a_reply_to_a_request_proves_its_claim_but_not_the_messages_that_came_with_it() {
    let mut claimed = claimed();
    let (agent, call) = (claimed.agent, claimed.call);
    let beside = claimed.world.send(claimed.other, "codex", "x");
    let take =
        Operation::Take { session: agent, call, method: DeliveryMethod::Piggyback, pick: all() };
    claimed.world.ask(agent, take);
    assert_eq!(claimed.world.held(agent, call), std::slice::from_ref(&beside));
    claimed.world.ask(agent, Operation::AnswerWritten(call));
    let reply_to = claimed.request.to_string();
    claimed.world.reply(agent, "other", &reply_to);
    assert_eq!(claimed.world.held(agent, call), std::slice::from_ref(&beside));
    let again = claimed.world.command(agent, sending("other", "y", Some(&reply_to)));
    let events = claimed.world.run(&again).unwrap();
    assert_eq!(events.len(), 1, "it is known by now: {events:?}");
    claimed.end_turn();
    assert_eq!(claimed.world.unread("codex"), [beside]);
    claimed.check(RequestStatus::Claimed);
}

#[test]
fn the_last_of_several_claiming_calls_decides() {
    for is_heard in [true, false] {
        let mut claimed = claimed();
        let (agent, first) = (claimed.agent, claimed.call);
        let second = claimed.world.call();
        let again = Operation::Claim(claimed.request.clone(), second);
        claimed.world.ask(agent, again);
        claimed.world.settle(agent, first, !is_heard);
        claimed.check(RequestStatus::Claimed);
        claimed.world.settle(agent, second, is_heard);
        claimed.end_turn();
        claimed.check(if is_heard { RequestStatus::Claimed } else { RequestStatus::Open });
    }
}

#[test]
fn a_call_that_proves_the_claim_and_claims_again_leaves_it_proven() {
    let mut claimed = claimed();
    let call = claimed.world.call();
    let again = Operation::Claim(claimed.request.clone(), call);
    let mut again = claimed.world.command(claimed.agent, again);
    again.received = vec![claimed.call];
    claimed.world.run(&again).unwrap();
    claimed.end_turn();
    claimed.check(RequestStatus::Claimed);
}

#[test]
fn an_agent_that_leaves_or_answers_leaves_nothing_of_its_claim_behind() {
    let mut left = claimed();
    left.world.leave(left.agent);
    left.check(RequestStatus::Open);
    let mut answered = claimed();
    let (agent, request) = (answered.agent, answered.request.to_string());
    answered.world.reply(agent, "asker", &request);
    answered.check(RequestStatus::Completed);
    for claimed in [&mut left, &mut answered] {
        claimed.world.pass(wait_times::HANDED_MS);
        let events = claimed.world.due();
        let is_of_call = |event: &Event| matches!(event, Event::MessageReturned { .. });
        assert!(!events.iter().any(is_of_call), "{events:?}");
    }
    answered.check(RequestStatus::Completed);
}

#[test]
fn a_call_holds_something_only_after_its_claim_or_its_delivery() {
    let mut claimed = claimed();
    let (agent, call) = (claimed.agent, claimed.call);
    let begun = claimed.world.now.tick.ms;
    let holds_by = |world: &World, ms| world.state.held_by(agent, call, ms);
    assert!(!holds_by(&claimed.world, begun - 1));
    assert!(holds_by(&claimed.world, begun));

    claimed.world.pass(1_000);
    let (world, from) = (&mut claimed.world, claimed.other);
    world.send(from, "codex", "words");
    let take =
        Operation::Take { session: agent, call, method: DeliveryMethod::Piggyback, pick: all() };
    world.ask(agent, take);
    assert!(!holds_by(&claimed.world, begun), "it has got a message since");
    assert!(holds_by(&claimed.world, claimed.world.now.tick.ms));
}
