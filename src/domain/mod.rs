//! Values and rules of the bridge: pure, without clocks, files or tasks.

pub mod access_key;
pub mod act;
pub mod alert_kind;
pub mod env_vars;
pub mod grace_periods;
pub mod ids;
pub mod is_zero;
pub mod limits;
pub mod member;
pub mod messaging;
pub mod missing_program;
pub mod name;
pub mod permission;
pub mod task;
pub mod text;
pub mod time;
pub mod wait_times;
pub mod tool_names;
pub mod workflow;
