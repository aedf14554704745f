//! Deadlines: short ones count in the machine's own time and continue after a boot; those of days count in the log's wall time.

use super::workflows::Led;
use super::*;
use crate::domain::wait_times;
use crate::domain::workflow::WorkflowStatus;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl World {
    fn reboot(&mut self) {
        self.now.tick.boot += 1;
        self.now.tick.ms = 5;
    }

    /// Lets a day pass in which the machine runs for an hour.
    fn day(&mut self) {
        self.now.wall_ms += i64::try_from(DAY_MS).unwrap();
        self.now.tick.ms += DAY_MS / 24;
    }

    /// Writes an entry.
    fn stir(&mut self, by: SessionId) {
        self.send(by, "idle", "something");
        let (call, _) = self.take(by);
        self.settle(by, call, true);
    }
}

#[test]
fn after_a_boot_running_deadlines_keep_their_remaining_time() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.pass(20_000);
    world.send(b, "a", "the last entry of the old boot");
    for _ in 0..3 {
        world.reboot();
        assert!(world.due().is_empty(), "times of the old boot mean nothing");
        world.send(b, "a", "the first entry of a new boot");
        world.pass(2_000);
        world.send(b, "a", "the last one");
    }
    world.pass(3_999);
    assert!(world.due().is_empty());
    world.pass(1);
    assert!(matches!(world.due()[0], Event::RequestNudged { .. }));
}

#[test]
fn mail_for_the_absent_ends_after_thirty_days_although_the_machine_boots_each_day() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.peer("idle");
    world.leave(a);
    let id = world.send(b, "a", "hello");
    for day in 0..30 {
        let delivery = world.delivery(&id, "a");
        assert!(matches!(delivery, Some(Delivery::Unread { .. })), "day {day}");
        world.day();
        world.reboot();
        world.stir(b);
        world.due();
    }
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
}

#[test]
fn mail_for_the_absent_ends_after_thirty_days_although_the_machine_sleeps() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.leave(a);
    let id = world.send(b, "a", "hello");
    world.peer("idle");
    for _ in 0..31 {
        world.day();
        world.stir(b);
        world.due();
    }
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
}

#[test]
fn a_clock_that_was_wrong_for_an_hour_ends_no_mail() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.leave(a);
    let id = world.send(b, "a", "hello");
    world.peer("idle");
    let right = world.now.wall_ms;
    world.now.wall_ms += 400 * i64::try_from(DAY_MS).unwrap();
    for _ in 0..60 {
        world.pass(60_000);
        world.stir(b);
        assert!(world.due().is_empty());
    }
    world.now.wall_ms = right;
    world.pass(wait_times::ABSENT_MAIL_MS - 3 * DAY_MS);
    assert!(world.due().is_empty());
    world.pass(3 * DAY_MS);
    world.due();
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
}

/// After these weeks the log's own time is behind, and catches up by a day in each hour.
#[test]
fn mail_for_the_absent_waits_for_thirty_days_even_after_weeks_without_entries() {
    const HOUR_MS: u64 = DAY_MS / 24;
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.peer("idle");
    world.stir(b);
    world.now.wall_ms += 60 * i64::try_from(DAY_MS).unwrap();
    world.pass(1_000);
    world.stir(b);
    world.leave(a);
    let id = world.send(b, "a", "hello");
    for hour in 1..30 * 24 {
        world.pass(HOUR_MS);
        world.stir(b);
        world.due();
        let delivery = world.delivery(&id, "a");
        assert!(matches!(delivery, Some(Delivery::Unread { .. })), "hour {hour}");
    }
    world.pass(HOUR_MS);
    world.due();
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
}

#[test]
fn a_jump_of_the_wall_clock_does_not_change_short_deadlines() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.now.wall_ms += 1_000_000_000;
    assert!(world.due().is_empty());
    world.now.wall_ms = 0;
    assert!(world.due().is_empty());
    world.pass(30_000);
    assert!(!world.due().is_empty());
}

