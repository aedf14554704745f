//! The read model: what stands on a bus, and what has happened there, as people look at it. Pure.
//!
//! Every window and every `--json` output is made of this and of nothing else. A `Board` shows what stands, and follows from the
//! state; `Happening`s and `Letter`s show what has happened, and follow from the entries of the log. Times and texts come in, so
//! that nothing here reads a clock or a file. docs/view.md describes every field.
//!
//! The words of agents in it are one line each, without invisible characters, and cut.

mod board;
mod decided;
pub mod doing;
mod events;
mod last_turns;
mod live_words;
mod message_events;
mod moment;
mod needs;
mod problems;
mod rows;
mod shown;
mod spent;
mod stretches;
#[cfg(test)]
pub(crate) mod tests;
mod text_source;
mod totals;
mod trace;
mod waits;

pub use self::board::{Board, Looked, VIEW_VERSION};
pub use self::decided::{Decided, DecidedHow, Decisions};
pub use self::events::{
    Conversation, Happening, Happenings, Letter, LetterAttachment, Receipt, ReceiptStatus, SeenBy,
    ThreadEnd, Topic, UserQuestion,
};
pub use self::live_words::{
    LiveKind, LiveLine, call_in_full, last_words, live_lines, open_call, turn_error,
};
pub use self::message_events::{
    ConflictLevel, EventParty, LostMessages, MessageEvent, MessageEventKind, MessageEvents,
};
pub use self::moment::{Moment, span, span_lasts, span_left, span_left_lasts};
pub use self::needs::{Need, NeedKind};
pub use self::problems::{Problem, ProblemKind};
pub use self::rows::commitments::{HeldLease, OwedAnswer};
pub use self::rows::conflict_row::{ConflictRow, PartyRow};
pub use self::rows::member_row::{Group, MemberRow, ReadingTurn, delivery_words};
pub use self::rows::permission_row::PermissionRow;
pub use self::rows::request_row::RequestRow;
pub use self::rows::status_counts::status_counts;
pub use self::rows::task_row::{
    TASK_STATUS_WORDS, TaskRow, task_is_gone, task_status, what_holds_up,
};
pub use self::rows::tree_places::{TreePlace, tree_places};
pub use self::rows::workflow_tree::{StepNode, WorkflowTree, host_of_step, trials_in_words};
pub use self::shown::{
    NOT_REPORTED, PossibleAnswer, StatusLook, Tone, Trouble, USER, WayOut, age, age_lasts, by_whom,
    going_on, human_in, money, short, task_error, took,
};
pub use self::spent::{NOT_COUNTED, Spent, SpentBy, UsageFold, UsageRow};
pub use self::stretches::{
    CUT_SHORT, DIED, NOT_TAKEN, REFUSED, Stretch, StretchKind, Stretches, ended_with_process,
};
pub use self::text_source::{KnownTexts, KnownWords, LongText, NoTexts, Texts, no_text};
pub use self::totals::{IN_ENDED_TURNS, Totals};
pub use self::trace::{
    EdgeKind, Progress, TRACE_VERSION, TextPlace, TextProof, Trace, TraceEdge, TraceFold, TraceId,
    TraceIdError, TraceMessage, TraceProgress, TraceReceipt, TraceScope, TraceStep, TraceStepKind,
    TraceText,
};
