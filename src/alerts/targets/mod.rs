//! Where notifications go: a program, a screen, a webhook.

mod run_program;
mod send_post;
mod send_to_all;
mod terminal_escape;
mod webhook_request;

pub(super) use self::send_post::{SecretVariable, send_post};
pub use self::send_to_all::Targets;
pub(super) use self::webhook_request::Post;