#[test]
fn overdue_work_stands_before_the_operation_in_one_append() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.pass(30_000);
    let events = world.ask(b, sending("a", "x", None));
    assert!(matches!(events.first(), Some(Event::RequestNudged { .. })));
    assert!(matches!(events.last(), Some(Event::MessageSent(sent)) if said(sent) == "x"));
    let mut ids: Vec<_> = all_sent(&events).map(|sent| sent.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "each message has its own id");
}

#[test]
fn a_refused_command_does_not_write_overdue_work_either() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.pass(30_000);
    world.refuse(a, sending("a", "x", None));
    assert!(!world.due().is_empty());
}

#[test]
fn very_much_overdue_work_takes_several_appends_and_comes_to_an_end() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    for _ in 0..200 {
        world.open(a);
    }
    world.pass(900_000);
    let mut appends = 0;
    while !world.due().is_empty() {
        appends += 1;
        assert!(appends < 100);
    }
    assert!(appends > 1);
    assert_eq!(world.state.open_requests().count(), 0);
}

/// A state of a version before 60-bit ids: with timers for absent names, and without later fields.
#[test]
fn a_state_of_an_older_version_is_converted() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let open = world.open(b);
    world.leave(a);
    let id = world.send(b, "a", "hello");
    let mut older = serde_json::to_value(&world.state).unwrap();
    let fields = older.as_object_mut().unwrap();
    assert!(fields.remove("watch").is_some() && fields.remove("absent").is_some());
    let timers = fields["timers"].as_array_mut().unwrap();
    timers.push(serde_json::json!([{ "mail": "a" }, 1_000_000, wait_times::ABSENT_MAIL_MS]));
    let requests = fields["requests"].as_object_mut().unwrap();
    for request in requests.values_mut() {
        assert!(request.as_object_mut().unwrap().remove("seq").is_some());
    }
    world.state = serde_json::from_value(older).unwrap();
    world.state.rebuild();
    assert_eq!(world.state.open_requests().count(), 1);
    let newcomer = world.peer("c");
    assert_eq!(world.take(newcomer).1, [world.shown(&open)]);
    world.pass(wait_times::ABSENT_MAIL_MS - 2 * DAY_MS);
    while !world.due().is_empty() {}
    let delivery = world.delivery(&id, "a");
    assert!(matches!(delivery, Some(Delivery::Unread { .. })));
    world.pass(2 * DAY_MS);
    while !world.due().is_empty() {}
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
}

#[test]
fn an_absent_name_is_due_at_its_deadline_even_for_a_process_that_is_behind() {
    for behind_ms in [900, 70_000] {
        let mut world = World::new();
        let a = world.peer("a");
        world.pass(behind_ms);
        world.leave(a);
        // The last entry was written after this process read its clock.
        world.now.tick.ms -= behind_ms;
        world.now.wall_ms -= i64::try_from(behind_ms).unwrap();
        let due_ms = world.state.earliest_due_ms(world.now).unwrap();
        world.pass(due_ms - world.now.tick.ms);
        assert!(!world.due().is_empty(), "{behind_ms} ms");
    }
}

#[test]
fn a_step_of_an_interrupted_workflow_does_not_take_the_time_in_which_nobody_led_it() {
    let mut led = Led::new();
    let other = led.world.lead();
    led.world.ask(led.lead, led.begin("a"));
    led.world.pass(2_000);
    led.world.ask(other, Operation::Hung(vec![led.lead], 0));
    assert_eq!(led.status(), WorkflowStatus::Interrupted);
    led.world.pass(60_000);
    led.world.ask(other, Operation::CancelWorkflow(led.id.clone()));
    let workflow = led.world.state.workflow(&led.id).unwrap();
    assert_eq!(workflow.steps[0].took_ms(), Some(2_000));
}
