//! Traces: an exchange as a whole, from the entries of the log. A `TraceScope` finds out which messages and requests belong to it, and
//! a `TraceFold` then makes the `Trace` of them. Pure; whoever reads the log decides which of its parts to show to them.

mod recipient_fold;
mod step_fold;
mod trace_fold;
mod trace_message;
mod trace_receipt;
mod trace_scope;
mod trace_step;
#[cfg(test)]
mod tests;
mod traced_exchange;

pub use self::trace_fold::TraceFold;
pub use self::trace_message::{TextPlace, TextProof, TraceMessage, TraceText};
pub use self::trace_receipt::{Progress, TraceProgress, TraceReceipt};
pub use self::trace_scope::{TraceId, TraceIdError, TraceScope};
pub use self::trace_step::{TraceStep, TraceStepKind};
pub use self::traced_exchange::{EdgeKind, TRACE_VERSION, Trace, TraceEdge};
