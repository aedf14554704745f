//! Reads one attachment of a message: its text, or its file as it is now.

use crate::bus::LoadedMessage;
use crate::bus::api::message_text::shown_part;
use crate::bus::rules::Refusal;
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Attached, Attachment};
use crate::domain::text::visible_letters::quoted;
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::shapes::attachment_shape::AttachmentView;
use crate::mcp::{Caller, MessageView, ToolError};
use crate::sys::fs::project::{FileProblem, NoReading, ProjectFiles};

/// What an attachment holds now.
struct Content {
    text: String,
    /// Why there is none.
    lost: Option<String>,
    is_changed: bool,
}

/// Reads an attachment by its number, from an offset on, and changes nothing.
pub(in crate::mcp::tools::messaging) async fn read_attachment(
    caller: &Caller,
    id: MessageId,
    (number, offset): (usize, usize),
) -> Result<MessageView, ToolError> {
    let (membership, files) = (caller.membership().clone(), caller.files.clone());
    let read = blocking_read(move || {
        let bus = membership.bus();
        bus.refresh()?;
        let header = bus.find_message(&id, membership.name())?;
        let all = bus.attachments(&header)?;
        let Some(attachment) = number.checked_sub(1).and_then(|index| all.get(index)) else {
            return Err(Refusal::NoAttachment { id, count: all.len() }.into());
        };
        let content = content(attachment, files.as_ref());
        Ok((header, attachment.clone(), content, membership.text_room()))
    });
    let (header, attachment, content, room) = read.await?;
    let mut shown = AttachmentView::new(&attachment, (&header.id, number), false);
    shown.changed = content.is_changed.then_some(true);
    let (offset, text) = shown_part(&content.text, offset, room.saturating_sub(shown.shown_len()));
    let letter = LoadedMessage {
        text: text.to_owned(),
        offset,
        total: content.text.len(),
        lost: content.lost,
        is_again: false,
        header,
        more: None,
    };
    let mut view = MessageView::of(letter, caller.membership().name());
    view.id = format!("{}/{number}", view.id);
    view.attachments = vec![shown];
    Ok(view)
}

/// Looks at what an attachment holds. Blocks.
fn content(attachment: &Attachment, files: Option<&ProjectFiles>) -> Content {
    let lost = |why: String| Content { text: String::new(), lost: Some(why), is_changed: false };
    match &attachment.holds {
        Attached::Name => lost("it is a name alone, which says where to find it".to_owned()),
        Attached::Text(text) => Content { text: text.clone(), lost: None, is_changed: false },
        Attached::File(file) => match files.map(|files| files.read(file)) {
            None => lost("no file of the project can be read here".to_owned()),
            Some(Ok((text, is_changed))) => Content { text, lost: None, is_changed },
            Some(Err(why)) => {
                let is_changed = match &why {
                    NoReading::NotText | NoReading::File(FileProblem::TooLong { .. }) => {
                        files.is_some_and(|files| files.is_changed(file).unwrap_or(true))
                    }
                    NoReading::File(_) => true,
                };
                let what = attachment.in_words();
                Content {
                    is_changed,
                    ..lost(format!(
                        "the file at {} ({what}) is not shown: {why}",
                        quoted(&file.path, limits::PROMPT_CHARS)
                    ))
                }
            }
        },
    }
}

/// Marks the attached files of messages that are no longer what they were, or not there any more.
pub(in crate::mcp::tools::messaging) async fn note_changes(
    caller: &Caller,
    attachments: Vec<Attachment>,
    view: &mut MessageView,
) -> Result<(), ToolError> {
    let Some(files) = caller.files.clone().filter(|_| !attachments.is_empty()) else {
        return Ok(());
    };
    let look = blocking_read(move || {
        let changed = attachments.iter().map(|attachment| match &attachment.holds {
            Attached::File(file) => files.is_changed(file).unwrap_or(true),
            Attached::Name | Attached::Text(_) => false,
        });
        Ok(changed.collect::<Vec<_>>())
    });
    for (shown, is_changed) in view.attachments.iter_mut().zip(look.await?) {
        shown.changed = is_changed.then_some(true);
    }
    Ok(())
}
