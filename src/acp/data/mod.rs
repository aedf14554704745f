//! An agent's messages as plain, bounded data.

pub(crate) mod agent_info;
pub(crate) mod call_arguments;
pub(crate) mod content_block;
pub(crate) mod json_fields;
pub(crate) mod patch_files;
pub(crate) mod places_by_call;
pub(crate) mod prompt_result;
pub(crate) mod session_settings;
pub(crate) mod session_update;
pub(crate) mod text_bounds;
pub(crate) mod tool_call_update;
pub(crate) mod tool_calls;
pub(crate) mod touched_paths;
