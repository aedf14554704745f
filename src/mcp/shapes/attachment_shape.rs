//! The shape of an attachment of a message in the results of tools.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::ids::MessageId;
use crate::domain::messaging::{Attached, Attachment, AttachmentKind};

/// An attachment.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct AttachmentView {
    /// Its name.
    pub name: String,
    /// The id by which `check_messages` reads it, if there is something to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// code, file, image, document or reference, if its sender says so.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Its media type, if its sender says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The length of its text, or of its file when the message was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its file: relative to the project, or absolute in another worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its text, if that is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// true if the file is no longer what was attached. Only where one message or one attachment is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

impl AttachmentView {
    /// Shows an attachment of a message by its number, with its text or without.
    pub(crate) fn new(
        attachment: &Attachment,
        (message, number): (&MessageId, usize),
        with_text: bool,
    ) -> Self {
        let (path, content) = match &attachment.holds {
            Attached::Name => (None, None),
            Attached::Text(text) => (None, with_text.then(|| text.clone())),
            Attached::File(file) => (Some(file.path.clone()), None),
        };
        let bytes = attachment.bytes();
        Self {
            name: attachment.name.clone(),
            id: bytes.map(|_| format!("{message}/{number}")),
            kind: attachment.kind.map(AttachmentKind::as_str),
            mime_type: attachment.mime_type.clone(),
            bytes,
            path,
            content,
            changed: None,
        }
    }

    /// Returns its length in an answer, in bytes.
    pub(crate) fn shown_len(&self) -> usize {
        serde_json::to_string_pretty(self).map_or(usize::MAX, |text| text.len())
    }
}
