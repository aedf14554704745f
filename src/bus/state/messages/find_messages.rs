//! Queries about messages: unread ones, those in flight, waiting calls, whom these wait for, and whether the answer may still come.

use crate::bus::state::{Chunked, Delivery, Member, Message, State, Wait};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::messaging::{Author, DeliveryMethod, MessageKind, RequestStatus};
use crate::domain::name::Name;

impl State {
    /// Returns the message with that id, if the state still has its header.
    pub fn message(&self, id: &MessageId) -> Option<&Message> {
        self.messages.get(id)
    }

    /// Returns every message whose header the state still has, ended ones too.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    /// Returns the unread messages of a name, the most urgent first, and then the oldest.
    pub fn unread<'a>(&'a self, name: &Name) -> impl Iterator<Item = &'a Message> + use<'a> {
        let ids = self.members.get(name).map(|member| &member.unread);
        ids.into_iter().flat_map(Chunked::values).filter_map(|id| self.messages.get(id))
    }

    /// Returns the unread messages of a member that have been delivered to it before, without proof that it has seen them.
    pub fn returned<'a>(&'a self, name: &Name) -> impl Iterator<Item = &'a Message> + use<'a> {
        let member = self.members.get(name);
        let ids = member
            .into_iter()
            .flat_map(|member| member.returned.iter().filter_map(|place| member.unread.get(place)));
        ids.filter_map(|id| self.messages.get(id))
    }

    /// Returns the number of unread messages that somebody may still read: a live member, or the next session of a chosen name.
    pub fn unread_in_all(&self) -> usize {
        let may_read = |member: &&Member| member.session.is_some() || member.chosen;
        self.members.values().filter(may_read).map(|member| member.unread.len()).sum()
    }

    /// Returns the messages in flight with a call, oldest first.
    pub(in crate::bus) fn in_flight_to(&self, session: SessionId, call: CallId) -> Vec<&Message> {
        let ids = self.sessions.get(&session).and_then(|session| session.in_flight.get(&call));
        ids.into_iter().flatten().filter_map(|id| self.messages.get(id)).collect()
    }

    /// Says whether a call got everything that it holds by this time. For deliveries by older versions that is unknown, and
    /// assumed.
    pub fn held_by(&self, session: SessionId, call: CallId, time_ms: u64) -> bool {
        let session = self.sessions.get(&session);
        let since = session.and_then(|session| session.held_since.get(&call));
        since.is_none_or(|since| *since <= time_ms)
    }

    /// Says whether a call holds messages or a claim, and its answer was written to its client.
    pub fn is_written(&self, session: SessionId, call: CallId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| session.written.contains(&call))
    }

    /// Returns the calls of a session that hold messages delivered by this method.
    pub fn calls_in_flight_by(&self, session: SessionId, method: DeliveryMethod) -> Vec<CallId> {
        let Some(session) = self.sessions.get(&session) else {
            return Vec::new();
        };
        let uses_method = |ids: &Vec<MessageId>| {
            let first = ids.first().and_then(|id| self.messages.get(id));
            let delivery = first.and_then(|message| message.delivery(&session.name));
            matches!(delivery, Some(Delivery::InFlight { method: used, .. }) if used == method)
        };
        let calls = session.in_flight.iter();
        calls.filter(|(_, ids)| uses_method(ids)).map(|(call, _)| *call).collect()
    }

    /// Says whether a call waits.
    pub fn waits(&self, session: SessionId, call: CallId) -> bool {
        self.sessions
            .get(&session)
            .is_some_and(|session| session.waits.iter().any(|wait| wait.call == call))
    }

    /// Says whether there is an unread message that a call waits for.
    pub(in crate::bus) fn has_message_for_wait(&self, session: SessionId, call: CallId) -> bool {
        let Some(session) = self.sessions.get(&session) else {
            return false;
        };
        let wait = session.waits.iter().find(|wait| wait.call == call);
        wait.is_some_and(|wait| self.unread(&session.name).any(|message| wait.fits(self, message)))
    }

    /// Returns the only member whose message a wait with this filter can be for.
    pub fn only_source<'a>(
        &'a self,
        from: Option<&'a Name>,
        reply_to: Option<&MessageId>,
    ) -> Option<&'a Name> {
        let answers = || {
            // The user may answer without whoever speaks with them.
            let asked = self.messages.get(reply_to?).filter(|asked| !asked.audience.is_human())?;
            let mut to = asked.deliveries.iter().filter(|(name, _)| asked.asks(name));
            let (only, _) = to.next()?;
            to.next().is_none().then_some(only)
        };
        from.or_else(answers)
    }

    /// Returns the only member that can end a wait: also the owner of a request, for a wait about that. An open request has none.
    pub(in crate::bus) fn source_of<'a>(&'a self, wait: &'a Wait) -> Option<&'a Name> {
        let owner = || {
            let request = self.requests.get(wait.request.as_ref()?)?;
            let owner = request.owner.as_ref();
            owner.filter(|_| request.status == RequestStatus::Claimed).map(|owner| &owner.by)
        };
        self.only_source(wait.from.as_ref(), wait.reply_to.as_ref()).or_else(owner)
    }

    /// Returns the waits of a live member that are for one member alone, with that one.
    pub(in crate::bus) fn waits_for_one<'a>(
        &'a self,
        name: &Name,
    ) -> impl Iterator<Item = (&'a Wait, &'a Name)> + use<'a> {
        let waits = self.live(name).into_iter().flat_map(|live| &live.waits);
        waits.filter_map(|wait| Some((wait, self.source_of(wait)?)))
    }
}

