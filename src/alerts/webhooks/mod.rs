//! Webhooks: the messages of an address, each as a POST to a URL of the user, in their order.
//!
//! One bridge sends them, and the bus keeps how far each webhook is. So a restart, or another bridge, goes on behind the last message
//! that was sent. A message whose POST had an answer when its bridge was killed is sent again: it has the same id.

mod message_post;
mod next_message;
mod pass_on;

pub use self::next_message::messages_waiting;
pub(super) use self::pass_on::PassOn;
