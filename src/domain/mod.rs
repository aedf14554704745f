//! Values and rules of the bridge: pure, without clocks, files or tasks.

pub mod failure;
pub mod id;
pub mod letters;
pub mod limits;
pub mod member;
pub mod message;
pub mod name;
pub mod nearest;
pub mod permission;
pub mod report;
pub mod request;
pub mod secret;
pub mod source;
pub mod task;
pub mod time;
pub mod tools;
pub mod workflow;
