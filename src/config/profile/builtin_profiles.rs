//! The built-in profiles, one file of `agents/` each.

/// A file of `agents/`, embedded.
pub(in crate::config) struct BuiltIn {
    /// Its path in the repository, for the error if it is invalid.
    pub(in crate::config) file: &'static str,
    pub(in crate::config) text: &'static str,
}

/// All embedded files.
pub(in crate::config) const FILES: &[BuiltIn] = &[
    BuiltIn { file: "agents/scripted.toml", text: include_str!("../../../agents/scripted.toml") },
    BuiltIn { file: "agents/codex.toml", text: include_str!("../../../agents/codex.toml") },
    BuiltIn {
        file: "agents/claude-code.toml",
        text: include_str!("../../../agents/claude-code.toml"),
    },
    BuiltIn { file: "agents/gemini.toml", text: include_str!("../../../agents/gemini.toml") },
    BuiltIn { file: "agents/qwen.toml", text: include_str!("../../../agents/qwen.toml") },
    BuiltIn { file: "agents/droid.toml", text: include_str!("../../../agents/droid.toml") },
];
