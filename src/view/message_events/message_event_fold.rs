//! The events of a log's entries, in their order.

use super::message_event::{ConflictLevel, EventParty, MessageEvent, MessageEventKind};
use crate::bus::event::{
    ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Entry, Event,
    MessageAcknowledged, MessageSent, RequestOpened, ThreadResolved,
};
use crate::bus::state::State;
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Author, ConflictStep, MessageKind};
use crate::domain::name::Name;
use crate::domain::text::visible_letters::beginning;
use crate::view::events::{Carried, InFlight, shown_note};
use crate::view::{Moment, Texts};

/// The most characters of a preview and of a summary.
const PREVIEW: usize = 100;

/// Makes the events of a log's entries.
#[derive(Clone, Debug, Default)]
pub struct MessageEvents {
    in_flight: InFlight,
}

impl MessageEvents {
    /// Returns the events of an entry. `state` is that of the same moment, or a later one. Messages that are lost have no preview.
    pub fn of(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_lost: &dyn Fn(&MessageId) -> bool,
    ) -> Vec<MessageEvent> {
        let mut told = Vec::new();
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            let at = Telling { seq, at: Moment(entry.ts), state };
            match event {
                Event::MessageSent(sent) => {
                    let text = if is_lost(&sent.id) { None } else { texts.text_of(&sent.body) };
                    told.extend(at.sent(sent, text.as_deref()));
                }
                Event::RequestOpened(opened) => {
                    let text = texts.text_of(&opened.description);
                    told.extend(at.opened(opened, text.as_deref()));
                }
                _ => told.extend(self.receipts(event, &at)),
            }
        }
        told
    }

    fn receipts(&mut self, event: &Event, at: &Telling<'_>) -> Vec<MessageEvent> {
        self.in_flight.end(event);
        match event {
            Event::MessageHanded { ids, member, session, call, method } => {
                self.in_flight.hand((*session, *call), (member, *method), ids);
                let received = |id| MessageEvent {
                    status: Some(method.as_str().to_owned()),
                    ..at.receipt(MessageEventKind::MessageReceived, id, member)
                };
                ids.iter().map(received).collect()
            }
            Event::MessageSeen { session, call } => {
                let carried = self.in_flight.prove(*session, *call);
                let read = |carried: Carried| {
                    let ids = carried.ids.iter();
                    let one = |id| at.receipt(MessageEventKind::MessageRead, id, &carried.member);
                    ids.map(one).collect()
                };
                carried.map(read).unwrap_or_default()
            }
            Event::MessageReturned { session, call } => {
                self.in_flight.give_back(*session, *call);
                Vec::new()
            }
            Event::MessageAcknowledged(said) => {
                self.in_flight.acknowledge(&said.member, &said.ids);
                said.ids.iter().map(|id| at.acknowledged(said, id)).collect()
            }
            Event::ThreadResolved(resolved) => at.resolved(resolved),
            Event::MemberLeft { session, .. } => {
                self.in_flight.left(*session);
                Vec::new()
            }
            Event::ConflictOpened(opened) => vec![at.detected(opened)],
            Event::ConflictMoved(moved) => at.escalated(moved).into_iter().collect(),
            Event::ConflictResolved(resolved) => vec![at.settled(resolved)],
            Event::ConflictOverruled(overruled) => vec![at.overruled(overruled)],
            _ => Vec::new(),
        }
    }
}

/// When something happened, and what is known since then.
struct Telling<'a> {
    seq: u64,
    at: Moment,
    state: &'a State,
}

