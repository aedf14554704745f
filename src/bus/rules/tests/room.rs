//! The room of one append: with any number of members, waits and requests each append fits into a line, and all overdue work is
//! done in the end.

use proptest::prelude::*;

use super::*;
use crate::domain::limits;

/// The most appends that overdue work may take.
const ENDLESS: usize = 2_000;

/// A day: no request expires earlier.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl World {
    /// Peers with names of this many characters.
    fn team(&mut self, members: usize, width: usize) -> Vec<SessionId> {
        let called = |number: usize| format!("{}-{number:05}", "n".repeat(width - 6));
        (0..members).map(|number| self.peer(&called(number))).collect()
    }

    #[track_caller]
    fn open_for(&mut self, by: SessionId, nudge_ms: u64) -> RequestId {
        let open = Operation::Open {
            description: text("look at this"),
            context: None,
            to: None,
            nudge_ms,
            ttl_ms: DAY_MS,
            lease_ms: None,
            urgency: None,
        };
        let events = self.ask(by, open);
        let opened = events.iter().find_map(|event| match event {
            Event::RequestOpened(opened) => Some(opened.id.clone()),
            _ => None,
        });
        opened.unwrap()
    }

    /// Writes all overdue work, and returns its events.
    fn all_due(&mut self) -> Vec<Event> {
        let mut all = Vec::new();
        for _ in 0..ENDLESS {
            let events = self.due();
            if events.is_empty() {
                return all;
            }
            all.extend(events);
        }
        panic!("overdue work never comes to an end");
    }
}

fn count(events: &[Event], is_counted: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_counted(event)).count()
}

fn is_nudged(event: &Event) -> bool {
    matches!(event, Event::RequestNudged { .. })
}

fn is_reopened(event: &Event) -> bool {
    matches!(event, Event::RequestReopened { .. })
}

#[test]
fn overdue_work_in_a_large_team_never_prevents_a_command() {
    let mut world = World::new();
    let team = world.team(250, 64);
    for _ in 0..64 {
        world.open_for(team[0], 30_000);
    }
    world.pass(30_000);
    let to = world.state.session(team[2]).unwrap().name.to_string();
    let mut events = world.ask(team[1], sending(&to, "hello", None));
    assert!(all_sent(&events).any(|sent| said(sent) == "hello"));
    events.extend(world.all_due());
    assert_eq!(count(&events, is_nudged), 64);
    let nudges = world.kinds(&to);
    let nudges = nudges.iter().filter(|kind| **kind == MessageKind::Nudge);
    assert_eq!(nudges.count(), 64);
}

#[test]
fn an_owner_of_very_many_requests_in_a_large_team_can_be_reaped() {
    let mut world = World::new();
    let team = world.team(400, 20);
    let mut requests = Vec::new();
    for _ in 0..64 {
        let id = world.open_for(team[0], DAY_MS);
        world.ask(team[1], Operation::Claim(id.clone(), CALL));
        requests.push(id);
    }
    let mut events = world.reap(&team[1..2]);
    assert!(world.state.session(team[1]).is_none());
    events.extend(world.all_due());
    assert_eq!(count(&events, is_reopened), 64);
    assert_eq!(world.state.open_requests().count(), 64);
    let last = world.state.session(team[399]).unwrap().name.to_string();
    for id in &requests {
        let shown = world.shown(id);
        let delivery = world.delivery(&shown, &last);
        assert!(matches!(delivery, Some(Delivery::Unread { .. })));
    }
}

#[test]
fn a_newcomer_is_shown_thousands_of_requests_part_by_part() {
    let mut world = World::new();
    let team = world.team(8, 20);
    for by in &team {
        for _ in 0..limits::MAX_OWN_REQUESTS {
            world.open_for(*by, DAY_MS);
        }
    }
    let newcomer = "x".repeat(64);
    world.peer(&newcomer);
    world.all_due();
    assert_eq!(world.unread(&newcomer).len(), 8_000);
    assert!(world.longest < limits::DUE_BYTES + 64 * 1024);
}

#[test]
fn a_newcomer_is_not_shown_claimed_requests_or_its_own() {
    let mut world = World::new();
    let team = world.team(10, 20);
    let mut open = 0;
    for by in &team {
        for _ in 0..50 {
            world.open_for(*by, DAY_MS);
            open += 1;
        }
    }
    let mine = world.state.session(team[0]).unwrap().name.to_string();
    world.leave(team[0]);
    let newcomer = world.peer(&"x".repeat(64));
    let again = world.peer(&mine);
    let id = world.state.open_requests().last().unwrap().id.clone();
    let shown = world.shown(&id);
    world.ask(team[1], Operation::Claim(id, CALL));
    world.all_due();
    let name = world.state.session(newcomer).unwrap().name.to_string();
    assert_eq!(world.unread(&name).len(), open - 1);
    assert!(!world.unread(&name).contains(&shown));
    let own = world.state.session(again).unwrap().name.clone();
    let unread: Vec<_> = world.state.unread(&own).collect();
    assert!(unread.len() >= open - 51);
    let is_own = |message: &&crate::bus::state::Message| message.from.member() == Some(&own);
    assert_eq!(unread.into_iter().filter(is_own).count(), 0);
}

