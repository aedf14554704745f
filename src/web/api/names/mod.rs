//! The paths and fields of two specifications of others, as further names of what the API has anyway. What the team's model does not
//! have yet is answered with 501, which says so.

mod not_yet;
mod signal_routes;
mod agent_message_routes;

pub(super) use self::agent_message_routes::{
    AgentMessage, broadcast_agent_message, inbox_of_agent, send_agent_message,
};
pub(super) use self::signal_routes::{
    AckedSignal, EmittedSignal, NamedSignal, NewSignal, ack_signal, claim_signal, emit,
    inbox_of_role,
};
