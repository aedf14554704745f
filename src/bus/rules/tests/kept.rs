//! The state stays small although agents come and go for months.

use super::envelope::{sending_with, signal};
use super::*;
use crate::bus::event::{Runs, TaskReport};
use crate::bus::rules::Ending;
use crate::bus::state::Due;
use crate::domain::limits;
use crate::domain::member::{Label, ProcessMark};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::wait_times;

/// An agent starts, works, sends, asks for help, and dies or is stopped. The orchestrator reads its notices.
fn come_and_go(world: &mut World, lead: SessionId, departure: Departure) {
    let new = world.new_agent(NameChoice::Like(name("codex")));
    let agent = new.starting.session;
    let events = world.ask(lead, Operation::Start(Box::new(new), Some(task())));
    world.ready(lead, agent);
    // The unread messages of the previous agent.
    let (call, _) = world.take(agent);
    world.settle(agent, call, true);
    let task = assigned(&events);
    world.ask(lead, Operation::StartTask(task.clone()));
    world.send(agent, "orchestrator", "hello");
    world.send(agent, "human", "for you");
    let topic = Label::parse("releases").unwrap();
    world.ask(lead, Operation::WebhookSent(topic.clone(), world.next_seq));
    // They disagree in a thread, until one agrees.
    let plan = world.send(lead, "codex", "one log for everything");
    let (call, _) = world.take(agent);
    let disagreeing = sending_with("orchestrator", signal("disagree_with"), Some(&plan));
    let events = world.ask(agent, disagreeing);
    let other = all_sent(&events).next().unwrap().id.clone();
    world.settle(agent, call, true);
    let (call, _) = world.take(lead);
    world.reply_with(lead, "codex", signal("agree_with"), &other);
    world.settle(lead, call, true);
    world.ask(agent, Operation::FollowTopic(topic.clone()));
    world.ask(agent, Operation::ClaimLane(topic));
    world.ask(lead, sending("#releases", "news", None));
    let request = world.open(agent);
    world.ask(lead, Operation::Claim(request.clone(), CALL));
    world.reply(lead, "codex", &request.to_string());
    let ending = Ending {
        status: TaskStatus::Done,
        output: text("all fine"),
        stop_reason: Some("end_turn".into()),
        error: None,
        report: TaskReport::default(),
    };
    world.ask(lead, Operation::FinishTask(task, Box::new(ending)));
    match departure {
        Departure::Dead => drop(world.reap(&[agent])),
        departure => drop(world.leave_with(agent, departure)),
    }
    let (call, _) = world.take(lead);
    world.settle(lead, call, true);
}

/// Returns the number of things in the state, without the headers of ended ones, which have a limit and a test of their own. A new
/// field must be counted here too.
pub(super) fn held(state: &State) -> usize {
    let State {
        boot: _,
        members,
        sessions,
        last_number: _,
        lead: _,
        departed,
        messages,
        ended_messages,
        awaited,
        queued,
        user_questions,
        conflicts,
        ended_conflicts,
        requests,
        ended_requests,
        unanswered: _,
        newcomers,
        tasks,
        ended_tasks,
        permissions,
        ended_permissions,
        workflows,
        ended_workflows,
        commands,
        command_set,
        timers,
        watch: _,
        absent,
        unswept,
        hosts,
        offers,
        placements,
        unplaced: _,
        limits: _,
        arbiter: _,
        keys,
        webhooks,
        other_projects,
    } = state;
    let timers: Vec<(Due, u64, u64)> = timers.clone().into();
    let of_sessions = sessions.values().map(|session| {
        let topics = session.traits.topics.len();
        let owned = session.lanes.len() + topics;
        session.in_flight.len() + session.waits.len() + session.queue.len() + owned
    });
    let unread = members.values().map(|member| member.unread.len());
    [
        members.len(),
        sessions.len(),
        departed.len(),
        messages.len() - ended_messages.len(),
        awaited.len(),
        queued.len(),
        user_questions.len(),
        conflicts.len() - ended_conflicts.len(),
        requests.len() - ended_requests.len(),
        tasks.len() - ended_tasks.len(),
        permissions.len() - ended_permissions.len(),
        workflows.len() - ended_workflows.len(),
        commands.len(),
        command_set.len(),
        timers.len(),
        newcomers.len(),
        absent.len(),
        unswept.len(),
        hosts.len(),
        offers.len(),
        placements.len(),
        keys.len(),
        webhooks.len(),
        other_projects.len(),
    ]
    .into_iter()
    .chain(of_sessions)
    .chain(unread)
    .sum()
}

#[test]
fn agents_that_come_and_go_leave_a_state_of_bounded_size() {
    let mut world = World::new();
    let lead = world.lead();
    let mut come_and_go = |rounds: usize| {
        for number in 0..rounds {
            let departure = if number % 8 == 0 { Departure::Stopped } else { Departure::Dead };
            come_and_go(&mut world, lead, departure);
        }
        held(&world.state)
    };
    // Enough to fill every bounded list.
    let full = come_and_go(500);
    assert_eq!(come_and_go(100), full);
    assert_eq!(world.state.commands.len(), limits::KEPT_COMMANDS);
    assert_eq!(world.state.unswept.len(), limits::KEPT_UNSWEPT);
    assert_eq!(world.state.ended_conflicts.len(), limits::KEPT_CONFLICTS);
}

#[test]
fn an_unused_chosen_name_is_kept_for_thirty_days() {
    let mut world = World::new();
    let lead = world.lead();
    for number in 0..200 {
        let new = world.new_agent(NameChoice::Chosen(name(&format!("agent-{number}"))));
        let agent = new.starting.session;
        world.ask(lead, Operation::Start(Box::new(new), None));
        world.leave_with(agent, Departure::Stopped);
    }
    assert_eq!(world.state.members.len(), 201);
    world.pass(wait_times::ABSENT_MAIL_MS);
    while !world.due().is_empty() {}
    assert_eq!(world.state.members.len(), 1);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

/// Lines of older versions may have texts of any length.
#[test]
fn the_state_keeps_only_the_beginning_of_long_texts_of_agents() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let long = || "e".repeat(200_000);
    let of_task = |world: &World, task: &TaskId| {
        let task = world.state.task(task).unwrap();
        serde_json::to_string(task).unwrap().len()
    };
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task.clone()));
    let error = TaskError {
        login: Some(long()),
        known: vec![long(); 2],
        ..TaskError::new("agent", long())
    };
    let ending = Ending {
        status: TaskStatus::Failed,
        output: text(""),
        stop_reason: Some(long()),
        error: Some(error),
        report: TaskReport::default(),
    };
    world.ask(lead, Operation::FinishTask(task.clone(), Box::new(ending)));
    assert!(of_task(&world, &task) < 8_000, "{}", of_task(&world, &task));
    let runs = Runs {
        session: agent,
        agent: ProcessMark { pid: 7, started: None },
        shim: None,
        acp_session: Some(long()),
        place: None,
    };
    world.ask(lead, Operation::Runs(Box::new(runs)));
    let model = Operation::Model { session: agent, model: long() };
    world.ask(lead, model);
    let live = world.state.session(agent).unwrap();
    let bytes = serde_json::to_string(live).unwrap().len();
    assert!(bytes < 8_000, "{bytes}");
    let leave =
        Operation::Leave { session: agent, departure: Departure::Failed, detail: Some(long()) };
    world.ask(lead, leave);
    let left = world.state.departed().last().unwrap();
    let bytes = serde_json::to_string(left).unwrap().len();
    assert!(bytes < 8_000, "{bytes}");
}
