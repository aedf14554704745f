//! The receipts of a member's own message: how far it has come with each recipient, from the log. Where the state still knows the
//! message, it has the last word.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::api::message_text::{shown_len, shown_part};
use crate::bus::event::{Entry, Event};
use crate::bus::state::{Message, State};
use crate::bus::{Bus, BusError};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::domain::text::visible_letters::seen;
use crate::domain::time::iso8601;
use crate::view::{Conversation, Letter, Moment, NoTexts, Receipt, ReceiptStatus};

/// The bytes of a note's field around its text.
const NOTE_FIELD_BYTES: usize = r#","note":"""#.len();

/// How far a message has come with one recipient.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiptView {
    /// The recipient.
    name: String,
    /// queued (for another project), unread, handed (on its way to the model), seen, acked, resolved, superseded, withdrawn, expired or
    /// undelivered (to another project).
    state: &'static str,
    /// How it was delivered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<String>,
    /// Since when it is in this state, in UTC, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// The id of the recipient's first reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// What the recipient says of it; `…` where it is cut, and with `agent_id` as much as fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The receipts of one message.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    pub(super) shown: Vec<ReceiptView>,
    /// How many more there are.
    pub(super) left_out: usize,
    /// How many bytes of the answer they take.
    pub(super) bytes: usize,
}

/// Reads the receipts of a message, or of one of its recipients: as many as have room, then as much of their notes.
pub(super) fn receipts_of(
    bus: &Bus,
    message: &Message,
    only: Option<&str>,
    room: usize,
) -> Result<Receipts, BusError> {
    let id = message.id.to_string();
    let mut found = Found::of(message.id.clone());
    bus.entries_with_any(&[&id], |_, entry| {
        bus.look(|state| found.take(&entry, state));
    })?;
    // A proof names its call alone, so it may stand in a part of the log without the message's id.
    if bus.look(|state| found.misses_a_proof(state)) {
        let calls: Vec<_> = found.calls.values().take(limits::SEARCHED_CALLS).cloned().collect();
        let texts = calls.iter().map(String::as_str).chain([id.as_str()]);
        let mut again = Found::of(message.id.clone());
        bus.entries_with_any(&texts.collect::<Vec<_>>(), |_, entry| {
            bus.look(|state| again.take(&entry, state));
        })?;
        found = again;
    }
    Ok(bus.look(|state| found.receipts(state, only, room)))
}

/// What the log says of one message.
struct Found {
    id: MessageId,
    conversation: Conversation,
    /// By recipient: the last call that carried it, the first reply, the note of the last acknowledgement.
    calls: BTreeMap<String, String>,
    answers: BTreeMap<String, String>,
    notes: BTreeMap<String, String>,
    /// When the user has answered a question, and with which message.
    by_user: Option<(Moment, String)>,
}

impl Found {
    fn of(id: MessageId) -> Self {
        Self {
            id,
            conversation: Conversation::new(1, 1),
            calls: BTreeMap::new(),
            answers: BTreeMap::new(),
            notes: BTreeMap::new(),
            by_user: None,
        }
    }

    fn take(&mut self, entry: &Entry, state: &State) {
        let id = self.id.to_string();
        let is_it = |letter: &Letter| letter.message_id == id;
        self.conversation.take_some(entry, state, &mut NoTexts, &is_it);
        for event in &entry.events {
            match event {
                Event::MessageHanded { ids, member, call, .. } if ids.contains(&self.id) => {
                    self.calls.insert(member.to_string(), call.0.to_string());
                }
                Event::MessageSent(sent) if sent.reply_to.as_ref() == Some(&self.id) => {
                    if sent.from == Author::Human {
                        let answer = (Moment(entry.ts), sent.id.to_string());
                        self.by_user.get_or_insert(answer);
                    }
                    let answer = self.answers.entry(sent.from.to_string());
                    answer.or_insert_with(|| sent.id.to_string());
                }
                Event::MessageAcknowledged(said) if said.ids.contains(&self.id) => {
                    let member = said.member.to_string();
                    match &said.note {
                        Some(note) => self.notes.insert(member, note.clone()),
                        None => self.notes.remove(&member),
                    };
                }
                Event::MessageRelayed(relayed) if relayed.id == self.id => {
                    let tag =
                        state.message(&self.id).and_then(|message| message.audience.elsewhere());
                    let Some(tag) = tag.map(|address| address.tag.clone()) else { continue };
                    for receipt in &relayed.receipts {
                        if let Some(note) = &receipt.note {
                            self.notes.insert(format!("{tag}:{}", receipt.name), note.clone());
                        }
                    }
                }
                Event::ThreadResolved(said) if said.threads.contains(&self.id) => {
                    self.notes.insert(said.by.to_string(), said.summary.clone());
                }
                _ => {}
            }
        }
    }

