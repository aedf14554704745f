//! Setup's findings as a table: the agents that could work, and the clients that could lead them. Pure.

use std::path::Path;

use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::installed_agents::{InstalledAgent, LoginSign, how_to_add_to_path};
use crate::setup::known_client::Client;

/// Describes each agent: whether it could work, and what it lacks.
pub(super) fn agents(agents: &[InstalledAgent], npm_folder: Option<&Path>) -> Vec<String> {
    let mut lines = vec!["Agents, which the bridge starts:".to_owned()];
    for agent in agents {
        let off_path = agent.off_path(npm_folder);
        let state = if agent.is_ready() {
            format!("ready, {}", login(agent))
        } else if let Some(program) = &off_path {
            let what = if agent.cli.name == agent.adapter.name { "it" } else { "its adapter" };
            format!("{what} is installed ({}), but not on PATH", program.shown())
        } else if agent.cli.path.is_some() {
            format!(
                "`{}` is installed, its adapter `{}` is not",
                agent.cli.name, agent.adapter.name
            )
        } else {
            "not installed".to_owned()
        };
        lines.push(format!("  {:<15} {state}", agent.profile));
        let mut hint = |text: String| lines.push(format!("  {:<15} {text}", ""));
        match (&off_path, &agent.install, &agent.how_to_log_in) {
            (Some(program), ..) => hint(how_to_add_to_path(program)),
            (None, Some(install), _) if !agent.is_ready() => hint(install.clone()),
            (.., Some(how)) if agent.is_ready() && !agent.login.is_seen() => {
                hint(format!("to log in, {how}"));
            }
            _ => {}
        }
    }
    lines
}

fn login(agent: &InstalledAgent) -> String {
    match &agent.login {
        LoginSign::File(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            format!("logged in (`{name}` exists)")
        }
        LoginSign::Variable(name) => format!("has a key ({name})"),
        LoginSign::NotNeeded(provider) => {
            format!("its model provider `{provider}` needs no login")
        }
        LoginSign::NoKey(_) | LoginSign::NoVariable { .. } | LoginSign::NotSeen => {
            let why = agent.login.why_no_key().map(|(says, _)| says);
            format!("but {}", why.unwrap_or_else(|| "no login was found".to_owned()))
        }
    }
}

/// Describes each client: whether it is installed, and what shows it.
pub(super) fn clients<'a>(
    found: impl IntoIterator<Item = (&'a Client, Option<&'a Path>)>,
) -> Vec<String> {
    let mut lines = vec!["Clients, which lead the team:".to_owned()];
    for (client, place) in found {
        let state = match place {
            Some(place) => format!("found ({})", place.shown()),
            None => "not found".to_owned(),
        };
        lines.push(format!("  {:<15} {state}", client.name));
    }
    lines
}
