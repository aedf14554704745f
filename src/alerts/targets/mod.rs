//! Where notifications go: a program, a screen, a webhook.

mod run_program;
mod send_to_all;
mod terminal_escape;
mod webhook_request;

pub use self::send_to_all::Targets;
