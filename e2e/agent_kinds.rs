//! All that differs between the five agents, as data for the tests.

use serde_json::{Value, json};

use crate::model::Api;

/// A kind of agent.
pub(crate) struct Kind {
    /// Its profile, and its program in `programs.txt`.
    pub(crate) name: &'static str,
    /// Whose API its model speaks.
    pub(crate) api: Api,
    /// The variables that point it to the model server at `base`. Its profile's `env_pass` passes them on.
    pub(crate) env: fn(base: &str) -> Vec<(&'static str, String)>,
    /// The files that it needs in its home directory.
    pub(crate) files: fn(base: &str) -> Vec<(&'static str, String)>,
    /// The model that a task must name, where the files are not enough.
    pub(crate) model: Option<&'static str>,
    /// Whether it reports a missing login; otherwise it keeps retrying silently.
    pub(crate) reports_missing_login: bool,
    /// Whether each session needs a process of its own.
    pub(crate) one_session: bool,
    /// Whether it loses a session that is resumed in the minute in which it began, because both sessions share a file then.
    pub(crate) loses_young_sessions: bool,
    /// How a message gets into its running turn.
    pub(crate) reach: Reach,
    /// How its model runs a command: the agent's own tool and its arguments.
    pub(crate) runs: fn(command: &str) -> OwnCall,
    /// How its model writes a file.
    pub(crate) writes: fn(path: &str) -> OwnCall,
    /// How its model runs a command in its sandbox, where it has one.
    pub(crate) runs_in_sandbox: Option<fn(command: &str) -> OwnCall>,
}

/// A tool of an agent's own, and the arguments of the call.
pub(crate) type OwnCall = (&'static str, Value);

/// How a message gets into a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The bridge puts it there.
    Steer,
    /// The agent asks for messages after a call of its own tool of this name.
    Drain(&'static str),
    /// An urgent message ends the turn.
    Interrupt,
}

/// All kinds of agents.
pub(crate) const KINDS: [Kind; 5] = [CODEX, CLAUDE_CODE, GEMINI, QWEN, DROID];

pub(crate) const CODEX: Kind = Kind {
    name: "codex",
    api: Api::Responses,
    env: |_| vec![("OPENAI_API_KEY", "no-key".to_owned())],
    files: |base| {
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{base}/v1\"\nenv_key = \"OPENAI_API_KEY\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n\
             [mcp_servers.bridge]\ncommand = \"cli-team-bridge\"\nargs = [\"orchestrator\"]\ntool_timeout_sec = 150\n"
        );
        vec![(".codex/config.toml", config)]
    },
    model: None,
    reports_missing_login: true,
    one_session: false,
    loses_young_sessions: false,
    reach: Reach::Steer,
    runs: |command| {
        let arguments = json!({
            "cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I run it?",
        });
        ("exec_command", arguments)
    },
    writes: |path| {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+text\n*** End Patch\n");
        ("apply_patch", json!({ "input": patch }))
    },
    runs_in_sandbox: Some(|command| ("exec_command", json!({ "cmd": command }))),
};

pub(crate) const CLAUDE_CODE: Kind = Kind {
    name: "claude-code",
    api: Api::Anthropic,
    env: |base| {
        vec![
            ("ANTHROPIC_BASE_URL", base.to_owned()),
            ("ANTHROPIC_API_KEY", "no-key".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ]
    },
    files: |_| Vec::new(),
    model: None,
    reports_missing_login: false,
    one_session: false,
    loses_young_sessions: false,
    reach: Reach::Steer,
    runs: |command| {
        let arguments = json!({ "command": command, "description": "Make a file" });
        ("Bash", arguments)
    },
    writes: |path| ("Write", json!({ "file_path": path, "content": "text\n" })),
    runs_in_sandbox: None,
};

pub(crate) const GEMINI: Kind = Kind {
    name: "gemini",
    api: Api::Gemini,
    env: |base| {
        vec![("GOOGLE_GEMINI_BASE_URL", base.to_owned()), ("GEMINI_API_KEY", "no-key".to_owned())]
    },
    files: |_| {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "privacy": { "usageStatisticsEnabled": false },
            "general": { "disableAutoUpdate": true },
        });
        vec![(".gemini/settings.json", settings.to_string())]
    },
    model: None,
    reports_missing_login: true,
    one_session: false,
    loses_young_sessions: true,
    reach: Reach::Interrupt,
    runs: |command| {
        let arguments = json!({ "command": command, "description": "Make a file" });
        ("run_shell_command", arguments)
    },
    writes: |path| {
        let arguments = json!({ "file_path": path, "content": "text\n" });
        ("write_file", arguments)
    },
    runs_in_sandbox: None,
};

pub(crate) const QWEN: Kind = Kind {
    name: "qwen",
    api: Api::Chat,
    env: |base| {
        vec![
            ("OPENAI_BASE_URL", format!("{base}/v1")),
            ("OPENAI_API_KEY", "no-key".to_owned()),
            ("OPENAI_MODEL", "scripted".to_owned()),
        ]
    },
    files: |_| {
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" } },
            "privacy": { "usageStatisticsEnabled": false },
            "general": { "disableAutoUpdate": true },
        });
        vec![(".qwen/settings.json", settings.to_string())]
    },
    model: None,
    reports_missing_login: true,
    one_session: false,
    loses_young_sessions: false,
    reach: Reach::Drain("read_file"),
    runs: |command| {
        let arguments =
            json!({ "command": command, "description": "Make a file", "is_background": false });
        ("run_shell_command", arguments)
    },
    writes: |path| {
        let arguments = json!({ "file_path": path, "content": "text\n" });
        ("write_file", arguments)
    },
    runs_in_sandbox: None,
};

pub(crate) const DROID: Kind = Kind {
    name: "droid",
    api: Api::Chat,
    env: |base| {
        vec![("FACTORY_API_KEY", "no-key".to_owned()), ("FACTORY_API_BASE_URL", base.to_owned())]
    },
    files: |base| {
        let model = json!({
            "model": "scripted", "displayName": "scripted", "baseUrl": format!("{base}/v1"), "apiKey": "no-key",
            "provider": "generic-chat-completion-api", "maxOutputTokens": 4096,
        });
        vec![(".factory/settings.json", json!({ "customModels": [model] }).to_string())]
    },
    model: Some("custom:scripted-0"),
    reports_missing_login: true,
    one_session: true,
    loses_young_sessions: false,
    reach: Reach::Interrupt,
    runs: |command| {
        let arguments = json!({
            "command": command, "summary": "Make a file", "riskLevel": "low", "riskLevelReason": "It makes a file.",
        });
        ("Execute", arguments)
    },
    writes: |path| ("Create", json!({ "file_path": path, "content": "text\n" })),
    runs_in_sandbox: None,
};

impl Kind {
    /// Returns the arguments of `assign_task` that start an agent of this kind.
    pub(crate) fn task(&self, prompt: &str) -> Value {
        let mut task = json!({ "agent": self.name, "prompt": prompt });
        if let Some(model) = self.model {
            task["model"] = json!(model);
        }
        task
    }
}
