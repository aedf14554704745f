//! Messages without their texts, their delivery status for each addressee, and waiting calls.

mod message;
mod envelope_header;
mod message_urgency;
mod acknowledge;
mod answers;
mod pace;
mod queue;
mod wait;
mod deliver_and_settle;
mod delivery_status;
mod message_header;
mod find_messages;

pub use self::answers::AwaitedAnswer;
pub use self::delivery_status::{Deliveries, Delivery};
pub use self::envelope_header::{EnvelopeHeader, UnreadPlace};
pub use self::find_messages::AwaitedReply;
pub use self::message::Message;
pub(in crate::bus) use self::message_header::Origin;
pub use self::pace::{Beside, Likeness, Pace};
pub use self::wait::Wait;
