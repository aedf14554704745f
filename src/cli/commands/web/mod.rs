//! `web`: shows the team as pages in a browser, from a server on this machine.

mod open_browser;
mod project_surroundings;
mod run_web;
mod sign_in_files;

pub(crate) use self::run_web::{WebArguments, run};
