//! What a new session is told of the one before it, and what ends with a team.

use super::*;
use crate::bus::event::Report;
use crate::bus::rules::{Ending, is_summary_wanted};
use crate::bus::state::Message;
use crate::domain::limits;
use crate::domain::name::MAX_NAME_BYTES;
use crate::domain::request::RequestStatus;
use crate::domain::task::TaskStatus;

fn named_lead(world: &mut World, dead: &[SessionId]) -> (SessionId, Vec<Event>) {
    let wish = Wish::Chosen(name("lead"));
    let new = world.joining(wish, MemberKind::Orchestrator, dead);
    let session = new.session;
    let events = world.ask(None, Ask::Join(Box::new(new)));
    (session, events)
}

fn unread(world: &World, of: &str) -> usize {
    world.state.unread(&name(of)).count()
}

fn done() -> Ending {
    Ending {
        status: TaskStatus::Done,
        output: text("fine"),
        stop_reason: None,
        error: None,
        report: Report::default(),
    }
}

#[test]
fn whoever_leads_next_is_told_once_of_all_tasks_that_ended() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agents = ["ann", "ben", "cid"].map(|agent| world.agent(lead, agent));
    let tasks = agents.map(|agent| world.assign(lead, agent));
    for task in &tasks {
        world.ask(lead, Ask::StartTask(task.clone()));
    }
    world.ask(lead, Ask::FinishTask(tasks[2].clone(), Box::new(done())));
    for agent in agents {
        let leave = Ask::Leave {
            session: agent,
            departure: Departure::Stopped,
            detail: None,
        };
        world.ask(lead, leave);
    }
    world.leave(lead);
    let (next, events) = named_lead(&mut world, &[]);
    let told = notices(&events, "lead");
    let [a, b, c] = &tasks;
    assert_eq!(
        told,
        [format!(
            "tasks that have ended: {c} of cid is done, {a} of ann was cancelled, {b} of ben was cancelled; \
             get_task_result has what was said in each"
        )]
    );
    assert_eq!(unread(&world, "lead"), 1);
    world.leave(next);
    let (_, events) = named_lead(&mut world, &[]);
    assert!(notices(&events, "lead").is_empty(), "and not again");
}

#[test]
fn agents_that_die_with_their_bridge_are_told_of_in_one_notice() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agents = ["ann", "ben"].map(|agent| world.agent(lead, agent));
    let tasks = agents.map(|agent| world.assign(lead, agent));
    for task in &tasks {
        world.ask(lead, Ask::StartTask(task.clone()));
    }
    named_lead(&mut world, &[lead]);
    let events = world.bury(&agents);
    assert_eq!(unread(&world, "lead"), 1);
    let told = notices(&events, "lead");
    let [a, b] = &tasks;
    assert_eq!(
        told.last().unwrap(),
        &format!(
            "gone with their bridge: ann, ben. tasks that have ended: {a} of ann was interrupted, {b} of ben was interrupted; \
             get_task_result has what was said in each"
        )
    );
}

/// An orchestrator of a made-up name dies with its agent, beside a peer that buries them: all at once or one after the other.
#[test]
fn whoever_leads_next_is_told_in_whatever_order_the_dead_are_found() {
    type Burials = fn(SessionId, SessionId) -> Vec<Vec<SessionId>>;
    let orders: [Burials; 4] = [
        |lead, agent| vec![vec![lead, agent]],
        |lead, agent| vec![vec![agent, lead]],
        |lead, agent| vec![vec![lead], vec![agent]],
        |lead, agent| vec![vec![agent], vec![lead]],
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let mut world = World::new();
        world.peer("ann");
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        let tasks = [world.assign(lead, agent), world.assign(lead, agent)];
        world.ask(lead, Ask::StartTask(tasks[0].clone()));
        for dead in order(lead, agent) {
            world.bury(&dead);
            world.pass(1_000);
        }
        let wish = Wish::Like(name("orchestrator"));
        let next = world.joining(wish, MemberKind::Orchestrator, &[]);
        let events = world.ask(None, Ask::Join(Box::new(next)));
        let told = notices(&events, "orchestrator");
        let [running, queued] = tasks;
        let of_both = |text: &&String| {
            text.contains(&format!("{running} of codex was interrupted"))
                && text.contains(&format!("{queued} of codex was cancelled"))
        };
        assert_eq!(
            told.iter().filter(of_both).count(),
            1,
            "order {number}: {told:?}"
        );
    }
}

