//! A client that has the bridge as a plugin.

use crate::doctor::finding::{Finding, Subject};

/// Judges a plugin: the client must not start the bridge by an entry as well, at this key.
pub(super) fn judge_plugin(
    (title, client): (&str, &str),
    subject: &Subject,
    key: Option<&str>,
) -> Finding {
    let Some(key) = key else {
        return Finding::ok(subject, "entry", format!("{title} has the bridge as a plugin"));
    };
    let says = format!(
        "{title} has the bridge twice, as a plugin and as an entry, so each session leads two teams"
    );
    let remedy = format!(
        "run `cli-team-bridge setup --remove --client {client}`, or remove {key} by hand if setup did not write it"
    );
    Finding::problem(subject, "plugin", says, remedy)
}
