//! Messages without their texts, their delivery status for each addressee, and waiting calls.

mod message;
mod acknowledge;
mod pace;
mod wait;
mod deliver_and_settle;
mod delivery_status;
mod message_header;
mod find_messages;

pub use self::delivery_status::{Deliveries, Delivery};
pub use self::message::Message;
pub(in crate::bus) use self::message_header::Origin;
pub use self::pace::{Likeness, Pace};
pub use self::wait::Wait;
