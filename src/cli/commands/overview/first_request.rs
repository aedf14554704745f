//! What to do first with the agents that are installed, as `setup` and the overview suggest it. Pure.

use crate::setup::installed_agents::{InstalledAgent, UsableAgents, usable};

/// What to do first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum FirstRequest {
    /// Say this to a client.
    Say(String),
    /// Log in to an agent, in this way.
    LogIn(String),
    /// Install an agent.
    Install,
}

/// Returns what to do first. Only agents with a sign of a login are named in a request.
pub(in crate::cli) fn first_request(agents: &[InstalledAgent]) -> FirstRequest {
    match usable(agents) {
        UsableAgents::Ready(ready) => FirstRequest::Say(match &ready[..] {
            [one, other, ..] => format!(
                "Ask {} to fix the failing test, and {} to review the change.",
                one.profile, other.profile
            ),
            rest => {
                let one = rest.first().map_or("an agent", |agent| agent.profile);
                format!("Ask {one} to review my last commit.")
            }
        }),
        // An agent may be logged in without a sign, as on a Mac, whose keychain is not searched.
        UsableAgents::LoggedOut(agent) => FirstRequest::LogIn(match &agent.how_to_log_in {
            Some(how) => format!("no login of {} was found. To log in, {how}", agent.profile),
            None => format!("no login of {} was found. Log in to it", agent.profile),
        }),
        UsableAgents::NotInstalled => FirstRequest::Install,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::installed_agents::{FoundProgram, LoginSign};

    fn agent(profile: &'static str, is_installed: bool, login: LoginSign) -> InstalledAgent {
        let path = is_installed.then(|| "/bin/x".into());
        let found = FoundProgram { name: profile.to_owned(), path };
        let how_to_log_in = Some(format!("run `{profile} login`"));
        let (cli, adapter) = (found.clone(), found);
        InstalledAgent { profile, cli, adapter, login, install: None, how_to_log_in }
    }

    #[test]
    fn only_agents_that_are_installed_and_logged_in_are_named() {
        let key = LoginSign::Variable("KEY".into());
        let out = || agent("qwen", true, LoginSign::NotSeen);
        let missing = || agent("codex", false, key.clone());
        let (gemini, droid) =
            (agent("gemini", true, key.clone()), agent("droid", true, key.clone()));
        let check = |agents: &[InstalledAgent], expected: FirstRequest| {
            assert_eq!(first_request(agents), expected);
        };
        check(&[missing()], FirstRequest::Install);
        let how = "no login of qwen was found. To log in, run `qwen login`";
        check(&[missing(), out()], FirstRequest::LogIn(how.to_owned()));
        let one = "Ask gemini to review my last commit.";
        check(&[missing(), out(), gemini.clone()], FirstRequest::Say(one.to_owned()));
        let two = "Ask gemini to fix the failing test, and droid to review the change.";
        check(&[out(), gemini, droid], FirstRequest::Say(two.to_owned()));
    }
}
