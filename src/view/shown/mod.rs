//! How things are shown in every window: marks of statuses, short forms of numbers and times, and possible answers.

mod answers;
mod end_words;
mod plain_error;
mod short_forms;
mod shown_time;
mod status_look;
mod troubles;
mod why_withdrawn;

pub use self::answers::PossibleAnswer;
pub(in crate::view) use self::end_words::{end_in_full, end_in_words, interrupted};
pub(in crate::view) use self::plain_error::plain_error;
pub use self::plain_error::task_error;
pub use self::short_forms::{NOT_REPORTED, USER, age, age_lasts, by_whom, human_in, money, short};
pub use self::shown_time::{going_on, took};
pub use self::status_look::{StatusLook, Tone};
pub use self::troubles::{Trouble, WayOut};
pub(in crate::view) use self::why_withdrawn::{WithdrawnMessage, why_withdrawn};
