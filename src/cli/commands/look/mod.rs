//! The commands that look at a team: each opens the project's bus as a reader, shows a part of the read model, and changes nothing.

mod bell;
mod lines;
mod log_filter;
mod open_to_look;
mod show_decided;
mod show_log;
mod show_messages;
mod show_search;
mod show_status;
mod show_task;
mod show_tasks;
mod show_usage;
mod show_workflows;
mod trace;

pub(in crate::cli::commands) use self::lines::table::aligned;
pub(in crate::cli::commands) use self::lines::task_lines;
pub(in crate::cli::commands) use self::open_to_look::{Place, foreign, no_team, unusable, whose};
pub(crate) use self::open_to_look::{needs_team, open_project, print_json};
pub(crate) use self::show_log::{LogArguments, run as log};
pub(crate) use self::show_messages::{MessagesArguments, run as messages};
pub(crate) use self::show_search::{SearchArguments, run as search};
pub(in crate::cli::commands) use self::show_status::lines_if_alive;
pub(crate) use self::show_status::{StatusArguments, run as status};
pub(crate) use self::show_task::{TaskArguments, run as task};
pub(crate) use self::show_tasks::{TasksArguments, run as tasks};
pub(crate) use self::show_usage::{UsageArguments, run as usage};
pub(crate) use self::show_workflows::{WorkflowsArguments, run as workflows};
pub(crate) use self::trace::{TraceArguments, run as trace};
