//! The scripted agent: a deterministic agent that plays a script, for demos, tests, and trying teams out without a model.
//!
//! It speaks the agent side of the Agent Client Protocol (ACP) on its standard streams and starts the MCP servers of its sessions, as
//! real agents do. A readable TOML file describes its behaviour, with one table per agent (`examples/team.toml` shows most of the
//! format). The same script and the same prompts always give the same turns.
//!
//! It deliberately knows nothing of the bus or of teams: to the bridge it is one more foreign program. It can also be a bad program on
//! purpose: it crashes, hangs, floods, ignores its end and writes garbage if the script says so.

mod play;
mod play_on_stdio;
mod script;

#[cfg(test)]
mod tests;

pub use self::play_on_stdio::{Options, ScriptedError, run};
pub use self::script::script_format::{Script, ScriptError};
pub use self::script::toml_fields::Mistake;
