//! The attachments that a caller gives, from their fields to what a message says of them. Their files are found in the project and hashed.

use std::path::Path;

use super::project_files::{FileProblem, ProjectFiles};
use crate::domain::limits;
use crate::domain::messaging::{
    Attached, Attachment, AttachmentError, AttachmentKind, check_attachments,
};

/// The fields of an attachment.
#[derive(Clone, Debug, Default)]
pub struct AttachmentFields {
    /// That of its file, if it is missing.
    pub name: Option<String>,
    /// The word of its type.
    pub kind: Option<String>,
    pub mime_type: Option<String>,
    pub content: Option<String>,
    pub path: Option<String>,
}

/// Attachments that are right in themselves, and whose files nobody has looked at yet.
#[derive(Clone, Debug, Default)]
pub struct GivenAttachments {
    attachments: Vec<Attachment>,
    /// The path of each, if it has one.
    paths: Vec<Option<String>>,
}

impl GivenAttachments {
    /// Makes attachments of their fields. An error says what is wrong in itself, before any file is read.
    pub fn parse(all: Vec<AttachmentFields>) -> Result<Self, String> {
        let mut given = Self::default();
        for (fields, number) in all.into_iter().zip(1..) {
            let (attachment, path) = parsed(fields, number)?;
            given.attachments.push(attachment);
            given.paths.push(path);
        }
        let shape: Vec<_> = given.attachments.iter().zip(&given.paths).map(as_if_read).collect();
        check_attachments(&shape).map_err(|error| error.to_string())?;
        Ok(given)
    }

    /// Says whether any of them is a file.
    pub fn have_files(&self) -> bool {
        self.paths.iter().any(Option::is_some)
    }

    /// Returns the attachments, with what their files are now. A relative path begins at `cwd`, or at the project. Blocks.
    pub fn note(
        mut self,
        files: &ProjectFiles,
        cwd: Option<&Path>,
    ) -> Result<Vec<Attachment>, String> {
        let mut left = limits::ATTACHED_FILES_BYTES;
        for ((attachment, path), number) in self.attachments.iter_mut().zip(&self.paths).zip(1..) {
            let Some(path) = path else { continue };
            let file = files.note(cwd, path, left).map_err(|problem| {
                let most = limits::ATTACHED_FILES_BYTES >> 20;
                let why = match problem {
                    FileProblem::TooLong { .. } => {
                        format!(
                            "with it, the files of the message are longer than {most} MiB together"
                        )
                    }
                    problem => format!("{problem}. A path names a file of the project"),
                };
                format!("the path of attachment {number} cannot be attached: {why}")
            })?;
            left -= file.bytes;
            attachment.holds = Attached::File(file);
        }
        Ok(self.attachments)
    }

    /// Returns the attachments, of which none is a file.
    pub fn without_files(self) -> Vec<Attachment> {
        self.attachments
    }
}

/// Returns an attachment that holds something, for a check of the rest.
fn as_if_read((attachment, path): (&Attachment, &Option<String>)) -> Attachment {
    match path {
        None => attachment.clone(),
        Some(_) => Attachment { holds: Attached::Text(String::new()), ..attachment.clone() },
    }
}

/// Makes an attachment of its fields. Returns the path, too, if it has one.
fn parsed(fields: AttachmentFields, number: usize) -> Result<(Attachment, Option<String>), String> {
    let AttachmentFields { name, kind, mime_type, content, path } = fields;
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
