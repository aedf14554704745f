//! The answers that are waited for: those that members owe each other, and those of the user.

mod owed_answer;
mod awaited_answers;
mod user_questions;

pub use self::owed_answer::AwaitedAnswer;
