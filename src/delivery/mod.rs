//! The ladder of delivery: which way a message takes to a model, and in what words.
//!
//! A way decides and writes the text; who owns the agent's session or the tool's answer carries it. The ways:
//!
//! | way | file | when |
//! |---|---|---|
//! | steer | `steer` | into a running turn, where the agent offers it |
//! | drain | `drain` | into a running turn, when the agent asks |
//! | interrupt | `interrupt` | an urgent one ends a turn that nothing else gets into, and is prompted with the task |
//! | prompt | `wake` | a prompt of its own, when the session is idle |
//! | inject | `inject` | in front of the next task's prompt |
//! | hook | `hook` | between two steps of a Claude Code that leads or has joined |
//! | pull, piggyback | the endpoint's tools | the model asked, or the result of another tool carries them |
//!
//! [`policy`] chooses in a running turn, from what [`capabilities`] says of the agent. A way that was not proven in time gives back what
//! it had, and the next one takes it: the bus sees to it that a message is in one pair of hands. `doorbell` hands nothing over: it
//! writes the lines that tell of messages.
//!
//! [`policy`]: crate::delivery::policy
//! [`capabilities`]: crate::delivery::capabilities

pub mod methods;
pub mod watch_line;
pub mod message_frame;
pub mod pending_mail;
pub mod policy;
pub mod introduction;
pub mod capabilities;
pub mod recipient;

#[cfg(test)]
mod tests;
