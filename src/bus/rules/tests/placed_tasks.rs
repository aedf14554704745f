//! Tasks for agents that another host starts.

use super::permissions::asking;
use super::workflows::Led;
use super::*;
use crate::bus::event::Envelope;
use crate::bus::rules::{HumanWish, NewPlacement, PlacementRefusal};
use crate::domain::limits;
use crate::domain::member::{ALL_MACHINES, HostOffer};
use crate::domain::workflow::{StepOf, StepStatus};

/// A lead, and the bridge of a host that offers `codex` to all.
fn world() -> (World, SessionId, SessionId) {
    let mut world = World::new();
    let lead = world.lead();
    let host = world.peer("host");
    world.ask(host, offer(ALL_MACHINES));
    (world, lead, host)
}

fn offer(whom: &str) -> Operation {
    Operation::Offer(HostOffer { profiles: vec![name("codex")], whom: vec![whom.to_owned()] })
}

fn placing(with: SessionId, profile: &str) -> Operation {
    let profile = name(profile);
    Operation::Place(Box::new(NewPlacement { with, profile, name: None, cwd: None, task: task() }))
}

fn place(world: &mut World, lead: SessionId, host: SessionId) -> TaskId {
    let events = world.ask(lead, placing(host, "codex"));
    let [Event::TaskPlaced(placed)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((placed.with, placed.asker), (host, lead));
    placed.id.clone()
}

fn taking_up(world: &mut World, id: &TaskId) -> Operation {
    let new = world.new_agent(NameChoice::Like(name("codex")));
    Operation::Start(Box::new(new), Some(NewTask { placed: Some(id.clone()), ..task() }))
}

fn over(id: &TaskId) -> Refusal {
    PlacementRefusal::Over { id: id.clone() }.into()
}

#[test]
fn a_placed_task_is_that_of_the_member_who_asked_and_the_agent_that_of_the_host() {
    let (mut world, lead, host) = world();
    let id = place(&mut world, lead, host);
    let starting = taking_up(&mut world, &id);
    assert_eq!(world.refuse(lead, starting.clone()), over(&id), "only the host takes it up");
    let events = world.ask(host, starting);
    assert_eq!(assigned(&events), id);
    let task = world.state.task(&id).unwrap().clone();
    assert_eq!(task.by, name("orchestrator"));
    let agent = world.state.session(task.session).unwrap();
    assert_eq!(agent.owner, Some(host));
    assert!(world.state.placement(&id).is_none());
    let again = taking_up(&mut world, &id);
    assert_eq!(world.refuse(host, again), over(&id), "it is taken up once");
    // The host has no model that would read what becomes of its agents.
    let events = world.leave_with(task.session, Departure::Failed);
    assert!(notices(&events, "host").is_empty());
    assert_eq!(notices(&events, "orchestrator").len(), 1, "{events:?}");
}

#[test]
fn whoever_leads_is_asked_for_permission_once_the_asker_of_a_placed_task_has_left() {
    let (mut world, lead, host) = world();
    let other = world.lead();
    let id = place(&mut world, other, host);
    let starting = taking_up(&mut world, &id);
    let agent = world.ask(host, starting).iter().find_map(|event| match event {
        Event::TaskAssigned(assigned) => Some(assigned.session),
        _ => None,
    });
    let agent = agent.unwrap();
    world.ready(host, agent);
    world.ask(host, Operation::StartTask(id.clone()));
    let events = world.ask(host, asking(agent, &id));
    assert_eq!(notices(&events, "orchestrator-2").len(), 1, "{events:?}");
    world.leave(other);
    let events = world.ask(host, asking(agent, &id));
    assert!(notices(&events, "host").is_empty(), "it has no model");
    assert_eq!(notices(&events, "orchestrator").len(), 1, "{events:?}");
    assert!(world.state.is_lead(lead));
}

#[test]
fn a_host_says_why_it_starts_nothing_and_who_asked_may_wait_no_longer() {
    let (mut world, lead, host) = world();
    let other = world.peer("ann");
    let id = place(&mut world, lead, host);
    let end = |why: &str| Operation::EndPlacement(id.clone(), why.to_owned());
    assert_eq!(world.refuse(other, end("mine")), over(&id));
    world.ask(host, end("its program is missing"));
    assert_eq!(world.state.why_not_placed(&id), Some("its program is missing"));
    assert_eq!(world.refuse(lead, end("late")), over(&id));
    let starting = taking_up(&mut world, &id);
    assert_eq!(world.refuse(host, starting), over(&id));
    let id = place(&mut world, lead, host);
    world.ask(lead, Operation::EndPlacement(id.clone(), "no longer waits".to_owned()));
    let starting = taking_up(&mut world, &id);
    assert_eq!(world.refuse(host, starting), over(&id));
}

#[test]
fn nothing_is_placed_with_a_member_that_does_not_offer_it() {
    let (mut world, lead, host) = world();
    let ann = world.peer("ann");
    let refused = world.refuse(lead, placing(ann, "codex"));
    assert_eq!(refused, PlacementRefusal::NoHost { name: name("ann") }.into());
    let refused = world.refuse(lead, placing(host, "gemini"));
    assert_eq!(refused.to_string(), "`host` does not offer the profile `gemini`, but `codex`");
    // This member is on no machine that others know.
    world.ask(host, offer("laptop"));
    let refused = world.refuse(lead, placing(host, "codex")).to_string();
    assert!(refused.contains("starts agents for \"laptop\" only"), "{refused}");
    // Others have written the name.
    world.ask(host, offer("x\u{1b}[2J\nall is well"));
    let refused = world.refuse(lead, placing(host, "codex")).to_string();
    assert!(!refused.contains(['\n', '\u{1b}']), "{refused:?}");
    world.ask(host, offer(ALL_MACHINES));
    assert!(world.ask(host, offer(ALL_MACHINES)).is_empty(), "the same again writes nothing");
}

#[test]
fn placed_tasks_end_with_their_host_and_with_who_asked_and_are_few() {
    let (mut world, lead, host) = world();
    let other = world.peer("ann");
    let of_ann = place(&mut world, other, host);
    for _ in 1..limits::MAX_PLACED {
        place(&mut world, lead, host);
    }
    let refused = world.refuse(lead, placing(host, "codex"));
    assert_eq!(refused, PlacementRefusal::TooMany { limit: limits::MAX_PLACED }.into());
    world.leave(other);
    assert!(world.state.placement(&of_ann).is_none());
    let kept = place(&mut world, lead, host);
    world.leave(host);
    assert_eq!(world.state.placements().count(), 0);
    assert!(world.state.why_not_placed(&kept).is_none() && world.state.offers().next().is_none());
    // The reasons of the last ones are kept.
    let host = world.peer("host-2");
    world.ask(host, offer(ALL_MACHINES));
    let mut ended = Vec::new();
    for number in 0..=limits::KEPT_REFUSALS {
        let id = place(&mut world, lead, host);
        world.ask(host, Operation::EndPlacement(id.clone(), format!("no {number}")));
        ended.push(id);
    }
    assert_eq!(world.state.why_not_placed(&ended[0]), None);
    assert_eq!(world.state.why_not_placed(&ended[1]), Some("no 1"));
}

#[test]
fn what_all_get_leaves_out_the_bridge_of_a_host() {
    let (mut world, lead, host) = world();
    world.keeps_news = true;
    let ann = world.peer("ann");
    assert!(world.unread("host").is_empty(), "it hears of no newcomer");
    let told = world.ask(lead, Operation::Broadcast(text("to all")));
    assert_eq!(sent(&told).to.named(), [name("ann")]);
    let all = world.ask(ann, sending("all", "hello", None));
    assert_eq!(sent(&all).to.named(), [name("orchestrator")]);
    let by_human = Operation::ByHuman(HumanWish::Send {
        to: "all".to_owned(),
        body: text("hello"),
        priority: None,
        signal: None,
        reply_to: None,
    });
    let by_human = world.ask(None, by_human);
    assert_eq!(sent(&by_human).to.named(), [name("orchestrator"), name("ann")]);
    let more = Envelope { mentions: vec![name("host"), name("ann")], ..Envelope::default() };
    let mention = Operation::Send {
        to: "orchestrator".to_owned(),
        body: text("ask @host and @ann"),
        priority: Priority::Normal,
        more: Some(Box::new(more)),
        reply_to: None,
    };
    let mention = world.ask(ann, mention);
    assert_eq!(sent(&mention).to.named(), [name("orchestrator")]);
    let request = world.open(ann);
    let open = world.state.request(&request).unwrap();
    let claimants: Vec<_> = world.state.claimants(open).iter().map(|one| one.id).collect();
    assert_eq!(claimants, [lead]);
    assert!(matches!(
        world.refuse(host, Operation::Claim(request, CALL)),
        Refusal::NotForYou { .. }
    ));
    world.leave(ann);
    assert!(world.unread("host").is_empty());
}

#[test]
fn a_message_straight_to_the_bridge_of_a_host_is_refused_with_whom_to_write_to() {
    let (mut world, lead, host) = world();
    let ann = world.peer("ann");
    let start = "assign_task with `host` as `host` starts an agent there";
    let refused = world.refuse(ann, sending("host", "please", None)).to_string();
    let reads_nothing = "`host` starts agents for others and reads no messages: write to";
    assert_eq!(refused, format!("{reads_nothing} `orchestrator`, which leads; {start}"));
    let id = place(&mut world, lead, host);
    let starting = taking_up(&mut world, &id);
    world.ask(host, starting);
    for to in ["host", "s2"] {
        let refused = world.refuse(ann, sending(to, "please", None)).to_string();
        let readers = "its agent `codex` or `orchestrator`, which leads";
        assert_eq!(refused, format!("{reads_nothing} {readers}; {start}"));
    }
    world.send(ann, "codex", "what the host runs reads");
    let request = world.open(lead);
    world.ask(ann, Operation::Claim(request.clone(), CALL));
    let to_host = Operation::Open {
        description: text("x"),
        context: None,
        to: Some("host".to_owned()),
        nudge_ms: 30_000,
        ttl_ms: 900_000,
        lease_ms: None,
        urgency: None,
    };
    assert!(matches!(world.refuse(ann, to_host), Refusal::Placement(_)));
    let refused = world.refuse(lead, Operation::Assign { session: host, task: task() });
    assert!(refused.to_string().contains("name a profile, and this name as `host`"), "{refused}");
}

#[test]
fn what_a_member_has_not_read_when_it_offers_agents_is_over_and_its_sender_told() {
    let mut world = World::new();
    let lead = world.lead();
    let host = world.peer("host");
    world.send(lead, "host", "too early");
    assert_eq!(world.unread("host").len(), 1);
    let events = world.ask(host, offer(ALL_MACHINES));
    assert!(world.unread("host").is_empty());
    let told = notices(&events, "orchestrator");
    assert!(
        told[0].starts_with("host only starts agents from now on, without reading 1 of your"),
        "{told:?}"
    );
}

/// A workflow of a lead whose first step waits for a host. Returns what the host takes up as well.
fn placed_step() -> (Led, SessionId, TaskId) {
    let mut led = Led::new();
    let host = led.world.peer("host");
    led.world.ask(host, offer(ALL_MACHINES));
    let step = StepOf { workflow: led.id.clone(), step: name("a") };
    let task = NewTask { step: Some(step), ..task() };
    let profile = name("codex");
    let new = NewPlacement { with: host, profile, name: None, cwd: None, task };
    let events = led.world.ask(led.lead, Operation::Place(Box::new(new)));
    let [Event::TaskPlaced(placed)] = &events[..] else { panic!("{events:?}") };
    let id = placed.id.clone();
    (led, host, id)
}

#[test]
fn a_placed_step_begins_in_the_append_in_which_its_host_starts_the_agent() {
    let (mut led, host, id) = placed_step();
    let status = |led: &Led, step: &str| {
        led.world.state.workflow(&led.id).unwrap().step(&name(step)).unwrap().status
    };
    assert_eq!(status(&led, "a"), StepStatus::Waiting);
    let starting = taking_up(&mut led.world, &id);
    let events = led.world.ask(host, starting);
    assert!(events.iter().any(|event| matches!(event, Event::StepStarted(_))), "{events:?}");
    assert_eq!(status(&led, "a"), StepStatus::Running);
    let task = led.world.state.task(&id).unwrap();
    assert_eq!((&task.by, task.workflow.as_ref()), (&name("orchestrator"), Some(&led.id)));
    // What is early, or led by another, is not even placed.
    let other = led.world.peer("ann");
    for (by, step, refused) in [(led.lead, "b", "waiting"), (other, "b", "already being run by")] {
        let step = StepOf { workflow: led.id.clone(), step: name(step) };
        let task = NewTask { step: Some(step), ..super::task() };
        let profile = name("codex");
        let new = NewPlacement { with: host, profile, name: None, cwd: None, task };
        let said = led.world.refuse(by, Operation::Place(Box::new(new))).to_string();
        assert!(said.contains(refused), "{said}");
    }
}

#[test]
fn no_host_takes_up_a_step_whose_workflow_was_cancelled_or_has_lost_its_leader() {
    let (mut led, host, id) = placed_step();
    led.world.ask(led.lead, Operation::CancelWorkflow(led.id.clone()));
    let starting = taking_up(&mut led.world, &id);
    let agents = led.world.state.session_ids().count();
    led.world.refuse(host, starting);
    assert_eq!(led.world.state.session_ids().count(), agents);
    let (mut led, host, id) = placed_step();
    led.world.leave(led.lead);
    let starting = taking_up(&mut led.world, &id);
    assert_eq!(led.world.refuse(host, starting), over(&id));
}

#[test]
fn nothing_is_placed_in_a_team_that_has_as_many_agents_as_it_may() {
    let (mut world, lead, host) = world();
    let limit = world.state.limits().agents;
    for _ in 0..limit {
        world.agent(lead, "codex");
    }
    let refused = world.refuse(lead, placing(host, "codex"));
    assert_eq!(refused, Refusal::TooManyAgents { limit });
}
