//! Which of the five agents could work here: whether the vendor's program and its ACP adapter are installed, and whether there is a
//! sign that the user is logged in.
//!
//! A sign is a file that a login leaves, or a variable with a key. Neither is read: only the vendor can say whether a key is valid.

mod lost_logins;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::lost_logins::{LostLogin, lost_logins};
use super::clients::codex_provider::{self, ProviderLogin};
use super::known_client::Places;
use crate::config::{Config, Profile};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shell_word::shell_word;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::sys::process::is_executable;

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
    Variable(String),
    /// The model provider that the user has chosen needs no login.
    NotNeeded(String),
    /// The agent's settings take the key from a variable that the agent does not get.
    NoKey(MissingKey),
    /// The agent's settings in this file take the key from what is the name of no variable.
    NoVariable { text: String, file: PathBuf },
    /// No sign was found. On a Mac the login may be in the keychain, which is not searched.
    NotSeen,
}

/// A variable that an agent's own settings name, and that the agent does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    pub variable: String,
    /// What passes it on, if it is set here: completes a sentence that begins "to log in,".
    pub passing: Option<String>,
}

impl MissingKey {
    /// Says what is missing, in a sentence about the agent.
    fn says(&self) -> String {
        let missing = match &self.passing {
            Some(_) => "which the bridge does not pass on to it",
            None => "which is not set here",
        };
        format!("its own settings take the key from {}, {missing}", self.variable)
    }

    /// Completes a sentence that begins "to log in,".
    fn remedy(&self) -> String {
        match &self.passing {
            Some(passing) => passing.clone(),
            None => format!("set {} to the key", self.variable),
        }
    }
}

impl LoginSign {
    /// Says whether there is a sign of a login, or none is needed.
    pub fn is_seen(&self) -> bool {
        !matches!(self, Self::NotSeen | Self::NoKey(_) | Self::NoVariable { .. })
    }

    /// Says in a sentence about the agent why its settings give it no key, with what helps, which completes a sentence that begins
    /// "to log in,"; none if they do, or need none.
    pub fn why_no_key(&self) -> Option<(String, String)> {
        match self {
            Self::NoKey(missing) => Some((missing.says(), missing.remedy())),
            Self::NoVariable { text, file } => {
                let (text, file) = (beginning(text, CLIENT_WORD_CHARS), file.shown());
                let says = format!(
                    "its own settings take the key from {text:?} (`env_key` in {file}), which is not the name of a variable"
                );
                Some((
                    says,
                    format!("set `env_key` in {file} to the name of the variable with the key"),
                ))
            }
            _ => None,
        }
    }
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
    /// What the user's settings of the agent say.
    provider: fn(&Places) -> ProviderLogin,
    login_files: fn(&Places) -> Vec<PathBuf>,
}

const KINDS: [Kind; 5] = [
    Kind {
        profile: "codex",
        cli: "codex",
        // Its adapter asks for a login even where OPENAI_API_KEY is set (codex-acp 2.6.0).
        keys: &[],
        provider: codex_provider::login_of,
        login_files: |places| vec![places.or_in_home("CODEX_HOME", ".codex").join("auth.json")],
    },
    Kind {
        profile: "claude-code",
        cli: "claude",
        keys: &[&["ANTHROPIC_API_KEY"], &["ANTHROPIC_AUTH_TOKEN"], &["CLAUDE_CODE_OAUTH_TOKEN"]],
        provider: |_| ProviderLogin::Own,
        login_files: |places| {
            vec![places.or_in_home("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json")]
        },
    },
    Kind {
        profile: "gemini",
        cli: "gemini",
        keys: &[&["GEMINI_API_KEY"], &["GOOGLE_API_KEY"], &["GOOGLE_APPLICATION_CREDENTIALS"]],
        provider: |_| ProviderLogin::Own,
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
        provider: |_| ProviderLogin::Own,
        login_files: |places| {
            vec![places.or_in_home("QWEN_HOME", ".qwen").join("oauth_creds.json")]
        },
    },
    Kind {
        profile: "droid",
        cli: "droid",
        keys: &[&["FACTORY_API_KEY"]],
        provider: |_| ProviderLogin::Own,
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
        .map(|(kind, profile)| {
            let login = find_sign(kind, profile, places, &variable);
            let how_to_log_in = match login.why_no_key() {
                Some((_, remedy)) => Some(remedy),
                None => profile.login.as_ref().map(|login| login.value.clone()),
            };
            InstalledAgent {
                profile: kind.profile,
                cli: FoundProgram { name: kind.cli.to_owned(), path: program(kind.cli) },
                adapter: find_adapter(profile, own_binary, &program),
                login,
                install: profile.install.as_ref().map(|install| install.value.clone()),
                how_to_log_in,
            }
        })
        .collect()
}

/// Finds the agents that can be given work.
pub fn usable(agents: &[InstalledAgent]) -> UsableAgents<'_> {
    let installed: Vec<_> = agents.iter().filter(|agent| agent.is_ready()).collect();
    let Some(first) = installed.first().copied() else {
        return UsableAgents::NotInstalled;
    };
    let has_login = |agent: &&InstalledAgent| agent.login.is_seen();
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
        if self.is_ready() || self.cli.path.is_none() { None } else { self.npm_install() }
    }

    /// Returns npm's arguments that install the adapter, if npm installs it.
    fn npm_install(&self) -> Option<Vec<String>> {
        let words: Vec<_> = self.install.as_deref()?.split_whitespace().collect();
        match words[..] {
            ["npm", "install", "-g", package] if !package.contains(':') => {
                Some(words[1..].iter().map(|word| (*word).to_owned()).collect())
            }
            _ => None,
        }
    }

    /// Says whether the missing adapter may be where npm puts its programs.
    fn may_be_off_path(&self) -> bool {
        !self.is_ready() && self.npm_install().is_some()
    }

    /// Returns where the missing adapter is, if it is in this directory of npm's programs, which then is not on `PATH`. For some agents it is
    /// the vendor's own program.
    pub fn off_path(&self, npm_folder: Option<&Path>) -> Option<PathBuf> {
        if !self.may_be_off_path() {
            return None;
        }
        let program = npm_folder?.join(&self.adapter.name);
        is_executable(&program).then_some(program)
    }
}

