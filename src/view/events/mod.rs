//! What has happened on a bus: the entries of the log in words, and the messages with their receipts.

mod conversation_fold;
mod happening;
mod in_flight;
mod letter_receipt;
mod letter;
mod member_words;
mod said;
mod speaker;
mod task_words;
mod talk_words;
mod topic;
mod wait_words;
mod workflow_words;

pub use self::conversation_fold::Conversation;
pub use self::happening::{Happening, Happenings};
pub(in crate::view) use self::in_flight::{Carried, InFlight};
pub use self::letter::{Letter, LetterAttachment, SeenBy, ThreadEnd, UserQuestion};
pub(in crate::view) use self::letter_receipt::shown_note;
pub use self::letter_receipt::{Receipt, ReceiptStatus};
pub use self::topic::Topic;
