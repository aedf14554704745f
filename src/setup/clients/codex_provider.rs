//! Which login Codex needs for the model provider that the user's `config.toml` chooses.

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
    /// None. This is the provider.
    None(String),
}

/// Reads it from the user's `config.toml`. A file that cannot be read tells of none; it is reported elsewhere.
pub(in crate::setup) fn login_of(places: &Places) -> ProviderLogin {
    let file = places.or_in_home("CODEX_HOME", ".codex").join("config.toml");
    let text = ConfigFile::read(&file, None).ok().and_then(|file| file.text);
    let settings = text.and_then(|text| edit_toml::value_at(&text, &[]).ok().flatten());
    settings.map_or(ProviderLogin::Own, |settings| login_in(&settings))
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
            ProviderLogin::None(name.to_owned())
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
        for (text, expected) in [
            ("", ProviderLogin::Own),
            ("[model_providers.mine]\nenv_key = 'KEY'\n", ProviderLogin::Own),
            ("model_provider = 'openai'\n", ProviderLogin::Own),
            ("model_provider = 'ollama'\n", ProviderLogin::None("ollama".into())),
            (&format!("{mine}env_key = 'KEY'\n"), ProviderLogin::Variable("KEY".into())),
            (&format!("{mine}name = 'x'\n"), ProviderLogin::None("mine".into())),
            (&format!("{mine}env_key = 'KEY'\nrequires_openai_auth = true\n"), ProviderLogin::Own),
        ] {
            assert_eq!(login(text), expected, "{text}");
        }
    }
}
