//! `check_messages`: unread messages, earlier messages from a cursor on, those of a thread, and the rest of one long message.

mod look_back;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::look_back::{ThreadOf, of_thread, past};
use super::attachments::{note_changes, read_attachment};
use super::history_cursor::Cursor;
use super::receipts::{ReceiptView, Receipts, receipts_of};
use super::sender_filter::sender;
use crate::bus::LoadedMessage;
use crate::bus::api::message_text::shown_part;
use crate::bus::rules::{Operation, Pick, Refusal};
use crate::bus::state::Message;
use crate::domain::ids::{MessageId, TaskId};
use crate::domain::limits;
use crate::domain::messaging::{DeliveryMethod, Group};
use crate::domain::name::Name;
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::shapes::conflict_shape::ConflictView;
use crate::mcp::shapes::message_shape::views;
use crate::mcp::{Caller, Effect, InboxMode, MessageView, Tool, ToolError};

pub(crate) struct CheckMessages;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Only from this member; with id, only its receipt.
    agent_id: Option<String>,
    /// Only by this address: `@role`, or `#topic`, which you then follow.
    to: Option<String>,
    /// 1 to 500; default 20.
    limit: Option<u64>,
    /// Read the history instead: 0 for the oldest, then `next_cursor`.
    cursor: Option<String>,
    /// Only this message, from offset on; one of yours with its receipts.
    id: Option<String>,
    /// For the rest of a message: its `next_offset`.
    offset: Option<u64>,
    /// Any id in a thread: all of it, oldest first.
    thread: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The most urgent first, then the oldest; of the history or a thread, the oldest first.
    messages: Vec<MessageView>,
    /// There is more: call again without a cursor for unread messages, or with it for the history or the thread from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// How far your own message has come with each recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipts: Option<Vec<ReceiptView>>,
    /// How many more receipts had no room: ask for one with `agent_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_receipts: Option<usize>,
    /// With `thread`: true if it is resolved, and no message has come since.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<bool>,
    /// Who has resolved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_by: Option<String>,
    /// How, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// With `thread`: what two disagree about in it, or how that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<ConflictView>,
}

impl Output {
    fn of(messages: Vec<MessageView>, next_cursor: Option<Cursor>) -> Self {
        let next_cursor = next_cursor.map(Cursor::text);
        Self {
            messages,
            next_cursor,
            receipts: None,
            more_receipts: None,
            resolved: None,
            resolved_by: None,
            summary: None,
            conflict: None,
        }
    }
}

/// Which messages are asked for.
struct Filter {
    from: Option<String>,
    to: Option<Group>,
}

/// Which messages are asked for, by a known sender.
struct Chosen {
    from: Option<Name>,
    to: Option<Group>,
}

impl Chosen {
    fn of(caller: &Caller, filter: Filter) -> Result<Self, ToolError> {
        let Filter { from, to } = filter;
        Ok(Self { from: from.map(|from| sender(caller, &from)).transpose()?, to })
    }

    fn has(&self, message: &Message) -> bool {
        self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
            && self.to.as_ref().is_none_or(|to| message.audience.is_to(to))
    }
}

/// The parsed arguments.
enum Request {
    Unread {
        filter: Filter,
        limit: usize,
    },
    History {
        cursor: Cursor,
        filter: Filter,
        limit: usize,
    },
    Thread {
        of: ThreadOf,
        cursor: Cursor,
        limit: usize,
    },
    Rest {
        id: MessageId,
        offset: usize,
        /// Only the receipt of this recipient.
        only: Option<String>,
    },
    /// The payload of a message, as JSON.
    Payload {
        id: MessageId,
        offset: usize,
    },
    /// An attachment of a message, by its number.
    Attachment {
        id: MessageId,
        number: usize,
        offset: usize,
    },
    /// The output of an earlier step of the workflow whose step the reader does.
    Output {
        task: TaskId,
        offset: usize,
    },
}

impl Request {
    /// Returns the message of which it gives the id.
    fn named(&self) -> Option<&MessageId> {
        match self {
            Self::Rest { id, .. } | Self::Payload { id, .. } | Self::Attachment { id, .. } => {
                Some(id)
            }
            Self::Unread { .. }
            | Self::History { .. }
            | Self::Thread { .. }
            | Self::Output { .. } => None,
        }
    }
}