#[test]
fn some_of_very_many_waits_are_answered_at_once_and_the_others_at_their_next_look() {
    let mut world = World::new();
    let team = world.team(1_000, 64);
    let calls: Vec<_> = team[1..].iter().map(|peer| (*peer, world.wait(*peer))).collect();
    world.ask(team[0], Operation::Broadcast(text("all of you")));
    let answered = |world: &World| {
        let held = calls.iter().map(|(peer, call)| world.held(*peer, *call).len());
        held.sum::<usize>()
    };
    assert_eq!(answered(&world), limits::DELIVERED_AT_ONCE);
    for (peer, call) in &calls {
        let wait = Operation::Wait {
            call: *call,
            from: None,
            request: None,
            reply_to: None,
            timeout_ms: 60_000,
        };
        world.ask(*peer, wait);
    }
    assert_eq!(answered(&world), calls.len());
}

#[test]
fn a_command_without_room_beside_overdue_work_follows_it() {
    let mut world = World::new();
    let team = world.team(3, 20);
    for _ in 0..32 {
        world.open_for(team[0], 30_000);
    }
    world.pass(30_000);
    let appends = world.appends;
    let leave = Operation::Leave {
        session: team[1],
        departure: Departure::Closed,
        detail: Some("x".repeat(line_format::MAX_LINE_BYTES - 16 * 1024)),
    };
    let events = world.ask(team[1], leave);
    assert_eq!(world.appends, appends + 2);
    assert!(is_nudged(&events[0]));
    assert_eq!(count(&events, is_nudged), 32);
    assert!(world.state.session(team[1]).is_none());
}

#[test]
fn a_name_is_free_at_once_although_its_holder_is_one_of_very_many_dead() {
    let mut world = World::new();
    let team = world.team(2_000, 64);
    for number in 0..team.len() {
        let to = world.state.session(team[(number + 1) % team.len()]).unwrap();
        let to = to.name.to_string();
        world.send(team[number], &to, "read this");
    }
    let requested = world.state.session(team[1_999]).unwrap().name.clone();
    let new = world.joining(NameChoice::Chosen(requested), MemberKind::Peer, &team);
    world.ask(None, Operation::Join(Box::new(new)));
    while world.state.live_sessions().len() > 1 {
        world.reap(&team);
    }
}

/// A team, its requests, and its losses.
#[derive(Clone, Debug)]
struct Team {
    members: usize,
    width: usize,
    orchestrators: usize,
    waiting: usize,
    /// How many requests each of the first members opens.
    requests: Vec<usize>,
    /// How many of all requests one member claims.
    claimed: usize,
    /// How many members leave or are reaped.
    dead: usize,
    hung: usize,
}

fn team() -> impl Strategy<Value = Team> {
    (
        8..300usize,
        10..=64usize,
        0..30usize,
        0..300usize,
        proptest::collection::vec(0..40usize, 1..4),
        0..90usize,
        1..40usize,
        0..40usize,
    )
        .prop_map(|(members, width, orchestrators, waiting, requests, claimed, dead, hung)| {
            Team { members, width, orchestrators, waiting, requests, claimed, dead, hung }
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn in_any_team_each_append_fits_into_a_line_and_all_overdue_work_is_done(plan in team()) {
        let mut world = World::new();
        for _ in 0..plan.orchestrators {
            world.lead();
        }
        let team = world.team(plan.members, plan.width);
        let mut requests = Vec::new();
        for (number, opened) in plan.requests.iter().enumerate() {
            for _ in 0..*opened {
                requests.push((number, world.open_for(team[number % 6], 30_000)));
            }
        }
        let claimer = team[7];
        for (_, id) in requests.iter().take(plan.claimed) {
            world.ask(claimer, Operation::Claim(id.clone(), CALL));
        }
        for peer in team.iter().skip(6).take(plan.waiting) {
            world.wait(*peer);
        }
        world.pass(30_000);
        // No overdue work prevents a command.
        world.ask(team[1], Operation::Broadcast(text("hello")));
        let dead: Vec<_> = team.iter().skip(7).take(plan.dead).copied().collect();
        let hung: Vec<_> = team.iter().rev().take(plan.hung).copied().collect();
        world.ask(None, Operation::Hung(hung, 30_000));
        let mut reaped = 0;
        while dead.iter().any(|dead| world.state.session(*dead).is_some()) {
            world.reap(&dead);
            reaped += 1;
            prop_assert!(reaped < ENDLESS);
        }
        world.peer(&"x".repeat(64));
        world.all_due();
        let open = world.state.open_requests().count();
        prop_assert_eq!(open, requests.len(), "all claims of the dead are open again");
        for request in world.state.open_requests() {
            let message = world.state.message(&request.message).unwrap();
            for session in world.state.live_sessions() {
                let has = session.name == request.from || message.delivery(&session.name).is_some();
                prop_assert!(has, "{} is offered to {}", request.id, session.name);
            }
        }
        world.pass(DAY_MS);
        world.all_due();
        prop_assert_eq!(world.state.open_requests().count(), 0);
    }
}
