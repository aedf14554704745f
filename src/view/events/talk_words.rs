//! Messages, their receipts, and requests in words.

use super::Topic;
use super::in_flight::{Carried, InFlight};
use super::said::Said;
use super::speaker::{Speaker, after_colon};
use crate::bus::event::{
    ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Event, MessageAcknowledged,
    MessageSent,
};
use crate::bus::state::State;
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::messaging::{Acknowledgement, ConflictEnd, ConflictStep, MessageKind, Signal};
use crate::view::{USER, by_whom};

/// Returns what an event says about messages and requests.
pub(super) fn said(
    event: &Event,
    in_flight: &mut InFlight,
    speaker: &mut Speaker<'_>,
) -> Option<Said> {
    let request = |id: &RequestId, words: String| {
        Some(Said::new(Topic::Request, words).with_ids([id.to_string()]))
    };
    match event {
        Event::MessageSent(sent) => Some(message(sent, speaker)),
        Event::RequestOpened(opened) => {
            let asks = speaker.quote(&opened.description);
            let whom = match &opened.only {
                None => "whoever is free".to_owned(),
                Some(only) => only.to_string(),
            };
            let from = opened.from.to_string();
            let words = format!("{} asks {whom}: {asks} ({})", by_whom(&from), opened.id);
            let about =
                [Some(opened.from.to_string()), opened.only.as_ref().map(ToString::to_string)];
            let said = Said::new(Topic::Request, words).about(about.into_iter().flatten());
            Some(said.with_ids([opened.id.to_string(), opened.message.to_string()]))
        }
        Event::RequestNudged { id } => {
            request(id, format!("nobody has {id}, and a reminder goes out"))
        }
        Event::RequestClaimed { id, by, .. } => {
            let said = request(id, format!("{by} claims {id}"));
            said.map(|said| said.about([by.to_string()]))
        }
        Event::RequestReopened { id, released: true, .. } => {
            request(id, format!("{id} is released, and open again"))
        }
        Event::RequestReopened { id, .. } => request(id, format!("{id} is open again")),
        Event::RequestReminded { id } => {
            request(id, format!("the owner of {id} is silent and was reminded"))
        }
        Event::RequestHandedOver { id, by, to, .. } => {
            let said = request(id, format!("{by} hands {id} over to {to}"));
            said.map(|said| said.about([by.to_string(), to.to_string()]))
        }
        Event::RequestFailed { id } => request(id, format!("{id} failed")),
        Event::RequestCompleted { id, message } => {
            let owner = speaker.state.request(id).and_then(|request| request.owner.as_ref());
            let owner = owner.map(|owner| owner.by.to_string());
            let words = match &owner {
                Some(owner) => format!("{owner} has answered {id}"),
                None => format!("{id} is answered"),
            };
            let said = request(id, words).map(|said| said.about(owner));
            said.map(|said| said.with_ids([message.to_string()]))
        }
        Event::RequestExpired { id } => request(id, format!("{id} ended without an answer")),
        Event::MessageHanded { ids, member, session, call, method } => {
            in_flight.hand((*session, *call), (member, *method), ids);
            let words = format!("{member} gets {} ({})", listed(ids), method.as_str());
            Some(receipt(words, [member.to_string()], ids))
        }
        Event::MessageSeen { session, call } => {
            let carried = in_flight.prove(*session, *call)?;
            let words = format!("{} has seen {}", carried.member, listed(&carried.ids));
            Some(receipt(words, [carried.member.to_string()], &carried.ids))
        }
        Event::MessageAcknowledged(said) => {
            in_flight.acknowledge(&said.member, &said.ids);
            Some(receipt(acknowledged(said), [said.member.to_string()], &said.ids))
        }
        Event::ThreadResolved(resolved) => {
            let (threads, by) = (listed(&resolved.threads), &resolved.by);
            let summary = after_colon(Some(&resolved.summary));
            let words = format!("{by} has resolved the thread of {threads}{summary}");
            Some(receipt(words, [by.to_string()], &resolved.threads))
        }
        Event::MessageReturned { session, call } => {
            let carried = in_flight.give_back(*session, *call)?;
            Some(returned(&carried))
        }
        Event::ConflictOpened(_)
        | Event::ConflictMoved(_)
        | Event::ConflictResolved(_)
        | Event::ConflictOverruled(_) => conflict(event),
        _ => deadline(event, speaker),
    }
}

/// Says that messages on their way to a member are unread again.
pub(super) fn returned(carried: &Carried) -> Said {
    let (member, ids) = (&carried.member, &carried.ids);
    let words = format!("{member} did not get {}, unread again", listed(ids));
    receipt(words, [member.to_string()], ids)
}

/// Says what becomes of a disagreement: it is talk, and no receipt.
fn conflict(event: &Event) -> Option<Said> {
    let said = |words: String, thread: &MessageId| {
        Said::new(Topic::Message, words).with_ids([thread.to_string()])
    };
    match event {
        Event::ConflictOpened(ConflictOpened { thread, parties, about: _ }) => {
            let names: Vec<_> = parties.iter().map(|party| party.by.to_string()).collect();
            let words = format!("{} disagree in the thread of {thread}", names.join(" and "));
            Some(said(words, thread).about(names))
        }
        Event::ConflictMoved(ConflictMoved { thread, to }) => {
            let (words, name) = match to {
                ConflictStep::Round(round) => (format!("round {round}"), None),
                ConflictStep::Arbiter(name) => (format!("{name} is asked to decide"), Some(name)),
                ConflictStep::Human => (format!("{USER} is asked to decide"), None),
            };
            let words = format!("the disagreement in the thread of {thread}: {words}");
            Some(said(words, thread).about(name.map(ToString::to_string)))
        }
        Event::ConflictResolved(ConflictResolved { thread, how, by, message }) => {
            let message = message.as_ref().map(|id| format!(" with {id}")).unwrap_or_default();
            let by_whom = match how {
                ConflictEnd::Lapsed => "has lapsed".to_owned(),
                how => format!("is {} by {}", how.as_str(), by_whom(&by.to_string())),
            };
            let words = format!("the disagreement in the thread of {thread} {by_whom}{message}");
            Some(said(words, thread).about(by.member().map(ToString::to_string)))
        }
        Event::ConflictOverruled(ConflictOverruled { thread, message }) => {
            let words =
                format!("{USER} decides what was over in the thread of {thread}: {message} holds");
            Some(said(words, thread))
        }
        _ => None,
    }
}

