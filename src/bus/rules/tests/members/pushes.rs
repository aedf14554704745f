//! Pushes: nobody confirms one, so only what names its message proves it, and it is unread again after a minute.

use super::super::*;
use crate::bus::event::TaskReport;
use crate::bus::rules::Ending;
use crate::domain::messaging::Acknowledgement;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;

/// A message to `b` that was pushed into its session.
struct Pushed {
    world: World,
    from: SessionId,
    to: SessionId,
    id: MessageId,
    call: CallId,
}

impl Pushed {
    fn new() -> Self {
        let mut world = World::new();
        let (from, to) = (world.peer("a"), world.peer("b"));
        let id = world.send(from, "b", "look");
        let call = world.call();
        let method = DeliveryMethod::Channel;
        world.ask(to, Operation::Take { session: to, call, method, pick: all() });
        assert_eq!(world.held(to, call), std::slice::from_ref(&id));
        Self { world, from, to, id, call }
    }

    fn delivery(&self) -> Delivery {
        self.world.delivery(&self.id, "b").unwrap()
    }

    /// A minute passes.
    fn lose(&mut self) {
        self.world.pass(wait_times::PUSHED_MS);
        self.world.due();
    }
}

#[test]
fn a_push_that_nothing_proves_is_unread_again_after_a_minute() {
    let mut pushed = Pushed::new();
    pushed.world.pass(wait_times::PUSHED_MS - 1);
    pushed.world.due();
    assert!(matches!(pushed.delivery(), Delivery::InFlight { .. }));
    pushed.world.pass(1);
    pushed.world.due();
    assert_eq!(pushed.delivery(), Delivery::Unread { last: Some((pushed.to, pushed.call)) });
    let (_, again) = pushed.world.take(pushed.to);
    assert_eq!(again, [pushed.id]);
}

#[test]
fn other_calls_prove_no_push() {
    let mut pushed = Pushed::new();
    let (to, from) = (pushed.to, pushed.from);
    let other = pushed.world.send(to, "a", "about something else");
    pushed.world.take(to);
    pushed.world.ask(to, Operation::Named(other));
    pushed.world.reply(from, "b", &pushed.id.to_string());
    assert!(matches!(pushed.delivery(), Delivery::InFlight { .. }));
}

#[test]
fn a_reply_proves_a_push() {
    let mut pushed = Pushed::new();
    pushed.world.reply(pushed.to, "a", &pushed.id.to_string());
    assert_eq!(pushed.delivery(), Delivery::Seen);
}

#[test]
fn a_late_reply_proves_a_push_too() {
    let mut pushed = Pushed::new();
    pushed.lose();
    pushed.world.reply(pushed.to, "a", &pushed.id.to_string());
    assert_eq!(pushed.delivery(), Delivery::Seen);
    assert!(pushed.world.unread("b").is_empty());
}

#[test]
fn reading_it_by_its_id_proves_a_push() {
    for is_late in [false, true] {
        let mut pushed = Pushed::new();
        if is_late {
            pushed.lose();
        }
        let named = Operation::Named(pushed.id.clone());
        pushed.world.ask(pushed.to, named.clone());
        assert_eq!(pushed.delivery(), Delivery::Seen);
        assert!(pushed.world.ask(pushed.to, named).is_empty(), "once");
    }
}

#[test]
fn acknowledging_proves_a_push() {
    let mut pushed = Pushed::new();
    let (ids, status) = (vec![pushed.id.clone()], Acknowledgement::Acked);
    pushed.world.ask(pushed.to, Operation::Acknowledge { ids, status, note: None });
    assert_eq!(pushed.delivery(), Delivery::Acknowledged(status));
}

#[test]
fn the_owner_of_a_request_proves_its_push_by_its_answer() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let request = world.open(a);
    let (call, method) = (world.call(), DeliveryMethod::Channel);
    world.ask(b, Operation::Take { session: b, call, method, pick: all() });
    world.ask(b, Operation::Claim(request.clone(), CALL));
    let shown = world.shown(&request);
    world.reply(b, "a", &request.to_string());
    assert_eq!(world.delivery(&shown, "b"), Some(Delivery::Seen));
}

#[test]
fn the_result_of_a_task_stands_for_the_pushed_notice_of_its_end() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(id.clone()));
    let ending = Ending {
        status: TaskStatus::Done,
        output: text("fine"),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    };
    let events = world.ask(lead, Operation::FinishTask(id.clone(), Box::new(ending)));
    let notice = sent(&events).id.clone();
    let (push, method) = (world.call(), DeliveryMethod::Channel);
    world.ask(lead, Operation::Take { session: lead, call: push, method, pick: all() });
    assert_eq!(world.held(lead, push), std::slice::from_ref(&notice));
    let result = world.call();
    world.ask(lead, Operation::TakeNotice(result, id));
    assert_eq!(world.held(lead, result), std::slice::from_ref(&notice));
    world.settle(lead, result, true);
    assert_eq!(world.delivery(&notice, "orchestrator"), Some(Delivery::Seen));
}

#[test]
fn a_name_proves_nothing_else_of_a_call() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let (one, two) = (world.send(a, "b", "one"), world.send(a, "b", "two"));
    let (call, both) = world.take(b);
    assert_eq!(both, [one.clone(), two]);
    world.settle(b, call, false);
    assert!(world.ask(b, Operation::Named(one)).is_empty());
}

#[test]
fn the_death_of_the_session_gives_a_push_back() {
    let mut pushed = Pushed::new();
    pushed.world.reap(&[pushed.to]);
    assert!(matches!(pushed.delivery(), Delivery::Unread { last: Some(_) }));
    let again = pushed.world.peer("b");
    assert_eq!(pushed.world.take(again).1, [pushed.id]);
}
