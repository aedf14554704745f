//! The caps of what is attached to a message.

/// Attachments of one message.
pub const ATTACHMENTS: usize = 8;

/// The texts that are attached to one message, as JSON: like a payload they stand in its line.
pub const ATTACHED_TEXT_BYTES: u64 = 64 * 1024;

/// The files that are attached to one message: so much is hashed in about a second, and read again by whoever looks at it.
pub const ATTACHED_FILES_BYTES: u64 = 64 * 1024 * 1024;

/// The longest name of an attachment, and the longest media type (RFC 6838 has 127 bytes for each half).
pub const ATTACHMENT_NAME_BYTES: usize = 200;
pub const MIME_TYPE_BYTES: usize = 255;

/// Bytes of an attachment in an answer beside its texts, with a line per field.
pub const ATTACHMENT_BYTES: usize = 240;

/// The longest place of an attached file: eight of them leave an answer room for its text.
pub const ATTACHED_PATH_BYTES: usize = 512;
