//! Sends a message as the person at the terminal, and says how far it has come.

use std::time::{Duration, Instant};

use super::act_outcome::seconds;
use super::{Ended, Outcome, Patience, Steering};
use crate::bus::event::{Body, Event};
use crate::bus::rules::HumanWish;
use crate::bus::state::{Delivery, Message, Session, State};
use crate::cli::Failure;
use crate::domain::ids::MessageId;
use crate::domain::member::{Activity, MemberKind};
use crate::domain::messaging::{Audience, Author, DeliveryMethod, Priority, Signal, SignalClass};
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::domain::text::listed::listed;
use crate::domain::time::iso8601;
use crate::domain::wait_times;

/// The most members of a group that are named one by one.
const NAMED: usize = 6;

/// A message of the person.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) to: String,
    pub(crate) text: String,
    /// That of its signal, if none.
    pub(crate) priority: Option<Priority>,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) signal: Option<Signal>,
    /// How long to wait for its answer.
    pub(crate) wait: Option<Duration>,
}

impl Letter {
    /// Makes a message that says a text.
    pub(crate) fn new(to: String, text: String) -> Self {
        Self { to, text, priority: None, reply_to: None, signal: None, wait: None }
    }
}

impl Steering {
    /// Sends a message to a member or to a group. It is stored when this returns; with patience, it also waits a moment for the reader,
    /// or as long as it says for an answer.
    pub(crate) async fn send(
        &self,
        letter: Letter,
        patience: Patience,
    ) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        let Letter { to, text, priority, reply_to, signal, wait } = letter;
        let body = Body::Text(text);
        let answered = reply_to.clone();
        let sent = self.wish(HumanWish::Send { to, body, priority, reply_to, signal }).await?;
        let (id, audience) =
            sent.events.iter().find_map(addressed).ok_or("the message was not stored")?;
        let decided = sent.events.iter().find_map(decided);
        let decided = decided.or_else(|| self.look(|state| beside(state, &id, answered.as_ref())));
        if let Some(limit) = wait {
            let outcome = Outcome::new("send", &audience, Ended::Pending).with_message(&id);
            let outcome = self.await_reply(outcome, (&id, &audience), limit).await?;
            // Nothing of ours stands behind the words of a member.
            let is_answered = outcome.ended == Ended::Done;
            return Ok(if is_answered { outcome } else { outcome.adding(decided) });
        }
        let outcome = Outcome::new("send", &audience, Ended::Pending).with_message(&id);
        let Audience::One(to) = audience else {
            let words = self.look(|state| stored_for_group(state, &id, &audience));
            return Ok(outcome.saying("stored", words).adding(decided).after(begun.elapsed()));
        };
        let mut method = None;
        let limit = match patience {
            Patience::None => Duration::ZERO,
            // Nobody reads it now.
            Patience::Waits if self.look(|state| state.live(&to).is_none()) => Duration::ZERO,
            Patience::Waits => wait_times::WISH_TAKEN,
        };
        let ended = self.until(limit, |state| {
            let delivery = state.message(&id).and_then(|message| message.delivery(&to));
            if let Some(Delivery::InFlight { method: by, .. }) = delivery {
                method = Some(by);
            }
            delivery.filter(|delivery| delivery.is_final())
        });
        let ended = ended.await?;
        let took = begun.elapsed();
        let by = method.map(|method| format!(" ({})", method.as_str())).unwrap_or_default();
        let outcome = match ended {
            Some(delivery) if delivery.is_seen() => {
                let words = format!("`{to}` has read it after {}{by}", seconds(took));
                outcome.saying("seen", words).ended(Ended::Done)
            }
            Some(_) => outcome.saying("expired", format!("`{to}` left before it had read it")),
            None => {
                let (status, words) = self.look(|state| later(state, &id, &to));
                outcome.saying(status, words)
            }
        };
        Ok(outcome.adding(decided).after(took))
    }
}

/// Says what a message has decided.
fn decided(event: &Event) -> Option<String> {
    match event {
        Event::ConflictResolved(resolved) => {
            Some(format!("it decides the disagreement in the thread of {}", resolved.thread))
        }
        Event::ConflictOverruled(overruled) => Some(format!(
            "it decides the disagreement in the thread of {}, which was over, and holds from now on",
            overruled.thread
        )),
        _ => None,
    }
}

