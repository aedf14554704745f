//! The program without arguments, at a terminal: what is installed and connected, the project's team, and the next step.

mod first_request;
mod look_around;
mod overview_lines;
mod overview_parts;
mod suggested_step;

pub(in crate::cli) use self::first_request::{FirstRequest, first_request};
pub(in crate::cli) use self::look_around::{next_step, run};
