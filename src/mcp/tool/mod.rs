//! A tool with and without its types, the check of its arguments, and its schemas.

pub(crate) mod check_arguments;
pub(crate) mod json_schema;
mod typed_tool;
mod untyped_tool;

pub use self::typed_tool::{CallTimeout, Effect, InboxMode, Tool};
pub use self::untyped_tool::AnyTool;
pub(super) use self::untyped_tool::Prepared;
