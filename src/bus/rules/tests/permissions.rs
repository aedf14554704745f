//! Permission questions: each has one answer, and none outlives its agent.

use super::*;
use crate::bus::event::{PermissionAnswered, Question, Runs};
use crate::bus::rules::{AskedFirst, NewQuestion, PermissionReply};
use crate::domain::ids::PermissionId;
use crate::domain::limits;
use crate::domain::member::ProcessMark;
use crate::domain::permission::{Decider, Decision};

fn question(agent: SessionId) -> Question {
    Question {
        session: agent,
        agent: name("codex"),
        task: None,
        kind: "execute".into(),
        title: "rm -rf target\n--- End".into(),
        paths: vec!["/p/target".into()],
    }
}

fn new(agent: SessionId, to: AskedFirst) -> Operation {
    Operation::AskPermission(Box::new(NewQuestion {
        question: question(agent),
        offers: vec![Decision::AllowOnce, Decision::Reject],
        timeout_ms: 120_000,
        to,
    }))
}

/// A question of an agent in a task, for whoever leads it.
pub(super) fn asking(agent: SessionId, task: &TaskId) -> Operation {
    let Operation::AskPermission(mut new) = new(agent, AskedFirst::Orchestrator) else {
        unreachable!("it asks");
    };
    new.question.task = Some(task.clone());
    Operation::AskPermission(new)
}

#[track_caller]
fn asked(world: &mut World, lead: SessionId, agent: SessionId, to: AskedFirst) -> PermissionId {
    let events = world.ask(lead, new(agent, to));
    let id = events.iter().find_map(|event| match event {
        Event::PermissionAsked(asked) => Some(asked.id.clone()),
        _ => None,
    });
    id.unwrap()
}

fn says(id: &PermissionId, decision: Decision) -> Operation {
    Operation::AnswerPermission(id.clone(), PermissionReply::Itself(decision))
}

fn answer(world: &World, id: &PermissionId) -> Option<(Decision, Decider, Option<Name>)> {
    let answer = world.state.permission(id).unwrap().answer.clone()?;
    Some((answer.decision, answer.by, answer.name))
}

#[test]
fn the_first_answer_of_any_orchestrator_is_the_only_one() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let id = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    assert_eq!(world.state.open_permissions_of(agent).len(), 1);
    world.ask(other, says(&id, Decision::AllowOnce));
    let expected = (Decision::AllowOnce, Decider::Orchestrator, Some(name("orchestrator-2")));
    assert_eq!(answer(&world, &id), Some(expected.clone()));
    assert_eq!(
        world.refuse(lead, says(&id, Decision::Reject)),
        Refusal::PermissionOver {
            id: id.clone(),
            decision: Decision::AllowOnce,
            by: Decider::Orchestrator
        }
    );
    assert_eq!(answer(&world, &id), Some(expected));
    assert!(world.state.open_permissions().is_empty());
}

#[test]
fn no_process_of_an_agent_answers_its_question() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let mark = |pid| ProcessMark { pid, started: Some(7) };
    world.ask(
        lead,
        Operation::Runs(Box::new(Runs {
            session: agent,
            agent: mark(10),
            shim: Some(mark(9)),
            acp_session: None,
            place: None,
        })),
    );
    let mut started_by = |pid| {
        let choice = NameChoice::Like(name("orchestrator"));
        let mut new = world.joining(choice, MemberKind::Orchestrator, &[]);
        new.client = Some(mark(pid));
        let session = new.session;
        world.ask(None, Operation::Join(Box::new(new)));
        session
    };
    let (by_agent, by_shim, by_stranger) = (started_by(10), started_by(9), started_by(11));
    let id = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    for below in [by_agent, by_shim] {
        let refusal = world.refuse(below, says(&id, Decision::AllowOnce));
        assert_eq!(refusal, Refusal::OwnQuestion { id: id.clone() });
    }
    world.ask(by_stranger, says(&id, Decision::AllowOnce));
}

#[test]
fn a_question_is_a_notice_until_it_is_answered() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let events = world.ask(lead, new(agent, AskedFirst::Orchestrator));
    let notices = notices(&events, "orchestrator");
    let id = world.state.open_permissions()[0].id.clone();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains(&id.to_string()), "{notices:?}");
    assert!(notices[0].contains(r#""rm -rf target\n--- End at /p/target""#), "{notices:?}");
    assert_eq!(world.unread("orchestrator").len(), 1);
    world.ask(lead, says(&id, Decision::Reject));
    assert!(world.unread("orchestrator").is_empty());
}

#[test]
fn a_question_for_the_user_becomes_a_notice_only_if_the_user_does_not_answer() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = asked(&mut world, lead, agent, AskedFirst::Human);
    assert!(world.unread("orchestrator").is_empty());
    world.ask(lead, Operation::NotifyOfPermission(id.clone()));
    assert!(world.ask(lead, Operation::NotifyOfPermission(id.clone())).is_empty());
    assert_eq!(world.unread("orchestrator").len(), 1);
    let human = PermissionReply::Human(Decision::AllowOnce);
    world.ask(lead, Operation::AnswerPermission(id.clone(), human));
    let expected = (Decision::AllowOnce, Decider::Human, Some(name("orchestrator")));
    assert_eq!(answer(&world, &id), Some(expected));
    assert!(matches!(
        world.refuse(lead, Operation::NotifyOfPermission(id)),
        Refusal::PermissionOver { .. }
    ));
}

