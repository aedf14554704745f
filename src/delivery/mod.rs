//! Delivery: which method brings a message to a model, and in what words.
//!
//! A method decides and writes the text. The owner of the agent's session, or of the tool's result, delivers it. The methods:
//!
//! | method | file | when |
//! |---|---|---|
//! | steer | `methods/steer` | into a running turn, if the agent offers it |
//! | drain | `methods/drain` | into a running turn, when the agent asks |
//! | interrupt | `methods/interrupt` | an urgent message ends a turn that no other method gets into; the next prompt has message and task |
//! | prompt | `methods/wake_idle` | a prompt of its own, when the session is idle |
//! | inject | `methods/before_task` | in front of the next task's prompt |
//! | hook | `methods/between_steps` | between two steps of a Claude Code that leads or has joined |
//! | channel | `methods/channel` | pushed into the session of a client that was asked to show pushes |
//! | pull, piggyback | the endpoint's tools | the model asks, or the result of another tool carries them |
//!
//! [`policy`] chooses the method in a running turn, by the agent's [`capabilities`] and its [`pending_mail`]. A delivery that is not
//! proven in time is requeued for the next method: the bus allows at most one delivery of a message in flight. `watch_line` delivers
//! nothing: it writes the lines that announce messages. Neither does the notice of `methods/between_steps`. [`surface`] says which of them
//! reach the sessions of which programs.
//!
//! [`policy`]: crate::delivery::policy
//! [`capabilities`]: crate::delivery::capabilities
//! [`pending_mail`]: crate::delivery::pending_mail
//! [`surface`]: crate::delivery::surface

pub mod capabilities;
pub mod introduction;
pub mod message_frame;
pub mod methods;
pub mod pending_mail;
pub mod policy;
pub mod recipient;
pub mod surface;
pub mod thread_context;
pub mod watch_line;

#[cfg(test)]
mod tests;