/// An orchestrator with a name of its own dies with its agent; the next one has another name.
#[test]
fn whoever_leads_next_under_another_name_is_told_of_a_dead_orchestrators_tasks() {
    type Burials = fn(SessionId, SessionId) -> Vec<Vec<SessionId>>;
    // Those that are found before somebody leads again, and those that whoever joins finds itself.
    let orders: [(Burials, usize); 4] = [
        (|lead, agent| vec![vec![lead, agent]], 0),
        (|lead, agent| vec![vec![lead, agent]], 1),
        (|lead, agent| vec![vec![agent], vec![lead]], 1),
        (|lead, agent| vec![vec![lead], vec![agent]], 2),
    ];
    for (number, (order, found_before)) in orders.into_iter().enumerate() {
        let mut world = World::new();
        world.peer("ann");
        let (lead, _) = named_lead(&mut world, &[]);
        let agent = world.agent(lead, "codex");
        let task = world.assign(lead, agent);
        world.ask(lead, Ask::StartTask(task.clone()));
        let mut burials = order(lead, agent);
        let left = burials.split_off(found_before);
        for dead in burials {
            world.bury(&dead);
        }
        let wish = Wish::Chosen(name("boss"));
        let next = world.joining(wish, MemberKind::Orchestrator, &left.concat());
        let events = world.ask(None, Ask::Join(Box::new(next)));
        let told = format!(
            "tasks that have ended: {task} of codex was interrupted (assigned by lead); get_task_result has what was said in each"
        );
        assert_eq!(notices(&events, "boss"), [told], "order {number}");
        let of_a_task = |message: &Message| message.task.is_some();
        let still = world.state.unread(&name("lead")).any(of_a_task);
        assert!(!still, "it is told once");
        let (_, events) = named_lead(&mut world, &[]);
        assert!(notices(&events, "lead").is_empty(), "order {number}");
    }
}

#[test]
fn one_orchestrator_is_told_of_a_dead_ones_tasks_that_end_while_several_lead() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agent = world.agent(lead, "codex");
    let task = world.assign(lead, agent);
    world.ask(lead, Ask::StartTask(task.clone()));
    world.bury(&[lead]);
    world.lead();
    world.lead();
    let events = world.bury(&[agent]);
    let of_it = |name: &&str| {
        let told = notices(&events, name);
        told.iter()
            .any(|text| text.contains(&format!("{task} of codex was interrupted")))
    };
    let told = ["orchestrator", "orchestrator-2"].into_iter().filter(of_it);
    assert_eq!(told.count(), 1);
    assert_eq!(unread(&world, "lead"), 0);
}

/// Orchestrators with long names whose tasks have ended while they were away.
#[test]
fn very_many_tasks_that_have_ended_are_told_of_in_several_appends() {
    const TASKS: usize = 2_500;
    let mut world = World::new();
    let called = "n".repeat(MAX_NAME_BYTES);
    let join = |world: &mut World| {
        let wish = Wish::Chosen(name(&called));
        world.join(wish, MemberKind::Orchestrator)
    };
    let lead = join(&mut world);
    let agent = world.agent(lead, "codex");
    for _ in 0..TASKS {
        let task = world.assign(lead, agent);
        world.ask(lead, Ask::StartTask(task.clone()));
        world.ask(lead, Ask::FinishTask(task, Box::new(done())));
    }
    world.leave(agent);
    world.leave(lead);
    (world.longest, world.appends) = (0, 0);
    let lead = join(&mut world);
    while is_summary_wanted(&world.state, &name(&called)) {
        assert!(!world.ask(None, Ask::TellEnds(lead)).is_empty());
    }
    assert!(world.longest < limits::DUE_BYTES, "{}", world.longest);
    let ends = |message: &&Message| message.task.is_some();
    assert_eq!(world.state.unread(&name(&called)).filter(ends).count(), 0);
    let told = unread(&world, &called);
    assert!(told <= world.appends, "{told} notices");
}

/// It may be back any time, and its mail waits for it.
#[test]
fn what_waits_for_an_orchestrator_that_has_left_is_told_to_nobody_else() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agent = world.agent(lead, "codex");
    world.assign(lead, agent);
    world.leave_with(agent, Departure::Stopped);
    world.leave(lead);
    let wish = Wish::Chosen(name("boss"));
    let next = world.joining(wish, MemberKind::Orchestrator, &[]);
    let events = world.ask(None, Ask::Join(Box::new(next)));
    assert!(notices(&events, "boss").is_empty());
    assert_eq!(unread(&world, "lead"), 1);
}

/// The name is kept for its tasks only: when its time is over, it goes without them.
#[test]
fn a_name_whose_tasks_never_end_is_given_up_with_its_mail() {
    let mut world = World::new();
    let (first, second) = (world.lead(), world.lead());
    let agent = world.agent(first, "codex");
    world.assign(second, agent);
    world.leave(second);
    let left = name("orchestrator-2");
    assert!(world.state.member(&left).is_some());
    world.pass(limits::ABSENT_MAIL_MS);
    world.due();
    assert!(world.state.member(&left).is_none());
    assert!(world.due().is_empty());
}

#[test]
fn requests_end_with_the_last_member_of_their_team() {
    let mut world = World::new();
    let (asker, other) = (world.peer("asker"), world.peer("other"));
    let request = world.open(asker);
    world.leave(asker);
    let status = |world: &World| world.state.request(&request).unwrap().status;
    assert_eq!(status(&world), RequestStatus::Open, "somebody can claim it");
    world.leave(other);
    assert_eq!(status(&world), RequestStatus::Expired);
    world.peer("newcomer");
    assert_eq!(unread(&world, "newcomer"), 0);
    world.peer("asker");
    assert_eq!(unread(&world, "asker"), 1, "it is told");
}
