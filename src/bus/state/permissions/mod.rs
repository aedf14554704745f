//! Permission questions: each is open until its first and only answer.

mod permission;
mod ask_and_answer;

pub use self::permission::{Permission, PermissionAnswer};
