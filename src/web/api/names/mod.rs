//! The paths and fields of two specifications of others, as further names of what the API has anyway.

mod named_member;
mod shared_thread;
mod signal_routes;
mod role_inbox;
mod agent_message;
mod agent_message_routes;

pub(super) use self::agent_message::AgentMessage;
pub(super) use self::agent_message_routes::{
    broadcast_agent_message, inbox_of_agent, send_agent_message,
};
pub(super) use self::role_inbox::{RoleInbox, WhichPending, inbox_of_role};
pub(super) use self::signal_routes::{
    AckedSignal, EmittedSignal, NamedSignal, NewSignal, ack_signal, claim_signal, emit,
};