    /// Says whether a delivery has ended that is not known to have: each that the state has forgotten has.
    fn misses_a_proof(&self, state: &State) -> bool {
        let known = state.message(&self.id);
        let has_ended = |receipt: &Receipt| match known {
            Some(known) => known
                .deliveries
                .iter()
                .any(|(name, delivery)| name.as_str() == receipt.member && delivery.is_seen()),
            None => true,
        };
        let mut receipts = self.conversation.letters().flat_map(|letter| &letter.receipts);
        receipts.any(|receipt| receipt.status == ReceiptStatus::Delivered && has_ended(receipt))
    }

    fn receipts(mut self, state: &State, only: Option<&str>, room: usize) -> Receipts {
        let Some(mut letter) = self.conversation.letters().next().cloned() else {
            return Receipts::default();
        };
        if let Some(known) = state.message(&self.id) {
            letter.correct(known);
        }
        let is_chosen =
            |receipt: &Receipt| only.is_none_or(|only| receipt.member.eq_ignore_ascii_case(only));
        let mut chosen = std::mem::take(&mut letter.receipts);
        if letter.to == Author::HUMAN
            && let Some((at, id)) = self.by_user.take()
        {
            // The user has no inbox, and the answer proves that they have read it.
            let read = Receipt::unread(Author::HUMAN.to_owned());
            chosen.push(Receipt { status: ReceiptStatus::Seen, seen_at: Some(at), ..read });
            self.answers.insert(Author::HUMAN.to_owned(), id);
        }
        chosen.retain(is_chosen);
        let (mut shown, mut bytes) = (Vec::new(), 0_usize);
        let all = chosen.len();
        for receipt in chosen {
            let view = self.view(receipt, &letter);
            let more = serde_json::to_string(&view).map_or(usize::MAX, |text| text.len() + 1);
            let is_full = bytes.saturating_add(more) > room && !shown.is_empty();
            if shown.len() == limits::SHOWN_RECEIPTS || is_full {
                break;
            }
            bytes += more;
            shown.push(view);
        }
        bytes += self.add_notes(&mut shown, room.saturating_sub(bytes));
        Receipts { left_out: all - shown.len(), shown, bytes }
    }

    /// Adds the notes to receipts: the short ones whole, the longer ones cut to equal shares of the room. Returns how many bytes they
    /// take.
    fn add_notes(&mut self, shown: &mut [ReceiptView], room: usize) -> usize {
        let mut notes: Vec<_> = shown
            .iter_mut()
            .filter_map(|view| {
                let note = seen(&self.notes.remove(&view.name)?);
                Some((shown_len(&note), note, &mut view.note))
            })
            .collect();
        notes.sort_by_key(|(bytes, ..)| *bytes);
        let (mut left, mut more) = (room, notes.len());
        for (bytes, note, place) in notes {
            let share = (left / more).saturating_sub(NOTE_FIELD_BYTES);
            let shown = if bytes <= share {
                note
            } else {
                let (_, head) = shown_part(&note, 0, share.saturating_sub('…'.len_utf8()));
                format!("{head}…")
            };
            left = left.saturating_sub(shown_len(&shown) + NOTE_FIELD_BYTES);
            more -= 1;
            *place = Some(shown);
        }
        room - left
    }

    fn view(&mut self, receipt: Receipt, letter: &Letter) -> ReceiptView {
        let (state, at) = match receipt.status {
            ReceiptStatus::Queued => ("queued", Some(letter.at)),
            ReceiptStatus::Unread => ("unread", Some(letter.at)),
            ReceiptStatus::Delivered => ("handed", receipt.delivered_at),
            ReceiptStatus::Seen => ("seen", receipt.seen_at),
            status @ (ReceiptStatus::Withdrawn
            | ReceiptStatus::Expired
            | ReceiptStatus::Undelivered) => (status.as_str(), receipt.ended_at),
            status => (status.as_str(), receipt.acknowledged_at),
        };
        ReceiptView {
            state,
            way: receipt.method,
            at: at.map(|at| iso8601(at.0)),
            answer: self.answers.remove(&receipt.member),
            note: None,
            name: receipt.member,
        }
    }
}
