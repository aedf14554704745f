//! The attachments that a call brings, from its fields to what the message says of them.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::domain::messaging::Attachment;
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::{Caller, ToolError};
use crate::sys::fs::project::{AttachmentFields, GivenAttachments};

/// The fields of an attachment.
const FIELDS: [&str; 5] = ["name", "type", "mime_type", "content", "path"];

/// Makes attachments of their fields. Files are looked up and hashed.
pub(in crate::mcp::tools::messaging) async fn given(
    caller: &Caller,
    all: Vec<Map<String, Value>>,
) -> Result<Vec<Attachment>, ToolError> {
    let fields: Result<Vec<_>, _> =
        all.into_iter().zip(1..).map(|(fields, number)| fields_of(fields, number)).collect();
    let given = fields.and_then(GivenAttachments::parse).map_err(ToolError::Arguments)?;
    if !given.have_files() {
        return Ok(given.without_files());
    }
    let Some(files) = caller.files.clone() else {
        let problem = "no file can be attached by its path here: give its content";
        return Err(ToolError::Arguments(problem.to_owned()));
    };
    let session = caller.membership().session();
    let cwd = caller.bus().look(|state| state.session(session)?.cwd.clone()).map(PathBuf::from);
    let noting = blocking_read(move || Ok(given.note(&files, cwd.as_deref())));
    noting.await?.map_err(ToolError::Arguments)
}

/// Reads the fields of an attachment, which are texts.
fn fields_of(mut fields: Map<String, Value>, number: usize) -> Result<AttachmentFields, String> {
    let mut text = |field: &str| match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{field}` of attachment {number} must be a text")),
    };
    let [name, kind, mime_type, content, path] =
        [text(FIELDS[0])?, text(FIELDS[1])?, text(FIELDS[2])?, text(FIELDS[3])?, text(FIELDS[4])?];
    if let Some(unknown) = fields.keys().next() {
        let known = FIELDS.join(", ");
        return Err(format!("attachment {number} has no `{unknown}`: its fields are {known}"));
    }
    Ok(AttachmentFields { name, kind, mime_type, content, path })
}
