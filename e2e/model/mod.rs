//! A model server on the loopback interface that plays a script. It replaces the vendors' servers, and records what each model is
//! shown.
//!
//! It speaks Anthropic Messages, `OpenAI` Responses and Chat Completions, and Gemini's generateContent, as a stream or as one body.
//! An answer is written at once; a rule that waits does so before the first byte.

mod pick_rule;
mod hidden_tools;
mod request;
mod rule;
mod smallest_json;
mod server;
mod wire;

pub(crate) use request::{Api, Newest};
pub(crate) use rule::{Reading, Rule};
pub(crate) use server::ModelServer;

pub(crate) mod tests;