impl Telling<'_> {
    fn event(&self, kind: MessageEventKind) -> MessageEvent {
        MessageEvent {
            seq: self.seq,
            at: self.at,
            kind,
            conversation_id: None,
            message_id: None,
            response_id: None,
            request_id: None,
            from: None,
            to: None,
            action: None,
            priority: None,
            preview: None,
            status: None,
            summary: None,
            participants: Vec::new(),
            topic: None,
            resolution_level: None,
        }
    }

    /// Says that a message was written; that it begins a conversation, before that; and that it answers another one, after that.
    fn sent(&self, sent: &MessageSent, text: Option<&str>) -> Vec<MessageEvent> {
        let more = sent.more.as_deref();
        let thread = sent.thread.as_ref().unwrap_or(&sent.id);
        let written = MessageEvent {
            conversation_id: Some(thread.to_string()),
            message_id: Some(sent.id.to_string()),
            request_id: sent.request.as_ref().map(ToString::to_string),
            from: Some(EventParty::of(&sent.from)),
            to: Some(EventParty::of(&sent.audience)),
            action: more.and_then(|more| more.signal.as_ref()).map(ToString::to_string),
            priority: (!sent.priority.is_normal()).then(|| sent.priority.as_str().to_owned()),
            preview: text.map(|text| beginning(text, PREVIEW)),
            ..self.event(MessageEventKind::MessageSent)
        };
        let begins = *thread == sent.id && sent.from != Author::Bridge;
        let started = begins.then(|| MessageEvent {
            kind: MessageEventKind::ConversationStarted,
            ..written.clone()
        });
        let answered = sent.reply_to.as_ref().filter(|_| is_answer(sent));
        let responded = answered.map(|asked| MessageEvent {
            kind: MessageEventKind::MessageResponded,
            message_id: Some(asked.to_string()),
            response_id: Some(sent.id.to_string()),
            ..written.clone()
        });
        started.into_iter().chain([written]).chain(responded).collect()
    }

    fn opened(&self, opened: &RequestOpened, text: Option<&str>) -> Vec<MessageEvent> {
        let written = MessageEvent {
            conversation_id: Some(opened.message.to_string()),
            message_id: Some(opened.message.to_string()),
            request_id: Some(opened.id.to_string()),
            from: Some(EventParty::of(&opened.from)),
            to: Some(EventParty::of(&opened.audience())),
            priority: (!opened.priority().is_normal())
                .then(|| opened.priority().as_str().to_owned()),
            preview: text.map(|text| beginning(text, PREVIEW)),
            ..self.event(MessageEventKind::MessageSent)
        };
        let started =
            MessageEvent { kind: MessageEventKind::ConversationStarted, ..written.clone() };
        vec![started, written]
    }

    /// Says something of a message and one of its recipients.
    fn receipt(&self, kind: MessageEventKind, id: &MessageId, member: &Name) -> MessageEvent {
        let known = self.state.message(id);
        MessageEvent {
            conversation_id: known.map(|known| known.thread.to_string()),
            message_id: Some(id.to_string()),
            request_id: known.and_then(|known| known.request.as_ref()).map(ToString::to_string),
            from: known.map(|known| EventParty::of(&known.from)),
            to: Some(EventParty::of(member)),
            ..self.event(kind)
        }
    }

    fn acknowledged(&self, said: &MessageAcknowledged, id: &MessageId) -> MessageEvent {
        MessageEvent {
            status: Some(said.status.as_str().to_owned()),
            summary: said.note.as_ref().map(|note| shown_note(note, PREVIEW)),
            ..self.receipt(MessageEventKind::MessageAcknowledged, id, &said.member)
        }
    }

    fn resolved(&self, resolved: &ThreadResolved) -> Vec<MessageEvent> {
        let of_thread = |thread: &MessageId| MessageEvent {
            conversation_id: Some(thread.to_string()),
            from: Some(EventParty::of(&resolved.by)),
            summary: Some(shown_note(&resolved.summary, PREVIEW)),
            ..self.event(MessageEventKind::ConversationResolved)
        };
        resolved.threads.iter().map(of_thread).collect()
    }

    fn detected(&self, opened: &ConflictOpened) -> MessageEvent {
        MessageEvent {
            conversation_id: Some(opened.thread.to_string()),
            message_id: opened.parties.first().map(|party| party.message.to_string()),
            participants: opened.parties.iter().map(|party| EventParty::of(&party.by)).collect(),
            topic: opened.about.clone(),
            ..self.event(MessageEventKind::ConflictDetected)
        }
    }

    /// Says who is asked to decide. A further round is among the parties, and no event.
    fn escalated(&self, moved: &ConflictMoved) -> Option<MessageEvent> {
        let (to, level) = match &moved.to {
            ConflictStep::Round(_) => return None,
            ConflictStep::Arbiter(name) => (EventParty::of(name), ConflictLevel::ExpertArbitration),
            ConflictStep::Human => (EventParty::of(&Author::Human), ConflictLevel::HumanDecision),
        };
        Some(MessageEvent {
            conversation_id: Some(moved.thread.to_string()),
            to: Some(to),
            resolution_level: Some(level),
            ..self.event(MessageEventKind::ConflictEscalated)
        })
    }

    fn settled(&self, resolved: &ConflictResolved) -> MessageEvent {
        MessageEvent {
            conversation_id: Some(resolved.thread.to_string()),
            message_id: resolved.message.as_ref().map(ToString::to_string),
            from: Some(EventParty::of(&resolved.by)),
            status: Some(resolved.how.as_str().to_owned()),
            ..self.event(MessageEventKind::ConflictResolved)
        }
    }

    /// Says that the user has decided what was over: that holds from now on.
    fn overruled(&self, overruled: &ConflictOverruled) -> MessageEvent {
        MessageEvent {
            conversation_id: Some(overruled.thread.to_string()),
            message_id: Some(overruled.message.to_string()),
            from: Some(EventParty::of(&Author::Human)),
            status: Some("decided".to_owned()),
            ..self.event(MessageEventKind::ConflictResolved)
        }
    }
}

/// Says whether a message answers the one to which it replies: it is no reminder, no claim, no question back and no receipt.
fn is_answer(sent: &MessageSent) -> bool {
    sent.from != Author::Bridge
        && sent.kind != MessageKind::Nudge
        && sent.claimed_by.is_none()
        && sent.class().answers()
}
