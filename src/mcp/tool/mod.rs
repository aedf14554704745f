//! A tool with and without its types, the check of its arguments, and its schemas.

mod argument_synonyms;
pub(crate) mod check_arguments;
pub(crate) mod json_schema;
mod typed_tool;
mod untyped_tool;

pub(super) use self::check_arguments::described;
pub(super) use self::typed_tool::at_most;
pub use self::typed_tool::{CallTimeout, Effect, InboxMode, Tool};
pub use self::untyped_tool::AnyTool;
pub(super) use self::untyped_tool::Prepared;
