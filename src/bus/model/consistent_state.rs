//! The parts of a state agree with each other, whatever has happened.

use std::collections::BTreeSet;

use crate::bus::state::{Delivery, Due, State};
use crate::domain::ids::MessageId;
use crate::domain::messaging::{MessageKind, chain_of_waits};

/// Unread messages are in the inbox, messages in flight belong to their call, and nothing is in two places.
pub(super) fn check_inboxes(state: &State) {
    let mut unread = BTreeSet::new();
    for (name, member) in &state.members {
        let mut bytes = 0;
        for (place, id) in member.unread.iter() {
            bytes += state.messages[id].bytes();
            assert_eq!(state.messages[id].unread_place(), *place);
            assert!(unread.insert((id.clone(), name.clone())));
        }
        assert_eq!(member.unread_bytes, bytes);
        let returned = |(_, id): &(_, &MessageId)| state.messages[*id].is_returned_to(name);
        let returned: BTreeSet<_> =
            member.unread.iter().filter(returned).map(|(place, _)| *place).collect();
        assert_eq!(member.returned, returned);
    }
    let mut in_flight = BTreeSet::new();
    for session in state.sessions.values() {
        for (call, ids) in &session.in_flight {
            assert!(!ids.is_empty());
            for id in ids {
                let place = (id.clone(), session.name.clone(), session.id, *call);
                assert!(in_flight.insert(place));
            }
        }
    }
    for message in state.messages.values() {
        for (name, delivery) in message.deliveries.iter() {
            let inbox = (message.id.clone(), name.clone());
            match *delivery {
                Delivery::Unread { .. } => assert!(unread.remove(&inbox), "{inbox:?}"),
                Delivery::InFlight { session, call, .. } => {
                    let (id, name) = inbox;
                    assert!(in_flight.remove(&(id, name, session, call)));
                }
                _ => {}
            }
        }
    }
    assert_eq!((unread.len(), in_flight.len()), (0, 0), "{unread:?} {in_flight:?}");
}

/// No member waits for one that waits, perhaps through others, for it alone. Who waits for the answer to a request may come to wait in a
/// circle, by the claim of a member that waits.
fn check_waits(state: &State) {
    let lasting = |name| state.waits_for_one(name).filter(|(wait, _)| wait.request.is_none());
    for name in state.members.keys() {
        for (_, whom) in lasting(name).filter(|(_, whom)| *whom != name) {
            let awaited = |name| lasting(name).map(|(_, whom)| whom);
            assert_eq!(chain_of_waits(whom, name, awaited), None, "{name} waits in a circle");
        }
    }
}

/// A wait has a deadline and misses no unread message; a task is either queued or running.
pub(super) fn check_sessions(state: &State) {
    check_waits(state);
    for session in state.sessions.values() {
        for wait in &session.waits {
            assert!(state.timers.runs(&Due::Wait(session.id, wait.call)));
            assert!(!session.in_flight.contains_key(&wait.call));
            let missed = state.unread(&session.name).find(|message| wait.fits(state, message));
            assert_eq!(missed, None, "a wait misses nothing");
        }
        for (call, ids) in &session.in_flight {
            let method = match state.messages[&ids[0]].delivery(&session.name) {
                Some(Delivery::InFlight { method, .. }) => method,
                other => panic!("{other:?}"),
            };
            let runs = state.timers.runs(&Due::Requeue(session.id, *call));
            assert_eq!(runs, method.lost_after_ms().is_some());
        }
        for call in session.unheard.values() {
            let runs = state.timers.runs(&Due::Requeue(session.id, *call));
            assert_ne!(runs, session.written.contains(call), "unheard for ever");
        }
        for call in &session.written {
            assert!(state.holds(session.id, *call));
        }
    }
    for task in state.tasks.values().filter(|task| !task.status.is_final()) {
        let agent = &state.sessions[&task.session];
        assert!(agent.queue.contains(&task.id) != (agent.running.as_ref() == Some(&task.id)));
    }
    for message in state.messages.values() {
        let claimed = message.kind == MessageKind::Response && message.claimed_by.is_some();
        assert!(!claimed || message.request.is_some());
    }
}
