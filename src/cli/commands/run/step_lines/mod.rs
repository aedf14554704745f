//! What `run` prints of the steps where no tree can be drawn: a line for every change, and a summary at the end. Pure.

mod attempt_end;
mod run_summary;
mod step_report;
#[cfg(test)]
mod tests;

pub(super) use self::attempt_end::AttemptEnd;
pub(super) use self::run_summary::{failed_calls, last, summary, transcripts};
pub(super) use self::step_report::{ApprovalFrom, StepReport};
