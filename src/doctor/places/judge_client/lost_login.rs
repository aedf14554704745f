//! Judges the logins of agents that do not reach the bridge, because they are in variables that the client does not pass on to it.

use std::collections::BTreeSet;

use super::{ExaminedClient, ExaminedFile, Scope};
use crate::doctor::finding::{Finding, Subject};
use crate::setup::edits::config_edit::names_bridge;

/// Judges the variables that the client does not pass on. Of Claude Code that is one that no entry can pass on.
pub(super) fn judge_lost_logins(client: &ExaminedClient, subject: &Subject) -> Option<Finding> {
    let lost = &client.lost_logins;
    let first = lost.first()?;
    let names: BTreeSet<_> =
        lost.iter().flat_map(|one| &one.variables).map(String::as_str).collect();
    let names: Vec<_> = names.into_iter().collect();
    let agents = lost.iter().map(|one| one.profile).collect::<Vec<_>>().join(", ");
    let (title, variables) = (client.title, names.join(", "));
    let says = format!(
        "{title} does not pass {variables} on to the bridge, so that below it these agents have no login: {agents}"
    );
    let log_in = match &first.how_to_log_in {
        Some(how) => format!("to log {} in without that variable, {how}", first.profile),
        None => format!("log {} in with its own program", first.profile),
    };
    let remedy = match naming(client, &names) {
        Some(naming) => format!("{naming}, or log in with the program of each agent"),
        None => log_in,
    };
    Some(Finding::note(subject, "login", says).with_remedy(remedy))
}

/// Returns how the user's own entry passes variables on. In a project's file, nobody should believe it.
fn naming(client: &ExaminedClient, names: &[&str]) -> Option<String> {
    let has_entry = |file: &&ExaminedFile| {
        let entry = file.written.as_ref().ok().and_then(|written| written.entry.as_ref());
        file.scope == Scope::User && entry.is_some_and(names_bridge)
    };
    let file = client.files.iter().find(has_entry)?;
    let key = file.key(file.written.as_ref().ok()?);
    let list = |item: fn(&str) -> String| {
        names.iter().map(|name| item(name)).collect::<Vec<_>>().join(", ")
    };
    match client.name {
        "codex" => {
            let list = list(|name| format!("\"{name}\""));
            Some(format!("name them in `env_vars` of {key}: `env_vars = [{list}]`"))
        }
        "gemini" => {
            let list = list(|name| format!("\"{name}\": \"${name}\""));
            Some(format!("name them in `env` of {key}: `\"env\": {{ {list} }}`"))
        }
        _ => None,
    }
}
