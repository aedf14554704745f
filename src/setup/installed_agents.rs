//! Which of the five agents could work here: whether the vendor's program and its ACP adapter are installed, and whether there is a
//! sign that the user is logged in.
//!
//! A sign is a file that a login leaves, or a variable with a key. Neither is read: only the vendor can say whether a key is valid.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::known_client::Places;
use crate::config::{Config, Profile};

/// One of the five agents, as installed on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledAgent {
    /// The name of its profile, as `assign_task` takes it.
    pub profile: &'static str,
    /// The vendor's own program, with which the user logs in.
    pub cli: FoundProgram,
    /// The program that the bridge starts; for some agents the same one.
    pub adapter: FoundProgram,
    pub login: LoginSign,
    /// How the adapter is installed, if the profile says so.
    pub install: Option<String>,
    /// How to log in: completes a sentence that begins "to log in,".
    pub how_to_log_in: Option<String>,
}

/// A program that was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    pub name: String,
    /// Its path; none if it was not found.
    pub path: Option<PathBuf>,
}

/// The sign that the user is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginSign {
    /// A file that a login leaves.
    File(PathBuf),
    /// A variable that holds a key.
    Variable(&'static str),
    /// No sign was found. On a Mac the login may be in the keychain, which is not searched.
    NotSeen,
}