/// Says what the person may not expect of a message: that it answers nothing, or not first.
fn beside(state: &State, sent: &MessageId, answered: Option<&MessageId>) -> Option<String> {
    let sent = state.message(sent)?;
    match (answered, &sent.reply_to) {
        (Some(answered), None) => Some(format!(
            "it answers nothing: `{}` has no message `{answered}`, so it begins a thread",
            sent.audience
        )),
        (Some(_), Some(_)) if sent.class() == SignalClass::Decision => {
            Some("it decides nothing: no disagreement in that thread is known".to_owned())
        }
        (Some(asked), Some(_)) => already_answered(state, sent, asked),
        (None, _) => {
            let mut asked = state.questions_for_user();
            let asked = asked.find(|asked| {
                asked.from.member().is_some_and(|name| sent.audience == Audience::One(name.clone()))
            })?;
            Some(format!(
                "`{}` has asked you something: --reply-to {} answers it",
                sent.audience, asked.id
            ))
        }
    }
}

/// Says whose answer to a question to the person came before this one.
fn already_answered(state: &State, sent: &Message, asked: &MessageId) -> Option<String> {
    let is_before = |one: &&Message| one.seq < sent.seq && state.is_answer(one, asked);
    let is_question = state.message(asked)?.is_question_to_user();
    let first = state.messages().filter(is_before).min_by_key(|one| one.seq);
    let first = first.filter(|_| is_question)?;
    let by = match &first.from {
        Author::Human => "you".to_owned(),
        by => format!("`{by}`"),
    };
    let at = iso8601(first.sent_ms);
    Some(format!("{asked} was already answered by {by} at {at}; your words were sent all the same"))
}

fn addressed(event: &Event) -> Option<(MessageId, Audience)> {
    match event {
        Event::MessageSent(sent) if sent.from == Author::Human => {
            Some((sent.id.clone(), sent.audience.clone()))
        }
        _ => None,
    }
}

/// Says whom a message to a group reaches. Nobody waits for all of them to read it.
fn stored_for_group(state: &State, id: &MessageId, audience: &Audience) -> String {
    let deliveries = state.message(id).into_iter().flat_map(|message| message.deliveries.iter());
    let names: Vec<_> = deliveries.map(|(name, _)| name.as_str()).collect();
    let whom =
        if names.len() <= NAMED { listed(&names, "and") } else { counted(names.len(), "member") };
    format!(
        "the message to `{audience}` is stored for {whom}; \
         `cli-team-bridge messages --thread {id}` shows who has read it"
    )
}

/// Says when a member will read a message that it has not read yet.
fn later(state: &State, id: &MessageId, to: &Name) -> (&'static str, String) {
    let delivery = state.message(id).and_then(|message| message.delivery(to));
    if let Some(Delivery::InFlight { method, .. }) = delivery {
        let how = method.as_str();
        let words = format!("the message is on its way to the model of `{to}` ({how})");
        return ("delivered", words);
    }
    let when = match state.live(to) {
        None => format!("`{to}` is not here: the next member of this name will read it"),
        Some(live) if live.hung => {
            format!("`{to}` shows no sign of life and will read it if it comes back")
        }
        Some(live) => format!("`{to}` will read it {}", time_of_reading(live)),
    };
    ("stored", format!("the message is stored; {when}"))
}

/// Says when a live member reads its mail.
fn time_of_reading(live: &Session) -> &'static str {
    if live.kind != MemberKind::Agent {
        return "with its next call of a tool of the bridge";
    }
    let in_turn = [DeliveryMethod::Steer, DeliveryMethod::Drain];
    match live.activity {
        Activity::Starting => "once it has started",
        Activity::Idle => "when its bridge wakes it",
        Activity::Running if live.methods.iter().any(|method| in_turn.contains(method)) => {
            "at its next step"
        }
        Activity::Running => "with its next call of a tool of the bridge, or after its task",
        Activity::Stopping => "only if it is started again: it is being stopped",
    }
}
