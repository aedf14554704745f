//! The attachments that a call brings, from its fields to what the message says of them.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::domain::limits;
use crate::domain::messaging::{
    Attached, Attachment, AttachmentError, AttachmentKind, check_attachments,
};
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::{Caller, ToolError};
use crate::sys::fs::project::{FileProblem, ProjectFiles};

/// The fields of an attachment.
const FIELDS: [&str; 5] = ["name", "type", "mime_type", "content", "path"];

/// Makes attachments of their fields. Files are looked up and hashed.
pub(in crate::mcp::tools::messaging) async fn given(
    caller: &Caller,
    all: Vec<Map<String, Value>>,
) -> Result<Vec<Attachment>, ToolError> {
    let parsed: Result<Vec<_>, _> =
        all.into_iter().zip(1..).map(|(fields, number)| parsed(fields, number)).collect();
    let parsed = parsed.map_err(ToolError::Arguments)?;
    let attachments: Vec<_> = parsed.iter().map(|(attachment, _)| attachment.clone()).collect();
    let paths: Vec<_> = parsed.into_iter().map(|(_, path)| path).collect();
    // Before any file is read: what is wrong in itself needs no look at the disk.
    let shape: Vec<_> = attachments.iter().zip(&paths).map(as_if_read).collect();
    let refused = |error: AttachmentError| ToolError::Arguments(error.to_string());
    check_attachments(&shape).map_err(refused)?;
    if paths.iter().all(Option::is_none) {
        return Ok(attachments);
    }
    let Some(files) = caller.files.clone() else {
        let problem = "no file can be attached by its path here: give its content";
        return Err(ToolError::Arguments(problem.to_owned()));
    };
    let session = caller.membership().session();
    let cwd = caller.bus().look(|state| state.session(session)?.cwd.clone()).map(PathBuf::from);
    let noting = blocking_read(move || Ok(noted(&files, cwd.as_ref(), attachments, &paths)));
    noting.await?.map_err(ToolError::Arguments)
}

/// Returns an attachment that holds something, for a check of the rest.
fn as_if_read((attachment, path): (&Attachment, &Option<String>)) -> Attachment {
    match path {
        None => attachment.clone(),
        Some(_) => Attachment { holds: Attached::Text(String::new()), ..attachment.clone() },
    }
}

/// Parses the fields of an attachment. Returns the path, too, if it has one.
fn parsed(
    mut fields: Map<String, Value>,
    number: usize,
) -> Result<(Attachment, Option<String>), String> {
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
    if content.is_some() && path.is_some() {
        return Err(AttachmentError::Both { number }.to_string());
    }
    let name = name.or_else(|| {
        // The name of a file is a name.
        path.as_deref().and_then(|path| path.rsplit('/').next()).map(str::to_owned)
    });
    let name = name.ok_or_else(|| format!("attachment {number} has no `name`"))?;
    let kind = kind.map(|kind| AttachmentKind::parse(&kind)).transpose();
    let kind = kind.map_err(|error| error.to_string())?;
    let holds = content.map_or(Attached::Name, Attached::Text);
    Ok((Attachment { name, kind, mime_type, holds }, path))
}

/// Notes what the files of attachments are now. Blocks.
fn noted(
    files: &ProjectFiles,
    cwd: Option<&PathBuf>,
    mut attachments: Vec<Attachment>,
    paths: &[Option<String>],
) -> Result<Vec<Attachment>, String> {
    let mut left = limits::ATTACHED_FILES_BYTES;
    for ((attachment, path), number) in attachments.iter_mut().zip(paths).zip(1..) {
        let Some(path) = path else { continue };
        let noted = files.note(cwd.map(PathBuf::as_path), path, left);
        let file = noted.map_err(|problem| {
            let most = limits::ATTACHED_FILES_BYTES >> 20;
            let why = match problem {
                FileProblem::TooLong { .. } => {
                    format!("with it, the files of the message are longer than {most} MiB together")
                }
                problem => format!("{problem}. A path names a file of the project"),
            };
            format!("the path of attachment {number} cannot be attached: {why}")
        })?;
        left -= file.bytes;
        attachment.holds = Attached::File(file);
    }
    Ok(attachments)
}
