//! A trace: the messages of an exchange, what joins them, and what happened beside them.

use schemars::JsonSchema;
use serde::Serialize;

use super::trace_message::TraceMessage;
use super::trace_step::TraceStep;
use crate::domain::is_zero::is_zero;

/// The version of this form.
pub const TRACE_VERSION: u32 = 1;

/// An exchange as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trace {
    pub version: u32,
    /// What was asked for.
    pub id: String,
    /// The first message of its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The requests in it.
    pub requests: Vec<String>,
    /// Its messages, oldest first.
    pub nodes: Vec<TraceMessage>,
    /// What joins its messages.
    pub edges: Vec<TraceEdge>,
    /// What happened in it beside its messages, oldest first.
    pub steps: Vec<TraceStep>,
    /// Messages that it names and the log no longer holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The number of later messages that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// A message that follows another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceEdge {
    /// The earlier message.
    pub from: String,
    /// The later message.
    pub to: String,
    #[serde(rename = "type")]
    pub kind: EdgeKind,
}

/// How a message follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// It answers it.
    Response,
    /// It is in the thread that the other one begins.
    Thread,
}
