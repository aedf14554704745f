//! What is attached to a message: a text of its own, or a file of the project, which is named with its size and hash, and not copied.
//! A reference to something else may be a name alone.

use serde::{Deserialize, Serialize};

use crate::domain::limits;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::is_invisible;

/// An attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<AttachmentKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Attached::is_name")]
    pub holds: Attached,
}

/// What an attachment holds beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attached {
    /// Nothing: its name says where to find it.
    #[default]
    Name,
    /// A text, which is part of the message.
    Text(String),
    /// A file of the project.
    File(AttachedFile),
}

/// A file of the project as it was when the message was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedFile {
    /// Its place, links resolved: relative to the project, or absolute in another worktree of its repository.
    pub path: String,
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// What an attachment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Code,
    File,
    Image,
    Document,
    Reference,
}

/// Why something cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    #[error("a message has at most {} attachments, not {count}", limits::ATTACHMENTS)]
    TooMany { count: usize },
    #[error(
        "the name of attachment {number} must be one line of visible letters, at most {} bytes",
        limits::ATTACHMENT_NAME_BYTES
    )]
    Name { number: usize },
    #[error(
        "{given:?} is not the type of an attachment: it is code, file, image, document or reference"
    )]
    Kind { given: String },
    #[error(
        "the mime_type of attachment {number} must be like text/plain, at most {} bytes",
        limits::MIME_TYPE_BYTES
    )]
    MimeType { number: usize },
    #[error("attachment {number} has content and path: give one of them")]
    Both { number: usize },
    #[error(
        "attachment {number} has neither content nor path: give one of them, or the type reference \
            if its name says all"
    )]
    Neither { number: usize },
    #[error(
        "the contents of attachments are {bytes} bytes long as JSON; the limit is {} bytes together: \
            attach a file of the project by its path",
        limits::ATTACHED_TEXT_BYTES
    )]
    TooLong { bytes: u64 },
}

impl AttachmentKind {
    const ALL: [Self; 5] = [Self::Code, Self::File, Self::Image, Self::Document, Self::Reference];

    /// Finds a type by its word, whatever its case.
    pub fn parse(word: &str) -> Result<Self, AttachmentError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word));
        let given = || word.chars().take(limits::SHOWN_NAME_CHARS).collect();
        found.ok_or_else(|| AttachmentError::Kind { given: given() })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::File => "file",
            Self::Image => "image",
            Self::Document => "document",
            Self::Reference => "reference",
        }
    }
}

impl Attached {
    fn is_name(&self) -> bool {
        *self == Self::Name
    }
}

impl Attachment {
    /// Returns the length of what it holds, if it holds anything.
    pub fn bytes(&self) -> Option<u64> {
        match &self.holds {
            Attached::Name => None,
            Attached::Text(text) => Some(text.len() as u64),
            Attached::File(file) => Some(file.bytes),
        }
    }

    /// Returns the bytes of its text as JSON, which stand in the line of the message.
    pub fn inline_bytes(&self) -> u64 {
        match &self.holds {
            Attached::Text(text) => serde_json::to_string(text).map_or(0, |json| json.len() as u64),
            Attached::Name | Attached::File(_) => 0,
        }
    }