/// Says whether an adapter that npm installs is missing, so that npm's directory of programs is worth a look.
pub fn lack_an_adapter_of_npm(agents: &[InstalledAgent]) -> bool {
    agents.iter().any(InstalledAgent::may_be_off_path)
}

/// Returns the line that adds the directory of a program to `PATH`, and what has to be started anew for it.
pub fn how_to_add_to_path(program: &Path) -> String {
    let folder = program.parent().unwrap_or(program);
    format!(
        "add `export PATH={}:\"$PATH\"` to the start file of your shell, and start the shell and your client anew",
        shell_word(&folder.to_string_lossy())
    )
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
    profile: &Profile,
    places: &Places,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> LoginSign {
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some([name, ..]) = kind.keys.iter().find(|names| names.iter().all(is_set)) {
        return LoginSign::Variable((*name).to_owned());
    }
    match (kind.provider)(places) {
        ProviderLogin::Variable(name) => return find_key(profile, name, places, variable),
        ProviderLogin::InFile(file) => return LoginSign::File(file),
        ProviderLogin::NoVariable { text, file } => return LoginSign::NoVariable { text, file },
        ProviderLogin::None { provider, headers } => {
            // Codex leaves out a header whose variable is not set.
            let mut set = headers.into_iter().filter(|name| is_set(&name.as_str()));
            let header = set.next().map(|name| find_key(profile, name, places, variable));
            return header.unwrap_or(LoginSign::NotNeeded(provider));
        }
        ProviderLogin::Own => {}
    }
    let file = (kind.login_files)(places).into_iter().find(|file| file.is_file());
    file.map_or(LoginSign::NotSeen, LoginSign::File)
}

/// Looks for the variable from which an agent's own settings take the key: the agent has to get it.
fn find_key(
    profile: &Profile,
    key: String,
    places: &Places,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> LoginSign {
    let own = variable(&key).filter(|value| !value.is_empty());
    let is_set = own.is_some();
    let own = own.map(|value| (OsString::from(&key), value));
    let mut got = profile.environment(own.into_iter()).into_iter();
    if got.any(|(name, value)| name == *key && !value.is_empty()) {
        return LoginSign::Variable(key);
    }
    let passing = is_set.then(|| {
        let passed = profile.env_pass.value.iter().map(ToString::to_string);
        let passed = passed.chain([key.clone()]).map(|pattern| format!("{pattern:?}"));
        let passed = passed.collect::<Vec<_>>().join(", ");
        let line = format!("`env_pass = [{passed}]` under `[agents.{}]`", profile.name);
        let source = &profile.env_pass.source;
        match source.path() {
            // It counts before the user's own.
            Some(file) if source.is_projects() => format!(
                "write {line} in {}, and approve it with `cli-team-bridge trust`, or remove `env_pass` there",
                file.shown()
            ),
            Some(file) => format!("write {line} in {}", file.shown()),
            None => format!("write {line} in {}", own_configuration(places)),
        }
    });
    LoginSign::NoKey(MissingKey { variable: key, passing })
}

/// Names the user's own configuration file.
fn own_configuration(places: &Places) -> String {
    let file = "cli-team-bridge/config.toml";
    match places.moved_to("XDG_CONFIG_HOME") {
        Some(moved) => moved.join(file).shown().to_string(),
        None => format!("`~/.config/{file}`"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(of(&agents, "droid").login, LoginSign::Variable("FACTORY_API_KEY".into()));
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
        assert_eq!(of(&agents, "qwen").login, LoginSign::Variable("OPENAI_API_KEY".into()));
    }

    #[test]
    fn the_key_of_codexs_own_provider_counts_if_codex_gets_it() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".codex")).unwrap();
        let provider = |key: &str| {
            let text = format!("model_provider = 'mine'\n[model_providers.mine]\n{key}\n");
            fs::write(home.path().join(".codex/config.toml"), text).unwrap();
        };
        let login = |keys: &[&str]| of(&examined(home.path(), &[], keys), "codex").clone();
        provider("env_key = 'OPENAI_MINE'");
        assert_eq!(login(&["OPENAI_MINE"]).login, LoginSign::Variable("OPENAI_MINE".into()));
        let unset = login(&[]);
        assert!(!unset.login.is_seen());
        assert!(unset.how_to_log_in.unwrap().starts_with("set OPENAI_MINE"));
        // A file of a login does not help a provider that takes a key.
        fs::write(home.path().join(".codex/auth.json"), "secret").unwrap();
        provider("env_key = 'AZURE_KEY'");
        let kept_back = login(&["AZURE_KEY"]);
        assert!(!kept_back.login.is_seen());
        let how = kept_back.how_to_log_in.unwrap();
        let passing = r#"`env_pass = ["OPENAI_*", "CODEX_*", "AZURE_KEY"]` under `[agents.codex]`"#;
        assert!(how.contains(passing), "{how}");
        provider("base_url = 'http://127.0.0.1:1'");
        assert_eq!(login(&[]).login, LoginSign::NotNeeded("mine".into()));
        provider("env_http_headers = { key = 'AZURE_KEY' }");
        assert_eq!(login(&[]).login, LoginSign::NotNeeded("mine".into()));
        assert!(login(&["AZURE_KEY"]).how_to_log_in.unwrap().contains(passing));
        for no_name in ["", "*"] {
            provider(&format!("env_key = '{no_name}'"));
            let how = login(&[]).how_to_log_in.unwrap();
            assert!(how.starts_with("set `env_key` in "), "{how}");
        }
        provider("env_key = 'AZURE_KEY'");
        let own = home.path().join(".codex/.env");
        fs::write(&own, "AZURE_KEY=secret\n").unwrap();
        assert_eq!(login(&[]).login, LoginSign::File(own));
    }

    #[test]
    fn the_file_that_passes_a_key_on_is_the_one_that_counts() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".codex")).unwrap();
        let provider = "model_provider = 'mine'\n[model_providers.mine]\nenv_key = 'AZURE_KEY'\n";
        fs::write(home.path().join(".codex/config.toml"), provider).unwrap();
        let how = |config_home: Option<&Path>| {
            let load = Load { project: home.path(), home: None, config_home, explicit: None };
            let config = Config::load(load).unwrap();
            let variable = |name: &str| match name {
                "HOME" => Some(home.path().into()),
                "XDG_CONFIG_HOME" => config_home.map(Into::into),
                "AZURE_KEY" => Some("x".into()),
                _ => None,
            };
            let places = Places::read(variable, false).unwrap();
            let agents = look(&config, &places, Path::new("/own"), |_| None, variable);
            of(&agents, "codex").how_to_log_in.clone().unwrap()
        };
        assert!(how(None).ends_with(" in `~/.config/cli-team-bridge/config.toml`"));
        let moved = home.path().join("moved");
        let file = moved.join("cli-team-bridge/config.toml");
        assert!(how(Some(&moved)).ends_with(&format!(" in {}", file.display())));
        let of_project = home.path().join(".claude/bridge.toml");
        fs::create_dir(of_project.parent().unwrap()).unwrap();
        fs::write(&of_project, "[agents.codex]\nenv_pass = ['OPENAI_*']\n").unwrap();
        let how = how(Some(&moved));
        assert!(how.contains(&format!("in {}, and approve", of_project.display())), "{how}");
        assert!(how.contains(r#"["OPENAI_*", "AZURE_KEY"]"#), "{how}");
    }
}
