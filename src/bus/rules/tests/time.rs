//! Deadlines: counted in ticks of a boot, and anew after each.

use super::*;

impl World {
    fn reboot(&mut self) {
        self.now.tick.boot += 1;
        self.now.tick.ms = 5;
    }
}

#[test]
fn running_deadlines_start_anew_after_a_boot() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.pass(29_000);
    world.reboot();
    assert!(world.due().is_empty(), "the old counting means nothing");
    world.send(b, "a", "the first entry of the new boot");
    world.pass(29_999);
    assert!(world.due().is_empty());
    world.pass(1);
    assert!(matches!(world.due()[0], Event::RequestNudged { .. }));
}

#[test]
fn a_jump_of_the_wall_clock_changes_nothing() {
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
fn what_is_due_stands_before_what_is_asked_in_one_append() {
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
fn a_refused_command_writes_nothing_that_was_due_either() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    world.open(a);
    world.pass(30_000);
    world.refuse(a, sending("a", "x", None));
    assert!(!world.due().is_empty());
}

#[test]
fn very_much_that_is_due_takes_several_appends_and_comes_to_an_end() {
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