    /// Returns what it is in a few words: its type or mime type, and its length.
    pub fn in_words(&self) -> String {
        let kind = self.kind.map(AttachmentKind::as_str);
        let bytes =
            self.bytes().map(|bytes| counted(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"));
        let parts = kind.into_iter().chain(self.mime_type.as_deref()).chain(bytes.as_deref());
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Refuses attachments that are wrong in themselves.
pub fn check_attachments(all: &[Attachment]) -> Result<(), AttachmentError> {
    if all.len() > limits::ATTACHMENTS {
        return Err(AttachmentError::TooMany { count: all.len() });
    }
    for (attachment, number) in all.iter().zip(1..) {
        let Attachment { name, kind, mime_type, holds } = attachment;
        if !is_line(name, limits::ATTACHMENT_NAME_BYTES) {
            return Err(AttachmentError::Name { number });
        }
        if !mime_type.as_deref().is_none_or(is_mime_type) {
            return Err(AttachmentError::MimeType { number });
        }
        if holds.is_name() && *kind != Some(AttachmentKind::Reference) {
            return Err(AttachmentError::Neither { number });
        }
    }
    let bytes = all.iter().map(Attachment::inline_bytes).sum();
    if bytes > limits::ATTACHED_TEXT_BYTES {
        return Err(AttachmentError::TooLong { bytes });
    }
    Ok(())
}

fn is_line(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.len() <= most && !text.contains(is_invisible)
}

/// Says whether a text is a media type (RFC 6838, 4.2), possibly with parameters behind a semicolon.
fn is_mime_type(text: &str) -> bool {
    let is_name = |part: &str| {
        let fits = |sign: char| sign.is_ascii_alphanumeric() || "!#$&-^_.+".contains(sign);
        !part.is_empty() && part.chars().all(fits)
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_plain = |sign: char| sign == ' ' || sign.is_ascii_graphic();
    text.len() <= limits::MIME_TYPE_BYTES
        && essence
            .trim_end()
            .split_once('/')
            .is_some_and(|(kind, sub)| is_name(kind) && is_name(sub))
        && parameters.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, content: &str) -> Attachment {
        let holds = Attached::Text(content.to_owned());
        Attachment { name: name.to_owned(), kind: None, mime_type: None, holds }
    }

    #[test]
    fn names_types_and_lengths_are_checked_and_two_of_one_name_are_fine() {
        let check = |all: &[Attachment], expected: Result<(), &str>| {
            let checked = check_attachments(all).map_err(|error| error.to_string());
            match (&checked, expected) {
                (Ok(()), Ok(())) => {}
                (Err(error), Err(expected)) if error.contains(expected) => {}
                _ => panic!("{all:?}: {checked:?}"),
            }
        };
        check(&[], Ok(()));
        check(&[text("a.rs", "x"), text("a.rs", "")], Ok(()));
        check(&vec![text("a", "x"); 8], Ok(()));
        check(&vec![text("a", "x"); 9], Err("at most 8 attachments, not 9"));
        for name in ["", " ", "a\nb", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(201)] {
            check(
                &[text("a", "x"), text(name, "x")],
                Err("the name of attachment 2 must be one line"),
            );
        }
        check(&[text(&"x".repeat(200), "x")], Ok(()));
        for (mime_type, expected) in [
            ("text/markdown", Ok(())),
            ("application/vnd.api+json; charset=utf-8", Ok(())),
            ("text", Err("must be like text/plain")),
            ("text/", Err("must be like text/plain")),
            ("text/a/b", Err("must be like text/plain")),
            ("text/plain; x=\n", Err("must be like text/plain")),
            ("text/\u{e9}", Err("must be like text/plain")),
        ] {
            let mime_type = Some(mime_type.to_owned());
            check(&[Attachment { mime_type, ..text("a", "x") }], expected);
        }
        let named = |kind| Attachment { kind, holds: Attached::Name, ..text("RFC 9457", "") };
        check(&[named(Some(AttachmentKind::Reference))], Ok(()));
        check(&[named(Some(AttachmentKind::Code))], Err("has neither content nor path"));
        check(&[named(None)], Err("has neither content nor path"));
        let half = "x".repeat(32 * 1024 - 2);
        check(&[text("a", &half), text("b", &half)], Ok(()));
        let together = Err("65537 bytes long as JSON; the limit is 65536 bytes together");
        check(&[text("a", &half), text("b", &format!("{half}x"))], together);
    }

    #[test]
    fn a_type_is_one_word_of_five() {
        for kind in AttachmentKind::ALL {
            assert_eq!(AttachmentKind::parse(&kind.as_str().to_uppercase()), Ok(kind));
        }
        let error = AttachmentKind::parse("picture").unwrap_err().to_string();
        assert!(error.ends_with("it is code, file, image, document or reference"), "{error}");
    }
}
