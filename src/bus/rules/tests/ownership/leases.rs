//! Leases: a claim lasts as long as its owner gives signs.

use super::super::notices as all_notices;
use super::super::*;
use crate::bus::state::Due;
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::messaging::{DeliveryMethod, RequestStatus};
use crate::domain::time::Tick;

const LEASE_MS: u64 = 300_000;

/// A request with a lease that a peer has claimed.
struct Leased {
    world: World,
    asker: SessionId,
    owner: SessionId,
    request: RequestId,
}

fn leased() -> Leased {
    let mut world = World::new();
    let (asker, owner) = (world.peer("asker"), world.peer("owner"));
    world.peer("other");
    let request = world.open_leased(asker, Some(LEASE_MS));
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    Leased { world, asker, owner, request }
}

impl Leased {
    #[track_caller]
    fn check(&self, expected: RequestStatus) {
        assert_eq!(self.world.state.request(&self.request).unwrap().status, expected);
    }

    /// Lets time pass and writes what is due then.
    fn pass(&mut self, ms: u64) -> Vec<Event> {
        self.world.pass(ms);
        self.world.due()
    }
}

#[test]
fn a_silent_owner_is_reminded_at_two_thirds_and_loses_its_claim_at_the_end() {
    let mut leased = leased();
    assert!(leased.pass(LEASE_MS * 2 / 3 - 1).is_empty());
    let reminded = leased.pass(1);
    assert!(matches!(reminded[0], Event::RequestReminded { .. }), "{reminded:?}");
    let notices = all_notices(&reminded, "owner");
    assert!(notices[0].contains("in 100 s it is offered to others again"), "{notices:?}");
    leased.check(RequestStatus::Claimed);
    assert!(leased.pass(LEASE_MS / 3 - 1).is_empty(), "it is reminded once");
    let lapsed = leased.pass(1);
    leased.check(RequestStatus::Open);
    let notices = all_notices(&lapsed, "asker");
    assert!(notices[0].contains("gave no sign in the time of its lease"), "{notices:?}");
    assert!(leased.world.state.claimed_by(leased.owner).next().is_none());
    let again = Operation::Claim(leased.request.clone(), CALL);
    let owner = leased.owner;
    leased.world.ask(owner, again);
    leased.check(RequestStatus::Claimed);
}

#[test]
fn a_sign_of_the_owner_writes_nothing_and_moves_the_end() {
    let mut leased = leased();
    leased.pass(100_000);
    let owner = leased.owner;
    let events = leased.world.ask(owner, Operation::Stir(owner));
    assert_eq!(events.len(), 1, "the sign itself: {events:?}");
    let due = leased.pass(100_000);
    let renewed = [Event::RequestRenewed { id: leased.request.clone(), left_ms: 100_000 }];
    assert_eq!(due, renewed, "the lease counts from the sign");
    assert!(matches!(leased.pass(100_000)[0], Event::RequestReminded { .. }));
    leased.world.ask(owner, Operation::Stir(owner));
    let due = leased.pass(LEASE_MS / 3);
    assert!(matches!(due[..], [Event::RequestRenewed { .. }]), "a late sign is one: {due:?}");
    leased.check(RequestStatus::Claimed);
}

#[test]
fn a_wait_is_a_sign_as_long_as_it_lasts() {
    let mut leased = leased();
    leased.pass(LEASE_MS * 2 / 3 - 1_000);
    let owner = leased.owner;
    leased.world.wait(owner);
    let due = leased.pass(1_000);
    let whole = LEASE_MS * 2 / 3;
    assert_eq!(due, [Event::RequestRenewed { id: leased.request.clone(), left_ms: whole }]);
}

#[test]
fn the_lease_of_an_agent_stands_still_in_its_turns() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("asker"));
    let agent = world.agent(lead, "codex");
    let request = world.open_leased(asker, Some(LEASE_MS));
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task));
    world.ask(agent, Operation::Claim(request.clone(), CALL));
    let heard = Operation::Settle { session: agent, call: CALL, seen: true };
    world.ask(lead, heard);
    for _ in 0..5 {
        world.pass(LEASE_MS * 2);
        world.due();
    }
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
    world.ask(lead, Operation::Activity { session: agent, activity: Activity::Idle });
    world.pass(LEASE_MS * 2 / 3);
    world.due();
    world.pass(LEASE_MS / 3);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Open);
}

#[test]
fn a_lease_keeps_what_is_left_of_it_over_a_reboot() {
    let mut leased = leased();
    leased.pass(100_000);
    let asker = leased.asker;
    leased.world.send(asker, "other", "good night");
    leased.world.now.tick = Tick { boot: 2, ms: 5 };
    leased.world.send(asker, "other", "good morning");
    assert!(leased.pass(LEASE_MS / 3 - 1).is_empty());
    assert!(matches!(leased.pass(1)[0], Event::RequestReminded { .. }));
}