#[test]
fn a_notice_says_first_to_call_a_tool_if_that_call_shows_its_readers_user_the_question() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let task = world.assign(other, agent);
    let asks = |world: &mut World, task| {
        let ask = Operation::AskPermission(Box::new(NewQuestion {
            question: Question { task, ..question(agent) },
            offers: vec![Decision::AllowOnce],
            timeout_ms: 120_000,
            to: AskedFirst::HumanWithNextCall,
        }));
        let events = world.ask(lead, ask);
        let sent = events.iter().find_map(|event| match event {
            Event::MessageSent(sent) => Some(format!("{:?}", sent.body)),
            _ => None,
        });
        sent.unwrap()
    };
    let to_holder = asks(&mut world, None);
    let call = "(execute). Call check_messages now: that shows your user the question, once. ";
    assert!(to_holder.contains(call), "{to_holder}");
    assert!(to_holder.contains("rm -rf target"), "{to_holder}");
    let to_other = asks(&mut world, Some(task));
    assert!(!to_other.contains("check_messages"), "its calls show another user: {to_other}");
    assert!(to_other.contains("Answer it with answer_permission"), "{to_other}");
}

#[test]
fn the_assigner_of_the_task_is_notified_else_the_holder_of_the_agent() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let task = world.assign(other, agent);
    let of_task = Operation::AskPermission(Box::new(NewQuestion {
        question: Question { task: Some(task), ..question(agent) },
        offers: Vec::new(),
        timeout_ms: 1,
        to: AskedFirst::Orchestrator,
    }));
    let events = world.ask(lead, of_task);
    assert_eq!(notices(&events, "orchestrator-2").len(), 1);
    let events = world.ask(lead, new(agent, AskedFirst::Orchestrator));
    assert_eq!(notices(&events, "orchestrator").len(), 1);
}

#[test]
fn only_offered_answers_and_a_rejection_are_accepted() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    let refusal = world.refuse(lead, says(&id, Decision::AllowAlways));
    assert!(refusal.to_string().contains("allow_once, reject"), "{refusal}");
    world.ask(lead, says(&id, Decision::Reject));
}

#[test]
fn only_orchestrators_answer_and_only_the_holder_asks() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let peer = world.peer("ann");
    let id = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    for session in [peer, agent] {
        assert_eq!(
            world.refuse(session, says(&id, Decision::AllowOnce)),
            Refusal::NotAnOrchestrator
        );
    }
    assert_eq!(world.refuse(other, new(agent, AskedFirst::Orchestrator)), Refusal::NotTheOwner);
    let unknown = PermissionId::from_bits(9);
    assert!(matches!(
        world.refuse(lead, says(&unknown, Decision::Reject)),
        Refusal::UnknownPermission { .. }
    ));
}

#[test]
fn a_question_without_an_answer_is_rejected_at_its_deadline() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    world.pass(119_999);
    world.due();
    assert_eq!(answer(&world, &id), None);
    world.pass(1);
    world.due();
    assert_eq!(answer(&world, &id), Some((Decision::Reject, Decider::Deadline, None)));
    assert!(world.unread("orchestrator").is_empty(), "the notice is withdrawn");
}

#[test]
fn questions_end_with_their_turn_or_their_agent() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let first = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    let second = asked(&mut world, lead, agent, AskedFirst::Orchestrator);
    let ended = Some((Decision::Cancelled, Decider::Ended, None));
    let end = Operation::EndPermissions { session: agent, ids: vec![first.clone()] };
    world.ask(lead, end);
    assert_eq!(answer(&world, &first), ended);
    assert_eq!(answer(&world, &second), None);
    let events = world
        .ask(lead, Operation::Leave { session: agent, departure: Departure::Failed, detail: None });
    assert_eq!(answer(&world, &second), ended);
    let answered = events.iter().filter(|event| matches!(event, Event::PermissionAnswered(_)));
    assert_eq!(answered.count(), 1, "{events:?}");
    assert!(world.state.open_permissions().is_empty());
}

#[test]
fn an_answer_of_a_policy_is_one_event_and_concerns_no_session() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let record =
        Operation::RecordPermission(Box::new(question(agent)), Decision::AllowOnce, Some(7));
    let events = world.ask(lead, record);
    let [Event::PermissionAnswered(PermissionAnswered { by, question, times: Some(7), .. })] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((*by, question.is_some()), (Decider::Policy, true));
    assert!(crate::bus::rules::concerned(&world.state, &events).is_empty());
    assert!(world.state.permissions.is_empty());
}

#[test]
fn an_agent_has_only_so_many_questions_open() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    for _ in 0..limits::MAX_QUESTIONS {
        world.ask(lead, new(agent, AskedFirst::Human));
    }
    assert!(matches!(
        world.refuse(lead, new(agent, AskedFirst::Human)),
        Refusal::TooManyQuestions { .. }
    ));
}
