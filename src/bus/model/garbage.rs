//! Events that no rules would write, in any order: a state takes them as facts, and its overdue work still ends.

use uuid::Uuid;

use super::odd_events::{call, group, message, name, request, session, task};
use crate::bus::event::LogPosition;
use crate::bus::event::{Body, Entry, Event};
use crate::bus::rules::{Command, Operation, Pick, concerned, decide};
use crate::bus::state::State;
use crate::bus::storage::file::line_format;
use crate::domain::ids::{CommandId, SessionId, WorkflowId};
use crate::domain::member::Departure;
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, Priority};
use crate::domain::time::{Now, Tick};
use crate::domain::workflow::StepMove;

/// The most appends that overdue work may take.
const ENDLESS: usize = 500;

/// Applies the entries, then lets members run operations, then lets all time pass.
pub(super) fn check(entries: &[Entry], asks: &[[u8; 4]]) {
    let mut state = State::default();
    for entry in entries {
        let encoded = line_format::encode(entry);
        let line_format::Decoded::Entry { entry: decoded, indices, .. } =
            line_format::decode(&encoded[..encoded.len() - 1])
        else {
            panic!("{entry:?}")
        };
        assert_eq!(decoded, *entry);
        state.apply(&decoded, &indices, LogPosition::default());
        let _ = concerned(&state, &entry.events);
    }
    let mut seq = 2_000_000;
    for (number, [kind, a, b, c]) in (0u8..).zip(asks) {
        let now = at(&state, u64::from(*c) * 1_000);
        append(&mut state, now, &mut seq, number, session(*a), ask([*kind, *b, *c]));
    }
    for number in 0..ENDLESS {
        let now = at(&state, u64::MAX);
        let number = 1_000 + number as u64;
        if !append_due(&mut state, now, &mut seq, number) {
            check_snapshot(&state);
            return;
        }
    }
    panic!("overdue work never comes to an end: {state:?}");
}

fn at(state: &State, ms: u64) -> Now {
    let boot = state.boot;
    Now { wall_ms: 0, tick: Tick { boot, ms } }
}

fn ask([kind, a, b]: [u8; 3]) -> Operation {
    match kind % 12 {
        11 => Operation::Acknowledge {
            ids: vec![message(a), message(b)],
            status: Acknowledgement::Acked,
            note: None,
        },
        8 => Operation::CancelWorkflow(WorkflowId::from_bits(u64::from(a % 3))),
        9 => Operation::ResumeWorkflow(WorkflowId::from_bits(u64::from(a % 3))),
        10 => Operation::MoveSteps(
            WorkflowId::from_bits(u64::from(a % 3)),
            vec![(name(b), StepMove::Finish)],
        ),
        0 => Operation::Send {
            to: if a > 128 { group(b).to_string() } else { name(a).to_string() },
            body: Body::Text("x".into()),
            reply_to: (b > 128).then(|| message(b).to_string()),
            priority: Priority::default(),
            more: None,
        },
        1 => Operation::Reap(vec![session(a).into(), session(b).into()]),
        2 => Operation::Claim(request(a), call(b)),
        3 => Operation::Settle { session: session(a), call: call(b), seen: b > 128 },
        4 => Operation::Wait {
            call: call(a),
            from: None,
            request: None,
            reply_to: None,
            timeout_ms: 60_000,
        },
        5 => Operation::CancelTask(task(a)),
        6 => Operation::Take {
            session: session(a),
            call: call(b),
            method: DeliveryMethod::Pull,
            pick: Pick::any(3, 10, 10),
        },
        _ => Operation::Leave { session: session(a), departure: Departure::Failed, detail: None },
    }
}

fn append(
    state: &mut State,
    now: Now,
    seq: &mut u64,
    number: u8,
    by: SessionId,
    operation: Operation,
) {
    let command = Command {
        id: CommandId(Uuid::from_u128(1_000_000 + u128::from(number))),
        by: Some(by),
        received: vec![call(number)],
        operation,
    };
    // A refusal is fine, a panic is not.
    if let Ok(Some(proposal)) = decide(state, now, &command) {
        apply(state, now, seq, command.id, proposal.events);
    }
}

/// Appends overdue work; says whether there was any.
fn append_due(state: &mut State, now: Now, seq: &mut u64, number: u64) -> bool {
    let command = Command {
        id: CommandId(Uuid::from_u128(2_000_000 + u128::from(number))),
        by: None,
        received: Vec::new(),
        operation: Operation::Due,
    };
    let Ok(Some(proposal)) = decide(state, now, &command) else {
        return false;
    };
    apply(state, now, seq, command.id, proposal.events);
    true
}

fn apply(state: &mut State, now: Now, seq: &mut u64, id: CommandId, events: Vec<Event>) {
    let entry = Entry { seq: *seq, ts: 0, tick: now.tick, id, by: None, events };
    *seq = entry.next_seq();
    let indices: Vec<u16> = (0..).take(entry.events.len()).collect();
    state.apply(&entry, &indices, LogPosition::default());
}

fn check_snapshot(state: &State) {
    let mut loaded: State = serde_json::from_slice(&serde_json::to_vec(state).unwrap()).unwrap();
    loaded.rebuild();
    assert_eq!(loaded, *state);
}
