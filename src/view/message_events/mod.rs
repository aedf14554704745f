//! What happens to messages, conversations and disagreements, under the names that another specification gives to such events; and which
//! messages nobody may read any more, which hide their texts from whoever reads the log later.

mod lost_messages;
mod message_event;
mod message_event_fold;
#[cfg(test)]
mod tests;

pub use self::lost_messages::LostMessages;
pub use self::message_event::{ConflictLevel, EventParty, MessageEvent, MessageEventKind};
pub use self::message_event_fold::MessageEvents;
