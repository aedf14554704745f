//! The bridge's own environment variables: which program sets each, and which one reads it.

/// Their common prefix. A pattern in `env_pass` never passes one of them to an agent; only its full name does.
pub const PREFIX: &str = "BRIDGE_";

/// The bus directory. The bridge sets it for an agent's endpoint.
pub const DIR: &str = "BRIDGE_DIR";
/// The agent's name. The bridge sets it for an agent's endpoint; the scripted agent reads it too.
pub const MEMBER: &str = "BRIDGE_MEMBER";
/// The agent's session. The bridge sets it for an agent's endpoint.
pub const SESSION: &str = "BRIDGE_SESSION";
/// The secret of the agent's session, without which no endpoint speaks for it. The bridge sets it for an agent's endpoint.
pub const TOKEN: &str = "BRIDGE_TOKEN";
/// How many bytes of a result the agent shows its model. The bridge sets it for an agent's endpoint.
pub const RESULT_BYTES: &str = "BRIDGE_RESULT_BYTES";
/// Marks all processes of an agent or a gate. The bridge sets it and finds them by it, and refuses to lead a team below it.
pub const RUN: &str = "BRIDGE_RUN";

/// The script that scripted agents play. The user or the demo sets it.
pub const SCRIPT: &str = "BRIDGE_SCRIPT";
/// Takes over a bus that was made elsewhere, as `--adopt` does: for containers, which keep no state directory. The user sets it.
pub const ADOPT: &str = "BRIDGE_ADOPT";
/// The program in which the model of a session works, as `--surface` says it. The user or a client sets it.
pub const SURFACE: &str = "BRIDGE_SURFACE";
/// How much the bridge logs to stderr: `off`, `error`, `warn`, `info`, `debug` or `trace`. The user sets it.
pub const LOG: &str = "BRIDGE_LOG";