/// Which of the agents can be given work, as far as files and variables show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsableAgents<'a> {
    /// These are installed, and there is a sign of a login of each.
    Ready(Vec<&'a InstalledAgent>),
    /// Some are installed, but there is no sign of any login. This is the first of them.
    LoggedOut(&'a InstalledAgent),
    /// None is installed, or only without its adapter.
    NotInstalled,
}

/// Facts about an agent beyond its profile.
struct Kind {
    profile: &'static str,
    cli: &'static str,
    /// Sets of variables, each of which is enough for a start.
    keys: &'static [&'static [&'static str]],
    login_files: fn(&Places) -> Vec<PathBuf>,
}

const KINDS: [Kind; 5] = [
    Kind {
        profile: "codex",
        cli: "codex",
        // Its adapter asks for a login even where OPENAI_API_KEY is set (codex-acp 2.6.0).
        keys: &[],
        login_files: |places| vec![places.or_in_home("CODEX_HOME", ".codex").join("auth.json")],
    },
    Kind {
        profile: "claude-code",
        cli: "claude",
        keys: &[&["ANTHROPIC_API_KEY"], &["ANTHROPIC_AUTH_TOKEN"], &["CLAUDE_CODE_OAUTH_TOKEN"]],
        login_files: |places| {
            vec![places.or_in_home("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json")]
        },
    },
    Kind {
        profile: "gemini",
        cli: "gemini",
        keys: &[&["GEMINI_API_KEY"], &["GOOGLE_API_KEY"], &["GOOGLE_APPLICATION_CREDENTIALS"]],
        login_files: |places| {
            let directory = places.home_by("GEMINI_CLI_HOME").join(".gemini");
            ["oauth_creds.json", "gemini-credentials.json"].map(|file| directory.join(file)).into()
        },
    },
    Kind {
        profile: "qwen",
        cli: "qwen",
        keys: &[
            &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
            &["DASHSCOPE_API_KEY"],
            &["BAILIAN_CODING_PLAN_API_KEY"],
        ],
        login_files: |places| {
            vec![places.or_in_home("QWEN_HOME", ".qwen").join("oauth_creds.json")]
        },
    },
    Kind {
        profile: "droid",
        cli: "droid",
        keys: &[&["FACTORY_API_KEY"]],
        login_files: |places| {
            let directory = places.home_by("FACTORY_HOME_OVERRIDE").join(".factory");
            let files = ["auth.v2.file", "auth.v2.keyring", "auth.v2.loginkeychain", "auth.json"];
            files.map(|file| directory.join(file)).into()
        },
    },
];

/// Examines each of the five agents. `program` finds a program by its name or path.
pub fn look(
    config: &Config,
    places: &Places,
    own_binary: &Path,
    program: impl Fn(&str) -> Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<InstalledAgent> {
    let known = KINDS.iter().filter_map(|kind| Some((kind, config.profile(kind.profile).ok()?)));
    known
        .map(|(kind, profile)| InstalledAgent {
            profile: kind.profile,
            cli: FoundProgram { name: kind.cli.to_owned(), path: program(kind.cli) },
            adapter: find_adapter(profile, own_binary, &program),
            login: find_sign(kind, places, &variable),
            install: profile.install.as_ref().map(|install| install.value.clone()),
            how_to_log_in: profile.login.as_ref().map(|login| login.value.clone()),
        })
        .collect()
}

/// Finds the agents that can be given work.
pub fn usable(agents: &[InstalledAgent]) -> UsableAgents<'_> {
    let installed: Vec<_> = agents.iter().filter(|agent| agent.is_ready()).collect();
    let Some(first) = installed.first().copied() else {
        return UsableAgents::NotInstalled;
    };
    let has_login = |agent: &&InstalledAgent| agent.login != LoginSign::NotSeen;
    let ready: Vec<_> = installed.into_iter().filter(has_login).collect();
    if ready.is_empty() { UsableAgents::LoggedOut(first) } else { UsableAgents::Ready(ready) }
}

impl InstalledAgent {
    /// Says whether `assign_task` could start this agent.
    pub fn is_ready(&self) -> bool {
        self.adapter.path.is_some()
    }

    /// Returns npm's arguments that install the missing adapter, if the user has the vendor's program and npm installs the adapter.
    pub fn npm_arguments(&self) -> Option<Vec<String>> {
        if self.is_ready() || self.cli.path.is_none() {
            return None;
        }
        let words: Vec<_> = self.install.as_deref()?.split_whitespace().collect();
        match words[..] {
            ["npm", "install", "-g", package] if !package.contains(':') => {
                Some(words[1..].iter().map(|word| (*word).to_owned()).collect())
            }
            _ => None,
        }
    }
}

fn find_adapter(
    profile: &Profile,
    own_binary: &Path,
    program: &impl Fn(&str) -> Option<PathBuf>,
) -> FoundProgram {
    match profile.program(own_binary, program) {
        Ok(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            FoundProgram { name, path: Some(path) }
        }
        Err(missing) => FoundProgram { name: missing.program, path: None },
    }
}

fn find_sign(
    kind: &Kind,
    places: &Places,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> LoginSign {
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some([name, ..]) = kind.keys.iter().find(|names| names.iter().all(is_set)) {
        return LoginSign::Variable(name);
    }
    let file = (kind.login_files)(places).into_iter().find(|file| file.is_file());
    file.map_or(LoginSign::NotSeen, LoginSign::File)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Load;

    /// Examines the agents with these programs on `PATH` and these keys set.
    fn examined(home: &Path, programs: &[&str], keys: &[&str]) -> Vec<InstalledAgent> {
        let load = Load { project: home, home: None, config_home: None, explicit: None };
        let config = Config::load(load).unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| home.into()), false).unwrap();
        let program = |name: &str| programs.contains(&name).then(|| Path::new("/bin").join(name));
        let variable = |name: &str| keys.contains(&name).then(|| "x".into());
        look(&config, &places, Path::new("/own"), program, variable)
    }

    fn of<'a>(agents: &'a [InstalledAgent], profile: &str) -> &'a InstalledAgent {
        agents.iter().find(|agent| agent.profile == profile).unwrap()
    }

    #[test]
    fn a_cli_without_its_adapter_is_not_ready_and_its_adapter_can_be_installed() {
        let home = tempfile::tempdir().unwrap();
        let agents = examined(home.path(), &["codex", "gemini"], &[]);
        assert_eq!(agents.len(), 5);
        let codex = of(&agents, "codex");
        assert!(!codex.is_ready());
        assert_eq!(codex.adapter, FoundProgram { name: "codex-acp".to_owned(), path: None });
        let words = codex.npm_arguments().unwrap();
        assert_eq!(words, ["install", "-g", "@agentclientprotocol/codex-acp"]);
        // Gemini CLI speaks ACP itself.
        assert!(of(&agents, "gemini").is_ready());
        assert_eq!(of(&agents, "gemini").npm_arguments(), None);
        assert_eq!(of(&agents, "droid").npm_arguments(), None, "its CLI is not installed");
    }

    #[test]
    fn a_login_is_seen_by_its_file_or_by_a_key() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".codex/auth.json");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "secret").unwrap();
        let agents = examined(home.path(), &[], &["FACTORY_API_KEY"]);
        assert_eq!(of(&agents, "codex").login, LoginSign::File(file));
        assert_eq!(of(&agents, "droid").login, LoginSign::Variable("FACTORY_API_KEY"));
        assert_eq!(of(&agents, "claude-code").login, LoginSign::NotSeen);
    }

    #[test]
    fn a_key_that_does_not_start_an_agent_is_no_login() {
        let home = tempfile::tempdir().unwrap();
        let agents = examined(home.path(), &[], &["OPENAI_API_KEY"]);
        assert_eq!(of(&agents, "codex").login, LoginSign::NotSeen);
        assert_eq!(of(&agents, "qwen").login, LoginSign::NotSeen);
        let all = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"];
        let agents = examined(home.path(), &[], &all);
        assert_eq!(of(&agents, "qwen").login, LoginSign::Variable("OPENAI_API_KEY"));
    }
}
