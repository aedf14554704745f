//! Which login Codex needs for the model provider that the user's `config.toml` chooses.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_toml;
use crate::setup::known_client::Places;

/// Codex's own providers that need no login: programs on the user's machine.
const LOCAL: [&str; 3] = ["oss", "ollama", "lmstudio"];

/// The login that a model provider needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::setup) enum ProviderLogin {
    /// A login of the vendor, or one that the file does not tell of.
    Own,
    /// A key in this variable.
    Variable(String),
    /// A key that Codex reads from this file.
    InFile(PathBuf),
    /// A text that is the name of no variable, in this file.
    NoVariable { text: String, file: PathBuf },
    /// None, unless one of the provider's headers, which come from these variables, is its key.
    None { provider: String, headers: Vec<String> },
}

/// Reads it from the user's `config.toml`. A file that cannot be read tells of none; it is reported elsewhere.
pub(in crate::setup) fn login_of(places: &Places) -> ProviderLogin {
    let directory = places.or_in_home("CODEX_HOME", ".codex");
    let text_of = |file: &Path| ConfigFile::read(file, None).ok().and_then(|file| file.text);
    let file = directory.join("config.toml");
    let settings = text_of(&file).and_then(|text| edit_toml::value_at(&text, &[]).ok().flatten());
    let login = settings.map_or(ProviderLogin::Own, |settings| login_in(&settings));
    let own_variables = directory.join(".env");
    let own = text_of(&own_variables).unwrap_or_default();
    match login {
        ProviderLogin::Variable(text) if !may_be_variable(&text) => {
            ProviderLogin::NoVariable { text, file }
        }
        ProviderLogin::Variable(name) if sets(&own, &name) => ProviderLogin::InFile(own_variables),
        ProviderLogin::None { headers, .. } if headers.iter().any(|name| sets(&own, name)) => {
            ProviderLogin::InFile(own_variables)
        }
        login => login,
    }
}

/// Says whether a text can be the name of a variable that is passed on by its name alone.
fn may_be_variable(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_graphic() && !['=', '*'].contains(&letter);
    !text.is_empty() && text.chars().all(is_part)
}

/// Says whether Codex's own `.env` sets a variable. Codex leaves out those of its own there.
fn sets(file: &str, variable: &str) -> bool {
    let value_in = |line: &str| {
        let line = line.trim_start();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim() == variable && !value.is_empty() && !value.starts_with('#')).then_some(())
    };
    !variable.to_ascii_uppercase().starts_with("CODEX_")
        && file.lines().any(|line| value_in(line).is_some())
}

/// As Codex 0.166 decides it: a provider of the user's needs a login of the vendor only if it says so.
fn login_in(settings: &Value) -> ProviderLogin {
    let Some(name) = settings["model_provider"].as_str() else {
        return ProviderLogin::Own;
    };
    let provider = &settings["model_providers"][name];
    if provider["requires_openai_auth"] == true {
        return ProviderLogin::Own;
    }
    match provider["env_key"].as_str() {
        Some(variable) => ProviderLogin::Variable(variable.to_owned()),
        None if provider.is_object() || LOCAL.contains(&name) => {
            let headers = provider["env_http_headers"].as_object().into_iter().flatten();
            let headers = headers.filter_map(|(_, variable)| variable.as_str());
            let headers = headers.filter(|variable| may_be_variable(variable));
            let headers = headers.map(str::to_owned).collect();
            ProviderLogin::None { provider: name.to_owned(), headers }
        }
        None => ProviderLogin::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_provider_says_which_login_it_needs() {
        let login = |text: &str| login_in(&edit_toml::value_at(text, &[]).unwrap().unwrap());
        let mine = "model_provider = 'mine'\n[model_providers.mine]\n";
        let none = |provider: &str, headers: &[&str]| ProviderLogin::None {
            provider: provider.to_owned(),
            headers: headers.iter().map(|&name| name.to_owned()).collect(),
        };
        let headers = format!("{mine}env_http_headers = {{ key = 'KEY', x = '' }}\n");
        for (text, expected) in [
            ("", ProviderLogin::Own),
            ("[model_providers.mine]\nenv_key = 'KEY'\n", ProviderLogin::Own),
            ("model_provider = 'openai'\n", ProviderLogin::Own),
            ("model_provider = 'ollama'\n", none("ollama", &[])),
            (&format!("{mine}env_key = 'KEY'\n"), ProviderLogin::Variable("KEY".into())),
            (&format!("{mine}name = 'x'\n"), none("mine", &[])),
            (&headers, none("mine", &["KEY"])),
            (&format!("{mine}env_key = 'KEY'\nrequires_openai_auth = true\n"), ProviderLogin::Own),
        ] {
            assert_eq!(login(text), expected, "{text}");
        }
    }

    #[test]
    fn a_key_in_codexs_own_file_of_variables_is_seen() {
        for (line, variable, expected) in [
            ("KEY=sk-1", "KEY", true),
            (" export KEY = 'sk-1' # mine", "KEY", true),
            ("KEY=", "KEY", false),
            ("KEY=''", "KEY", false),
            ("#KEY=sk-1", "KEY", false),
            ("KEY2=sk-1", "KEY", false),
            ("CODEX_KEY=sk-1", "CODEX_KEY", false),
        ] {
            let text = format!("OTHER=1\n{line}\n");
            assert_eq!(sets(&text, variable), expected, "{line}");
        }
    }
}
