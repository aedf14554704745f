//! The other project of the model: what its members send here, what becomes of messages there, and what couriers report of both. Its
//! couriers may be stopped with messages in their hands, and bring them again, or long after the others.

use proptest::sample::Index;
use uuid::Uuid;

use super::model_inputs::{choose, one_of_few_envelopes, one_of_few_texts};
use crate::bus::event::Envelope;
use crate::bus::rules::{Arriving, Crossing, NotRelayed, Operation};
use crate::bus::state::State;
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::Label;
use crate::domain::messaging::{
    DirectoryMark, HeldWhy, ListedProjects, MessageOrigin, OriginPlace, Priority, ReceiptElsewhere,
    StateElsewhere,
};
use crate::domain::name::Name;

/// The last number of its messages, and each of them as a courier took it, with whether the other project knows that it is here.
#[derive(Default)]
pub(super) struct Neighbour {
    seq: u64,
    taken: Vec<(Arriving, bool)>,
}

/// The projects that sessions of the model know. Some know another directory under the tag.
pub(super) fn listed(number: u128) -> ListedProjects {
    let directory = if number.is_multiple_of(11) { "/elsewhere" } else { "/web" };
    let mark = DirectoryMark::of(std::path::Path::new(directory));
    ListedProjects {
        own: Some(label("po")),
        tags: [(label("web"), mark)].into(),
        ..ListedProjects::default()
    }
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// A member sends to the other project, with one of the few envelopes.
pub(super) fn sending_there(how: u8, number: u128, reply_to: Option<MessageId>) -> Operation {
    let to = if how.is_multiple_of(3) { "web:*" } else { "web:wendy" };
    let (priority, more) = one_of_few_envelopes(how);
    let more = more.map(|more| crossing_part(*more));
    let body = one_of_few_texts(number);
    Operation::Send {
        to: to.to_owned(),
        body,
        reply_to: reply_to.map(String::from),
        priority,
        more,
    }
}

/// Of an envelope, what crosses.
fn crossing_part(more: Envelope) -> Box<Envelope> {
    let Envelope { signal, urgency, response_seconds, .. } = more;
    Box::new(Envelope { signal, urgency, response_seconds, ..Envelope::default() })
}

/// What a courier reports of a message to the other project, or of one from there. It may be long after that is settled.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "steps are looked at, and so are the indices in them"
)]
pub(super) fn report(
    state: &State,
    messages: &[MessageId],
    which: &Index,
    how: u8,
) -> Option<Operation> {
    let outbox: Vec<_> = state.outbox().iter().map(|message| message.id.clone()).collect();
    let among = if outbox.is_empty() { messages } else { &outbox };
    let id = choose(among, which)?;
    let told = state.receipts_to_tell().next();
    let report = match (how, told) {
        (0..4, Some((arrived, receipts))) => Crossing::Told { id: arrived.id.clone(), receipts },
        (0..8, _) => {
            let there = id_there(&id);
            Crossing::Relayed { id, there, receipts: receipts(how) }
        }
        (8 | 9, _) => Crossing::Held { id, why: HeldWhy::Nobody },
        (10, _) if state.is_relayed(&id) => {
            let before = state.crossed(&id).map(|crossed| crossed.receipts.clone());
            Crossing::Found { id, before: before.unwrap_or_default(), receipts: receipts(how) }
        }
        (10 | 11, _) => Crossing::Held { id, why: HeldWhy::NoBus },
        _ => Crossing::Failed { id, why: NotRelayed::UnknownMember { there: Vec::new() } },
    };
    Some(Operation::Crossing(report))
}

/// The other project gives each message one id.
fn id_there(id: &MessageId) -> MessageId {
    let bits =
        id.to_string().bytes().fold(0, |bits: u64, byte| bits.rotate_left(5) ^ u64::from(byte));
    MessageId::from_bits(bits)
}

fn receipts(how: u8) -> Vec<ReceiptElsewhere> {
    let states = [
        StateElsewhere::Unread,
        StateElsewhere::Seen,
        StateElsewhere::Acked,
        StateElsewhere::Expired,
    ];
    let state = states[usize::from(how) % states.len()];
    vec![ReceiptElsewhere::of(Name::parse("wendy").unwrap(), state)]
}

impl Neighbour {
    /// What the other project's courier puts on this bus: a message, new or once more, or the receipts of one that went there.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "steps are looked at, and so are the indices in them"
    )]
    pub(super) fn comes(
        &mut self,
        state: &State,
        messages: &[MessageId],
        which: &Index,
        how: u8,
    ) -> Option<Operation> {
        let crossing = match how {
            0..4 => {
                let id = choose(messages, which)?;
                let there = id_there(&id);
                Crossing::Receipts { from: label("web"), id, there, receipts: receipts(how) }
            }
            4..8 if !self.taken.is_empty() => {
                let place = which.index(self.taken.len());
                // The courier that brought it has written at home that it is here, or was killed before.
                self.taken[place].1 |=
                    how.is_multiple_of(2) && is_here(state, &self.taken[place].0);
                Crossing::Arrive(Box::new(self.taken[place].0.clone()))
            }
            _ => Crossing::Arrive(Box::new(self.send(state, messages, which, how))),
        };
        Some(Operation::Crossing(crossing))
    }

    /// A member of the other project sends a message, perhaps in reply to one that went there, and a courier takes it.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "steps are looked at, and so are the indices in them"
    )]
    fn send(&mut self, state: &State, messages: &[MessageId], which: &Index, how: u8) -> Arriving {
        self.seq += 1;
        let live = state.live_sessions();
        let to =
            if how.is_multiple_of(3) { None } else { live.first().map(|one| one.name.clone()) };
        let waiting = self.taken.iter().filter(|(_, is_known)| !is_known);
        let oldest = waiting.filter_map(|(one, _)| one.origin.place).map(|place| place.seq).min();
        let place = OriginPlace {
            bus: SessionId(Uuid::from_u128(1 << 100)),
            seq: self.seq,
            oldest: oldest.unwrap_or(self.seq),
        };
        let id = MessageId::from_bits(self.seq);
        let sent_ms = i64::try_from(self.seq).unwrap();
        let arriving = Arriving {
            from: Name::parse("wendy").unwrap(),
            origin: MessageOrigin { tag: label("web"), id, sent_ms, place: Some(place) },
            to,
            body: one_of_few_texts(u128::from(self.seq)),
            priority: if how > 12 { Priority::Urgent } else { Priority::Normal },
            more: None,
            reply_to: choose(messages, which).filter(|_| how.is_multiple_of(2)),
        };
        self.taken.push((arriving.clone(), false));
        arriving
    }
}

/// Says whether a message is on this bus, or was.
fn is_here(state: &State, arriving: &Arriving) -> bool {
    state.arrived(&arriving.origin).is_some()
}
