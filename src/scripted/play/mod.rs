//! The running agent: it answers the client's requests, and plays the script's turns.

pub(crate) mod acp_handlers;
pub(crate) mod agent_loop;
pub(crate) mod mcp_tools;
pub(crate) mod mid_turn_words;
pub(crate) mod ordered_output;
pub(crate) mod play_session;
pub(crate) mod play_turn;
pub(crate) mod rpc_answers;
pub(crate) mod text_blocks;
