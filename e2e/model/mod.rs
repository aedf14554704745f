//! A model server on the loopback that plays a script: agents take it for their vendor's, and it notes what each model is shown.
//!
//! It speaks Anthropic Messages, `OpenAI` Responses and Chat Completions, and Gemini's generateContent, as a stream or whole. What
//! a rule answers is written at once; what it has to wait for comes before the first byte.

mod pick_rule;
mod hidden_tools;
mod request;
mod rule;
mod smallest_json;
mod server;
mod wire;

pub(crate) use request::{Api, Newest};
pub(crate) use rule::Rule;
pub(crate) use server::ModelServer;

pub(crate) mod tests;
