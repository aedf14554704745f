//! Attachments of messages, as the tools take and read them. The files behind them are looked at on a thread of their own.

mod given_attachments;
mod read_attachment;

pub(super) use self::given_attachments::given;
pub(super) use self::read_attachment::{note_changes, read_attachment};
