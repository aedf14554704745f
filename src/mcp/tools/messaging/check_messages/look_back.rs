//! Looking back: the history of a member, and the messages of one thread. It changes nothing.

use super::{Chosen, Filter, Output};
use crate::bus::api::history::ThreadEnd;
use crate::bus::api::message_text::shown_len;
use crate::bus::rules::Refusal;
use crate::bus::state::Message;
use crate::bus::storage::LogPosition;
use crate::bus::{Bus, BusError, LoadedMessage, Membership};
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::limits;
use crate::domain::text::visible_letters::seen;
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::shapes::conflict_shape::ConflictView;
use crate::mcp::shapes::message_shape::views;
use crate::mcp::tools::messaging::history_cursor::Cursor;
use crate::mcp::{Caller, ToolError};

/// Messages, and the position behind them, if there may be more.
type Page<At> = (Vec<Message>, Option<At>);

/// What names a thread: any message of it, or a request, which stands for the message that shows it.
pub(super) enum ThreadOf {
    Message(MessageId),
    Request(RequestId),
}

impl ThreadOf {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        Ok(if text.starts_with("req-") {
            Self::Request(RequestId::parse(text)?)
        } else {
            Self::Message(MessageId::parse(text)?)
        })
    }

    /// Returns the message; none for a request that there is not.
    fn message(&self, bus: &Bus) -> Result<Option<MessageId>, BusError> {
        match self {
            Self::Message(id) => Ok(Some(id.clone())),
            Self::Request(id) => Ok(bus.find_request(id)?.map(|request| request.message)),
        }
    }

    fn unknown(self) -> Refusal {
        match self {
            Self::Message(id) => Refusal::UnknownMessage { id },
            Self::Request(id) => Refusal::UnknownRequest { id },
        }
    }
}

/// Reads the history.
pub(super) async fn past(
    caller: &mut Caller,
    cursor: Cursor,
    filter: Filter,
    limit: usize,
) -> Result<Output, ToolError> {
    let chosen = Chosen::of(caller, filter)?;
    let membership = caller.membership().clone();
    let read = blocking_read(move || {
        let (bus, me) = (membership.bus(), membership.name());
        bus.refresh()?;
        let is_shown = |message: &Message| chosen.has(message);
        let find = |place, max| bus.history(place, is_shown, me, max);
        look_back(&membership, cursor, find, (limit, Room::of(&membership)))
    });
    let (messages, next) = read.await?;
    Ok(Output::of(views(messages, caller.membership().name()), next))
}

/// Reads a thread: what the reader has sent or got of it. A thread of others is as if unknown.
pub(super) async fn of_thread(
    caller: &mut Caller,
    of: ThreadOf,
    cursor: Cursor,
    limit: usize,
) -> Result<Output, ToolError> {
    let membership = caller.membership().clone();
    let read = blocking_read(move || {
        let (bus, me) = (membership.bus(), membership.name());
        bus.refresh()?;
        let Some(message) = of.message(bus)? else {
            return Err(of.unknown().into());
        };
        let thread = bus.thread_of(&message, me)?;
        if bus.thread_history(None, &thread, me, 1)?.0.is_empty() {
            return Err(of.unknown().into());
        }
        let end = bus.thread_end(&thread)?;
        let end = end.map(|end| ThreadEnd { summary: seen(&end.summary), ..end });
        let taken = end.as_ref().map_or(0, |end| limits::HEADER_BYTES + shown_len(&end.summary));
        let room = Room::of(&membership).less(taken);
        let find = |place, max| bus.thread_history(place, &thread, me, max);
        let conflict = bus.look(|state| state.conflict(&thread).map(ConflictView::of));
        Ok((look_back(&membership, cursor, find, (limit, room))?, end, conflict))
    });
    let ((messages, next), end, conflict) = read.await?;
    let mut output = Output::of(views(messages, caller.membership().name()), next);
    output.conflict = conflict;
    output.resolved = Some(end.is_some());
    if let Some(ThreadEnd { by, summary }) = end {
        (output.resolved_by, output.summary) = (Some(by.to_string()), Some(summary));
    }
    Ok(output)
}

/// The room of an answer.
struct Room {
    /// For all messages.
    all: usize,
    /// For one text.
    one: usize,
}

impl Room {
    fn of(membership: &Membership) -> Self {
        Self { all: membership.answer_room(), one: membership.text_room() }
    }

    fn less(self, bytes: usize) -> Self {
        Self { all: self.all.saturating_sub(bytes), one: self.one.saturating_sub(bytes) }
    }
}

fn look_back(
    membership: &Membership,
    cursor: Cursor,
    find: impl Fn(Option<LogPosition>, usize) -> Result<Page<LogPosition>, BusError>,
    (limit, mut room): (usize, Room),
) -> Result<(Vec<LoadedMessage>, Option<Cursor>), BusError> {
    let (found, after) = find(cursor.place, limit + cursor.shown)?;
    let mut messages = Vec::new();
    let mut at = cursor;
    for message in found.into_iter().skip(cursor.shown) {
        let place = message.body.place;
        let most = limits::HEAD_BYTES.min(room.one);
        let letter = membership.bus().load_message(message, membership.name(), 0, most)?;
        if messages.len() == limit || (letter.shown_len() > room.all && !messages.is_empty()) {
            // `at` is the position behind the last message shown; further messages of that line are counted from the first.
            return Ok((messages, Some(at)));
        }
        at = at.behind(place);
        room.all = room.all.saturating_sub(letter.shown_len());
        messages.push(letter);
    }
    Ok((messages, after.map(Cursor::at)))
}
