//! What keeps a client from running the bridge although it has an entry: settings that switch it off, wholly or in part. Only reads
//! them: each is a decision of the user's, or of whoever manages the machine.

mod claude_switches;
mod codex_settings;
mod entry_values;
mod find_switches;
mod gemini_policies;
mod gemini_switches;
mod javascript_json;
mod name_pattern;
mod passed_variables;
mod qwen_approvals;
mod session_files;
mod tool_lists;

pub(in crate::setup) use self::claude_switches::{left_out_by_claude_code, of_claude_code};
pub(in crate::setup) use self::entry_values::is_nothing;
pub use self::find_switches::{EntryLeftOut, find, judges_partial_entry, left_out};
pub(in crate::setup) use self::gemini_switches::{is_new_form, of_gemini_cli, of_qwen_code};
pub use self::passed_variables::{passes_variable, settings_in};
pub use self::session_files::{PlaceRead, places_read, places_read_in, shared_file};
pub(in crate::setup) use self::tool_lists::{of_codex, of_droid, of_zed};

#[cfg(test)]
mod tests;
