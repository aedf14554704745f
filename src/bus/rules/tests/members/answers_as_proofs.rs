//! An answer proves the message that it names, by whatever method that was brought but the answer of a call: those have their own proof.

use super::super::*;

/// A message to `codex` that its bridge has put before it by a method.
fn delivered(method: DeliveryMethod, texts: &[&str]) -> (World, SessionId, Vec<MessageId>) {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let from = world.peer("a");
    let ids: Vec<_> = texts.iter().map(|text| world.send(from, "codex", text)).collect();
    let call = world.call();
    world.ask(lead, Operation::Take { session: agent, call, method, pick: all() });
    assert_eq!(world.held(agent, call), ids);
    (world, agent, ids)
}

const IN_TURN: [DeliveryMethod; 5] = [
    DeliveryMethod::Inject,
    DeliveryMethod::Interrupt,
    DeliveryMethod::Prompt,
    DeliveryMethod::Steer,
    DeliveryMethod::Drain,
];

#[test]
fn an_answer_proves_at_once_what_a_prompt_or_a_running_turn_brought() {
    for method in IN_TURN {
        let (mut world, agent, ids) = delivered(method, &["look"]);
        world.reply(agent, "a", &ids[0].to_string());
        assert_eq!(world.delivery(&ids[0], "codex"), Some(Delivery::Seen), "{method:?}");
        // What its bridge finds at the end of the turn changes that no more.
        world.leave_with(agent, Departure::Dead);
        assert_eq!(world.delivery(&ids[0], "codex"), Some(Delivery::Seen), "{method:?}");
    }
}

#[test]
fn an_answer_to_one_of_several_proves_none_until_all_are_answered() {
    for method in IN_TURN {
        let (mut world, agent, ids) = delivered(method, &["one", "two"]);
        let deliveries = |world: &World| {
            ids.iter().map(|id| world.delivery(id, "codex").unwrap()).collect::<Vec<_>>()
        };
        world.reply(agent, "a", &ids[0].to_string());
        assert!(!deliveries(&world).contains(&Delivery::Seen), "{method:?}");
        world.reply(agent, "a", &ids[1].to_string());
        assert_eq!(deliveries(&world), [Delivery::Seen; 2], "{method:?}");
    }
}

#[test]
fn what_names_a_message_without_answering_it_proves_a_push_alone() {
    for method in IN_TURN {
        let (mut world, agent, ids) = delivered(method, &["look"]);
        assert!(world.ask(agent, Operation::Named(ids[0].clone())).is_empty(), "{method:?}");
    }
}

#[test]
fn an_answer_proves_no_answer_of_a_call() {
    for method in [DeliveryMethod::Pull, DeliveryMethod::Piggyback] {
        let (mut world, agent, ids) = delivered(method, &["look"]);
        world.reply(agent, "a", &ids[0].to_string());
        let delivery = world.delivery(&ids[0], "codex").unwrap();
        assert!(matches!(delivery, Delivery::InFlight { .. }), "{method:?}");
    }
}

#[test]
fn the_owner_of_a_request_proves_by_its_answer_the_prompt_that_brought_it() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let from = world.peer("a");
    let request = world.open(from);
    let (call, method) = (world.call(), DeliveryMethod::Prompt);
    world.ask(lead, Operation::Take { session: agent, call, method, pick: all() });
    world.ask(agent, Operation::Claim(request.clone(), CALL));
    let shown = world.shown(&request);
    world.reply(agent, "a", &request.to_string());
    assert_eq!(world.delivery(&shown, "codex"), Some(Delivery::Seen));
}
