//! The logins that are lost where a client starts the bridge: not every client passes all of its variables on to its MCP servers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{InstalledAgent, KINDS, LoginSign, look};
use crate::config::Config;
use crate::setup::known_client::Places;

/// An installed agent whose login is in variables that a client does not pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLogin {
    pub profile: &'static str,
    /// The variables that are not passed on.
    pub variables: Vec<String>,
    /// How to log in: completes a sentence that begins "to log in,".
    pub how_to_log_in: Option<String>,
}

/// Finds the agents that have a login here and none where only these variables are passed on.
pub fn lost_logins(
    (config, places, own_binary): (&Config, &Places, &Path),
    program: impl Fn(&str) -> Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
    is_passed: impl Fn(&str) -> bool,
) -> Vec<LostLogin> {
    let passed = |name: &str| if is_passed(name) { variable(name) } else { None };
    let here = look(config, places, own_binary, &program, &variable);
    let there = look(config, places, own_binary, &program, passed);
    let is_lost = |(here, there): &(InstalledAgent, InstalledAgent)| {
        here.is_ready() && here.login.is_seen() && !there.login.is_seen()
    };
    let lost = here.into_iter().zip(there).filter(is_lost).map(|(agent, _)| agent);
    lost.map(|agent| {
        let mut variables = variables_of(&agent);
        variables.retain(|name| !is_passed(name));
        LostLogin { profile: agent.profile, variables, how_to_log_in: agent.how_to_log_in }
    })
    .collect()
}

/// Returns all variables that the login of an agent is in.
fn variables_of(agent: &InstalledAgent) -> Vec<String> {
    let LoginSign::Variable(first) = &agent.login else {
        return Vec::new();
    };
    let kind = KINDS.iter().find(|kind| kind.profile == agent.profile);
    let mut sets = kind.map_or(&[][..], |kind| kind.keys).iter();
    match sets.find(|names| names.first().is_some_and(|name| name == first)) {
        Some(names) => names.iter().map(|name| (*name).to_owned()).collect(),
        None => vec![first.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Load;

    #[test]
    fn a_login_is_lost_if_nothing_else_is_left_of_it() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| home.path().into()), false);
        let places = places.unwrap();
        let load = Load { project: home.path(), home: None, config_home: None, explicit: None };
        let config = Config::load(load).unwrap();
        let set = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"];
        let lost = |is_passed: fn(&str) -> bool| {
            let variable = |name: &str| set.contains(&name).then(|| "x".into());
            let known = (&config, &places, Path::new("/own"));
            let lost = lost_logins(known, |_| Some("/bin/x".into()), variable, is_passed);
            lost.into_iter().map(|one| (one.profile, one.variables.join(" "))).collect::<Vec<_>>()
        };
        let claude = ("claude-code", "ANTHROPIC_API_KEY".to_owned());
        let qwen = |names: &str| ("qwen", names.to_owned());
        let all = qwen("OPENAI_API_KEY OPENAI_BASE_URL OPENAI_MODEL");
        assert_eq!(lost(|_| true), []);
        assert_eq!(lost(|_| false), [claude.clone(), all]);
        assert_eq!(lost(|name| !name.contains("KEY")), [claude, qwen("OPENAI_API_KEY")]);
        // The file of a login is there for every bridge.
        std::fs::create_dir(home.path().join(".qwen")).unwrap();
        std::fs::write(home.path().join(".qwen/oauth_creds.json"), "{}").unwrap();
        assert_eq!(lost(|name| name.starts_with("ANTHROPIC")), []);
    }
}
