//! The read model of a bus on disk: boards, walks over the log, whole tasks, and the last messages and happenings.
//!
//! What every window reads, whichever it is. It prints nothing, and changes nothing on the bus.

mod asking_prompt;
mod log_texts;
mod read_board;
mod recent_history;
mod thread_of_message;
mod trace_exchange;
mod unlisted_turn;
mod walk_log;
mod whole_task;

pub use self::asking_prompt::asking_prompt;
pub use self::log_texts::LogTexts;
pub use self::read_board::{board, board_again, held_sessions};
pub use self::recent_history::{History, last_stretches};
pub use self::thread_of_message::thread_of_message;
pub use self::trace_exchange::{TraceOutcome, trace};
pub use self::unlisted_turn::{UnlistedTurn, unlisted_turn};
pub use self::walk_log::{fold_back, walk, walk_all};
pub use self::whole_task::{WholeTask, no_such_task, whole_task};
