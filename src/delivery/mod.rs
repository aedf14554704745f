//! The ladder of delivery: which way a message takes to a model, and in what words.
//!
//! A way decides and writes the text; who owns the agent's session or the tool's answer carries it. The ways so far:
//!
//! | way | file | when |
//! |---|---|---|
//! | inject | `inject` | in front of the next task's prompt |
//! | prompt | `wake` | a prompt of its own, when the session is idle |
//! | hook | `hook` | between two steps of a Claude Code that leads or has joined |
//! | pull, piggyback | the endpoint's tools | the model asked, or the result of another tool carries them |
//!
//! `doorbell` hands nothing over: it writes the lines that tell of messages.

pub mod doorbell;
pub mod frame;
pub mod hook;
pub mod inject;
pub mod primer;
pub mod wake;

#[cfg(test)]
mod tests;
