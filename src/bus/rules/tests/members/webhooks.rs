//! How far the webhooks are.

use super::super::*;
use crate::domain::limits;
use crate::domain::member::Label;

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

#[test]
fn the_place_of_a_webhook_never_goes_back() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let ci = label("ci");
    assert_eq!(world.state.webhook_place(&ci), None);
    for (by, seq, place) in [(lead, 7, 7), (other, 5, 7), (other, 7, 7), (other, 9, 9)] {
        world.ask(by, Operation::WebhookSent(ci.clone(), seq));
        assert_eq!(world.state.webhook_place(&ci), Some(place));
    }
    assert!(world.ask(lead, Operation::WebhookSent(ci, 9)).is_empty());
}

#[test]
fn only_those_who_lead_say_how_far_a_webhook_is() {
    let mut world = World::new();
    let peer = world.peer("ann");
    let refused = world.refuse(peer, Operation::WebhookSent(label("ci"), 1));
    assert_eq!(refused, Refusal::NotYours);
}

#[test]
fn of_too_many_webhooks_the_one_that_is_behind_is_forgotten() {
    let mut world = World::new();
    let lead = world.lead();
    let most = u64::try_from(limits::WEBHOOK_PLACES).unwrap();
    for number in 1..=most + 1 {
        world.ask(lead, Operation::WebhookSent(label(&format!("w{number}")), number));
    }
    assert_eq!(world.state.webhook_place(&label("w1")), None);
    assert_eq!(world.state.webhook_place(&label("w2")), Some(2));
    // A new one is not the one that goes, though it is behind all others.
    world.ask(lead, Operation::WebhookSent(label("late"), 1));
    assert_eq!(world.state.webhook_place(&label("late")), Some(1));
    assert_eq!(world.state.webhook_place(&label("w2")), None);
}