#[test]
fn a_claim_of_a_request_without_a_lease_lasts_as_long_as_its_session() {
    let mut world = World::new();
    let (asker, owner) = (world.peer("asker"), world.peer("owner"));
    let request = world.open(asker);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    world.pass(30 * 24 * 3_600_000);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
    assert!(!world.state.timers.runs(&Due::Lease(request)));
}

#[test]
fn a_request_that_loses_its_third_owner_fails() {
    let mut world = World::new();
    let asker = world.peer("asker");
    let request = world.open_leased(asker, Some(LEASE_MS));
    for lost in 1..=limits::LOST_OWNERS {
        let owner = world.peer("owner");
        world.ask(owner, Operation::Claim(request.clone(), CALL));
        world.reap(&[owner]);
        let now = world.state.request(&request).unwrap();
        let last = lost == limits::LOST_OWNERS;
        let expected = if last { RequestStatus::Failed } else { RequestStatus::Open };
        assert_eq!((now.status, now.lost_owners), (expected, lost.min(limits::LOST_OWNERS - 1)));
    }
    let said: Vec<_> = world.state.unread(&name("asker")).map(|one| one.kind).collect();
    assert_eq!(said.last(), Some(&MessageKind::Notice), "{said:?}");
}

#[test]
fn the_lease_stands_still_in_a_turn_for_messages_too_and_runs_again_after_a_restart() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("asker"));
    let agent = world.agent(lead, "codex");
    let request = world.open_leased(asker, Some(LEASE_MS));
    world.ask(agent, Operation::Claim(request.clone(), CALL));
    let heard = Operation::Settle { session: agent, call: CALL, seen: true };
    world.ask(lead, heard);
    let due = Due::Lease(request.clone());
    assert!(world.state.timers.runs(&due));
    world.send(asker, "codex", "how far are you?");
    let call = world.call();
    let prompt =
        Operation::Take { session: agent, call, method: DeliveryMethod::Prompt, pick: all() };
    world.ask(lead, prompt);
    assert!(!world.state.timers.runs(&due), "a prompt begins a turn");
    let crash = Operation::Crash {
        session: agent,
        detail: "exit code 7".into(),
        task: crate::bus::rules::Broken::Kept,
    };
    world.ask(lead, crash);
    let other = world.peer("other");
    world.ask(other, Operation::Claim(request.clone(), CALL));
    let over = crate::bus::rules::ClaimUpdate::HandOver { to: "codex".into(), content: None };
    world.ask(other, Operation::UpdateClaim(request, over));
    assert!(!world.state.timers.runs(&due), "it is starting");
    world.ready(lead, agent);
    assert!(world.state.timers.runs(&due));
}

#[test]
fn a_clock_that_is_set_ahead_costs_an_owner_nothing_that_gives_signs() {
    let mut leased = leased();
    let owner = leased.owner;
    leased.pass(100_000);
    leased.world.ask(owner, Operation::Stir(owner));
    leased.world.now.wall_ms += 3_600_000;
    let due = leased.pass(100_000);
    let whole = LEASE_MS * 2 / 3;
    assert_eq!(due, [Event::RequestRenewed { id: leased.request.clone(), left_ms: whole }]);
    assert!(
        matches!(leased.pass(whole)[0], Event::RequestReminded { .. }),
        "and then it is silent"
    );
}

#[test]
fn what_a_bridge_writes_for_its_orchestrator_is_no_sign_of_the_model() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("asker"));
    let agent = world.agent(lead, "codex");
    let request = world.open_leased(asker, Some(LEASE_MS));
    world.ask(lead, Operation::Claim(request.clone(), CALL));
    // Its model calls a tool in the first minute, and then never again, while its bridge watches an agent.
    world.pass(60_000);
    world.ask(lead, Operation::Stir(lead));
    for _ in 0..5 {
        for activity in [Activity::Running, Activity::Idle] {
            world.pass(30_000);
            world.due();
            world.ask(lead, Operation::Activity { session: agent, activity });
        }
    }
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
    world.pass(60_000);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Open, "it lapses");
}

#[test]
fn a_claim_is_itself_a_sign_of_an_orchestrators_model() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("asker"));
    world.ask(lead, Operation::Stir(lead));
    world.pass(LEASE_MS * 10);
    let request = world.open_leased(asker, Some(LEASE_MS));
    world.ask(lead, Operation::Claim(request.clone(), CALL));
    world.pass(LEASE_MS - 1);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
    // So is a hook that brings it a message.
    world.send(asker, "orchestrator", "how far are you?");
    let call = world.call();
    let take = Operation::Take { session: lead, call, method: DeliveryMethod::Hook, pick: all() };
    world.ask(lead, take);
    world.pass(LEASE_MS / 2);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
    world.pass(LEASE_MS / 2);
    world.due();
    world.pass(LEASE_MS);
    world.due();
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Open);
}
