//! Messages without their texts, how far each has come with its addressees, and the calls that wait for one.

mod message;
mod wait;
mod deliver_and_settle;
mod delivery_status;
mod message_header;
mod find_messages;

pub use self::delivery_status::{Deliveries, Delivery};
pub use self::message::Message;
pub(in crate::bus) use self::message_header::Origin;
pub use self::wait::Wait;