impl Wait {
    /// Says whether a message ends the wait. A shutdown ends every wait, and news of who has come and left ends none.
    pub fn fits(&self, state: &State, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (!message.is_presence()
                && self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self.request.as_ref().is_none_or(|id| message.request.as_ref() == Some(id))
                && self.reply_to.as_ref().is_none_or(|id| state.is_answer(message, id)))
    }
}

/// How it stands with the answer that a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedReply<'a> {
    /// Somebody may still give one.
    Open,
    /// All who were asked have answered; this is the last answer.
    Given(&'a Message),
    /// Nobody will: all who were asked and have not answered will never see the question.
    Never,
}

impl State {
    /// Says how it stands with the answer that a wait of this member is for, if these others give none any more.
    pub(in crate::bus) fn awaited_reply(
        &self,
        me: &Name,
        wait: &Wait,
        others: &[Name],
    ) -> AwaitedReply<'_> {
        let Some(asked) = wait.reply_to.as_ref().and_then(|id| self.messages.get(id)) else {
            return AwaitedReply::Open;
        };
        let request = asked.request.as_ref().and_then(|id| self.requests.get(id));
        let is_unanswered = request.is_some_and(|request| !request.status.is_final());
        if self.is_promised(&asked.id) || is_unanswered || self.asks_user(&asked.id) {
            return AwaitedReply::Open;
        }
        let of_the_only_one = |message: &&Message| match &message.from {
            Author::Human => true,
            Author::Elsewhere(_) => asked.audience.elsewhere().is_some_and(|to| to.name.is_some()),
            Author::Bridge | Author::Member(_) => false,
        };
        let given: Vec<&Message> = self
            .messages
            .values()
            .filter(|message| message.kind != MessageKind::Shutdown && wait.fits(self, message))
            .filter(|message| message.delivery(me).is_some_and(|delivery| !delivery.ended_unseen()))
            .collect();
        let has_answered =
            |name: &Name| given.iter().any(|message| message.from.member() == Some(name));
        if let Some(answer) = given.iter().find(|message| of_the_only_one(message)) {
            return AwaitedReply::Given(answer);
        }
        let elsewhere = given.iter().filter_map(|message| message.from.elsewhere());
        let elsewhere: Vec<&Name> = elsewhere.map(|from| &from.name).chain(others).collect();
        if self.may_answer_elsewhere(&asked.id, &elsewhere) {
            return AwaitedReply::Open;
        }
        let mut still = asked.deliveries.iter().filter(|(name, delivery)| {
            asked.asks(name)
                && wait.from.as_ref().is_none_or(|from| from == *name)
                && !others.contains(name)
                && !delivery.ended_unseen()
                && !has_answered(name)
        });
        if still.next().is_some() {
            return AwaitedReply::Open;
        }
        let last = given.into_iter().max_by_key(|message| message.seq);
        last.map_or(AwaitedReply::Never, AwaitedReply::Given)
    }

    /// Says whether a message is the answer to another one: of a member that was asked, or of the user who was, and no question back, receipt or report of
    /// progress.
    pub fn is_answer(&self, message: &Message, asked: &MessageId) -> bool {
        message.reply_to.as_ref() == Some(asked)
            && message.kind != MessageKind::Nudge
            && message.class().answers()
            && match &message.from {
                Author::Member(from) => self.was_asked(asked, from),
                Author::Human => self.is_for_user(asked),
                Author::Elsewhere(from) => self.message(asked).is_some_and(|asked| {
                    asked.audience.elsewhere().is_some_and(|to| to.means(from))
                }),
                Author::Bridge => false,
            }
    }

    /// Says whether a message is to the user.
    pub(in crate::bus) fn is_for_user(&self, id: &MessageId) -> bool {
        self.message(id).is_some_and(|message| message.audience.is_human())
    }

    /// Says whether a message asks a member, as far as anything is known of it.
    pub(in crate::bus) fn was_asked(&self, id: &MessageId, name: &Name) -> bool {
        match (self.messages.get(id), self.awaited.get(id)) {
            (Some(message), _) => message.asks(name),
            (None, Some(awaited)) => awaited.to.contains(name),
            (None, None) => true,
        }
    }
}