impl Tool for CheckMessages {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "check_messages";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "Read your unread messages from the team, urgent ones first; \
        returned messages count as read. Call it when you start, between steps, and before you \
        finish.";
    const MAIL: InboxMode = InboxMode::IsTheAnswer;

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let request = requested(input)?;
        let named = request.named().cloned();
        let output = match request {
            Request::Unread { filter, limit } => unread(caller, filter, limit).await,
            Request::History { cursor, filter, limit } => past(caller, cursor, filter, limit).await,
            Request::Thread { of, cursor, limit } => of_thread(caller, of, cursor, limit).await,
            Request::Rest { id, offset, only } => rest(caller, id, offset, only).await,
            Request::Payload { id, offset } => payload(caller, id, offset).await,
            Request::Attachment { id, number, offset } => {
                let view = read_attachment(caller, id, (number, offset)).await?;
                Ok(Output::of(vec![view], None))
            }
            Request::Output { task, offset } => said_before(caller, task, offset).await,
        };
        // Whoever asks for what the message has not may never have seen it.
        if let (Some(id), Ok(_)) = (&named, &output) {
            caller.call.name_message(id).await?;
        }
        output
    }
}

fn requested(input: Input) -> Result<Request, ToolError> {
    let refuse = |text: &str| Err(ToolError::Arguments(text.to_owned()));
    let offset = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
    if let Some(id) = input.id {
        if input.thread.is_some() {
            return refuse("give id or thread, not both");
        }
        if input.to.is_some() || input.cursor.is_some() || input.limit.is_some() {
            return refuse("with id, give only offset or agent_id: leave out to, cursor and limit");
        }
        if let Ok(task) = TaskId::parse(&id) {
            if input.agent_id.is_some() {
                return refuse("with the id of a task, give only offset: leave out agent_id");
            }
            return Ok(Request::Output { task, offset });
        }
        return match id.split_once('/') {
            None => Ok(Request::Rest { id: MessageId::parse(&id)?, offset, only: input.agent_id }),
            Some((id, "payload")) if input.agent_id.is_none() => {
                Ok(Request::Payload { id: MessageId::parse(id)?, offset })
            }
            Some((id, part)) => match part.parse() {
                Ok(number) if input.agent_id.is_none() => {
                    Ok(Request::Attachment { id: MessageId::parse(id)?, number, offset })
                }
                Err(_) if part != "payload" => refuse(
                    "after the id and `/`, only `payload` or the number of an attachment can stand",
                ),
                _ => refuse("with the id of a payload or an attachment, leave out agent_id"),
            },
        };
    }
    if input.offset.is_some() {
        return refuse("offset needs the id of its message");
    }
    let limit = input
        .limit
        .map_or(limits::CHECK_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if !(1..=limits::MAX_CHECK_LIMIT).contains(&limit) {
        let most = limits::MAX_CHECK_LIMIT;
        return refuse(&format!("limit is {limit}; it must be 1 to {most}"));
    }
    let cursor = match input.cursor.as_deref().map(Cursor::parse) {
        Some(None) => return refuse("invalid cursor: use a next_cursor, or \"0\" for the oldest"),
        cursor => cursor.flatten(),
    };
    if let Some(id) = input.thread {
        if input.agent_id.is_some() || input.to.is_some() {
            return refuse("with thread, give only limit and cursor: leave out agent_id and to");
        }
        let (of, cursor) = (ThreadOf::parse(&id)?, cursor.unwrap_or(Cursor::OLDEST));
        return Ok(Request::Thread { of, cursor, limit });
    }
    let to = input.to.as_deref().map(|text| Group::parse(text.trim()));
    let to = match to.transpose().map_err(Refusal::from)? {
        Some(None) => {
            return refuse(
                "`to` is the address by which messages came, `@role` or `#topic`: for a sender, \
                    use agent_id",
            );
        }
        to => to.flatten(),
    };
    let filter = Filter { from: input.agent_id, to };
    Ok(match cursor {
        None => Request::Unread { filter, limit },
        Some(cursor) => Request::History { cursor, filter, limit },
    })
}

/// Delivers unread messages. Whoever so reads a topic follows it.
async fn unread(caller: &mut Caller, filter: Filter, limit: usize) -> Result<Output, ToolError> {
    let chosen = Chosen::of(caller, filter)?;
    if let Some(Group::Topic(topic)) = &chosen.to {
        caller.call.ask(Operation::FollowTopic(topic.clone())).await?;
    }
    let pick = Pick {
        only: None,
        from: chosen.from.clone(),
        to: chosen.to.clone(),
        kind: None,
        limit,
        bytes: caller.membership().answer_room(),
        head_bytes: limits::HEAD_BYTES,
    };
    let room = caller.membership().answer_room();
    let messages = caller.call.receive_into(room, DeliveryMethod::Pull, pick).await?;
    let next = caller.bus().look(|state| {
        state
            .unread(caller.membership().name())
            .find(|message| chosen.has(message))
            .map(|message| Cursor::at(message.body.place))
    });
    let next = next.filter(|_| !messages.is_empty());
    Ok(Output::of(views(messages, caller.membership().name()), next))
}

/// Reads one message from an offset on, with its receipts if the reader has sent it, and changes nothing.
async fn rest(
    caller: &mut Caller,
    id: MessageId,
    offset: usize,
    only: Option<String>,
) -> Result<Output, ToolError> {
    let asked = only.clone();
    let membership = caller.membership().clone();
    let read = blocking_read(move || {
        let bus = membership.bus();
        bus.refresh()?;
        let header = bus.find_message(&id, membership.name())?;
        let room = membership.text_room();
        if header.from.member() != Some(membership.name()) {
            return Ok((bus.load_message(header, membership.name(), offset, room)?, None));
        }
        // The message keeps a third of the room.
        let for_receipts = limits::RECEIPTS_BYTES.min(room / 3 * 2);
        let only = only.map(|text| {
            let named = bus.look(|state| state.live_as(&text).map(|live| live.name.to_string()));
            named.unwrap_or(text)
        });
        let receipts = receipts_of(bus, &header, only.as_deref(), for_receipts)?;
        let rest = room.saturating_sub(receipts.bytes);
        Ok((bus.load_message(header, membership.name(), offset, rest)?, Some(receipts)))
    });
    let (letter, receipts) = read.await?;
    if let Some(asked) = asked
        && receipts.as_ref().is_none_or(|receipts| receipts.shown.is_empty())
    {
        let problem = match receipts {
            None => "with the id of a message to you, leave out agent_id".to_owned(),
            Some(_) => format!("your message did not go to {asked:?}: leave out agent_id"),
        };
        return Err(ToolError::Arguments(problem));
    }
    let attached = letter.more.as_ref().map(|more| more.attachments.clone()).unwrap_or_default();
    let mut views = views(vec![letter], caller.membership().name());
    if let Some(view) = views.first_mut() {
        note_changes(caller, attached, view).await?;
    }
    let mut output = Output::of(views, None);
    if let Some(Receipts { shown, left_out, .. }) = receipts {
        output.receipts = Some(shown);
        output.more_receipts = (left_out > 0).then_some(left_out);
    }
    Ok(output)
}

/// Reads the payload of one message from an offset on, and changes nothing.
async fn payload(caller: &mut Caller, id: MessageId, offset: usize) -> Result<Output, ToolError> {
    let membership = caller.membership().clone();
    let read = blocking_read(move || {
        let bus = membership.bus();
        bus.refresh()?;
        let header = bus.find_message(&id, membership.name())?;
        let whole = bus.payload_text(&header)?;
        Ok((header, whole, membership.text_room()))
    });
    let (header, whole, room) = read.await?;
    let Some(whole) = whole else {
        return Err(ToolError::Arguments(format!("`{}` has no payload", header.id)));
    };
    let (offset, text) = shown_part(&whole, offset, room);
    let letter = LoadedMessage {
        text: text.to_owned(),
        offset,
        total: whole.len(),
        lost: None,
        is_again: false,
        header,
        more: None,
    };
    let mut view = MessageView::of(letter, caller.membership().name());
    view.id.push_str("/payload");
    Ok(Output::of(vec![view], None))
}

/// Reads the rest of an earlier step's output, and changes nothing.
async fn said_before(
    caller: &mut Caller,
    task: TaskId,
    offset: usize,
) -> Result<Output, ToolError> {
    let (bus, reader) = (caller.bus().clone(), caller.membership().session());
    let said = blocking_read(move || {
        bus.refresh()?;
        let unknown = || Refusal::UnknownTask { id: task.clone() };
        if !bus.look(|state| state.may_read_output(reader, &task)) {
            return Err(unknown().into());
        }
        let task = bus.find_task(&task)?.ok_or_else(unknown)?;
        let body = task.output.ok_or_else(unknown)?;
        let whole = bus.text(body)?;
        Ok((task, whole))
    });
    let (task, whole) = said.await?;
    let view = MessageView::of_output(&task, caller.membership(), &whole, offset);
    Ok(Output::of(vec![view], None))
}
