//! The limit of Claude Code for one call of any server: a variable in its environment, which `env` of its settings sets, too.

use std::time::Duration;

use super::Settings;
use crate::setup::known_client::{CALL_LIMIT, CALL_SECONDS, EntryInUse, Switch, SwitchEffect};
use crate::setup::switches::entry_values::number_in;

/// Judges the limit, if the entry has none of its own. What is no number above 0 is none.
pub(super) fn by_call_limit(used: &EntryInUse<'_>, settings: &[Settings]) -> Option<Switch> {
    if used.entry.get("timeout").is_some() {
        return None;
    }
    let limit = |one: &Settings| number_in(&one.value["env"][CALL_LIMIT]);
    let last = settings.iter().rfind(|one| limit(one).is_some());
    let (milliseconds, setting) = match last {
        Some(one) => (limit(one)?, one.named(&format!("env.{CALL_LIMIT}"))),
        None => (used.places.claude_call_limit?, format!("{CALL_LIMIT} in the environment")),
    };
    let longest = Duration::from_secs(CALL_SECONDS).as_secs_f64() * 1_000.0;
    if milliseconds <= 0.0 || milliseconds >= longest {
        return None;
    }
    let title = used.client.title;
    Some(Switch {
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!(
            "{title} ends each call of the bridge after {milliseconds} ms, shorter than the longest wait of a tool, because of {setting}"
        ),
        remedy: format!("set it to {longest}, or remove it"),
    })
}