/// Says what becomes of a message or of its answer without its recipients.
fn deadline(event: &Event, speaker: &Speaker<'_>) -> Option<Said> {
    match event {
        Event::MessageSuperseded { id, members } => {
            let names = members.named().iter().map(ToString::to_string);
            let ids = std::slice::from_ref(id);
            Some(receipt(format!("{id} is withdrawn"), names, ids))
        }
        Event::MessageExpired { id, member } => {
            let words = format!("{id} will not reach {member}");
            Some(receipt(words, [member.to_string()], std::slice::from_ref(id)))
        }
        Event::MessageUnclaimed { id } => {
            let words = format!("{id} waits for nobody any more");
            Some(receipt(words, [], std::slice::from_ref(id)))
        }
        Event::MessageReminded { id } => {
            let owe = speaker.state.awaited_answer(id).map(|awaited| awaited.to.iter());
            let owe = owe.into_iter().flatten().map(ToString::to_string);
            let words = format!("the answer to {id} is due");
            Some(receipt(words, owe, std::slice::from_ref(id)))
        }
        Event::MessageUnanswered { id } => {
            let words = format!("{id} stays without an answer");
            Some(receipt(words, [], std::slice::from_ref(id)))
        }
        _ => None,
    }
}

/// Says what a member says of messages.
fn acknowledged(said: &MessageAcknowledged) -> String {
    let (ids, member) = (listed(&said.ids), &said.member);
    let note = after_colon(said.note.as_deref());
    match said.status {
        Acknowledgement::Acked => format!("{member} acknowledges {ids}{note}"),
        Acknowledgement::Resolved => format!("{member} has resolved {ids}{note}"),
        Acknowledgement::Superseded => {
            format!("for {member}, something else has taken the place of {ids}{note}")
        }
    }
}

fn message(sent: &MessageSent, speaker: &mut Speaker<'_>) -> Said {
    let text = speaker.quote_message(sent);
    let labels = labels(sent, speaker.state);
    let words = match sent.kind {
        // The bridge writes it in the name of the one who asked.
        MessageKind::Nudge => {
            let whom = sent.audience.to_string();
            let whom = by_whom(&whom);
            format!("the bridge reminds {whom} for {}: {text}", by_whom(&sent.from.to_string()))
        }
        _ => format!("{} → {}{labels}: {text}", sent.from, sent.audience),
    };
    let more = [
        sent.thread.as_ref().map(ToString::to_string),
        sent.reply_to.as_ref().map(ToString::to_string),
        sent.request.as_ref().map(ToString::to_string),
        sent.task.as_ref().map(ToString::to_string),
    ];
    let ids = [sent.id.to_string()].into_iter().chain(more.into_iter().flatten());
    let said = Said::new(Topic::Message, words);
    said.about([sent.from.to_string(), sent.audience.to_string()]).with_ids(ids)
}

/// Returns what a message is for, and how much it matters where that is not as usual.
fn labels(sent: &MessageSent, state: &State) -> String {
    let signal = sent.more.as_ref().and_then(|more| more.signal.as_ref()).map(Signal::as_str);
    // That the person at the command line says it, its sender shows; only that it decides is more.
    let thread = sent.thread.as_ref().unwrap_or(&sent.id);
    let end = state.conflict(thread).and_then(|conflict| conflict.end.as_ref());
    let decides = end.is_some_and(|end| {
        end.how == ConflictEnd::Decided && end.message.as_ref() == Some(&sent.id)
    });
    let signal = signal.filter(|signal| *signal != Signal::RELAY);
    let signal = signal.or(decides.then_some("decision"));
    let priority = (!sent.priority.is_normal()).then(|| sent.priority.as_str());
    let labels: Vec<_> = signal.into_iter().chain(priority).collect();
    if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) }
}

fn receipt(words: String, members: impl IntoIterator<Item = String>, ids: &[MessageId]) -> Said {
    let ids = ids.iter().map(ToString::to_string);
    Said::new(Topic::Receipt, words).about(members).with_ids(ids)
}

fn listed(ids: &[MessageId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::Envelope;
    use crate::domain::messaging::Audience;
    use crate::domain::name::Name;

    #[test]
    fn what_a_person_says_has_no_signal_as_in_the_list_of_messages() {
        let said = |signal: &str| {
            let (id, ann) = (MessageId::from_bits(1), Name::parse("ann").unwrap());
            let signal = Some(Signal::from(std::borrow::Cow::from(signal)));
            let more = Some(Box::new(Envelope { signal, ..Envelope::default() }));
            let sent = MessageSent::plain(id, ann, Audience::All, "go on");
            labels(&MessageSent { more, ..sent }, &State::default())
        };
        assert_eq!((said("relay"), said("question")), (String::new(), " (question)".to_owned()));
    }
}
