//! What the agents of this bridge are doing in their turns, as they report it: for those who wait for a task. It is on no disk, because
//! it is old news a moment later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::acp::{ToolCall, ToolCalls, Update};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::text::redact::Secrets;
use crate::domain::text::visible_letters::quoted;
use crate::sys::mutex::lock;

/// What an agent is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Act {
    Thinks,
    Writes,
    /// It waits for a tool: its title, quoted and without secrets.
    Uses(String),
}

/// What each agent is doing. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct DoingNow {
    acts: Arc<Mutex<BTreeMap<SessionId, Act>>>,
}

impl DoingNow {
    /// Notes an update of a turn with these calls.
    pub(crate) fn hear(
        &self,
        agent: SessionId,
        update: &Update,
        calls: &ToolCalls,
        secrets: &Secrets,
    ) {
        if let Some(act) = Act::of(update, calls, secrets) {
            lock(&self.acts).insert(agent, act);
        }
    }

    /// Forgets an agent, whose turn is over.
    pub(crate) fn forget(&self, agent: SessionId) {
        lock(&self.acts).remove(&agent);
    }

    /// Returns the end of a sentence that begins with the agent's name; none while it has not reported anything.
    pub(crate) fn in_words(&self, agent: SessionId) -> Option<String> {
        let act = lock(&self.acts).get(&agent).cloned()?;
        Some(match act {
            Act::Thinks => "thinks".to_owned(),
            Act::Writes => "writes".to_owned(),
            Act::Uses(title) => format!("uses a tool: {title}"),
        })
    }
}

impl Act {
    fn of(update: &Update, calls: &ToolCalls, secrets: &Secrets) -> Option<Self> {
        match update {
            Update::MessageText(_) => Some(Self::Writes),
            Update::ThoughtText(_) | Update::Plan(_) => Some(Self::Thinks),
            Update::ToolCall(update) => {
                let this = calls.get(&update.id).filter(|call| !call.is_over());
                // After the last call its model has the word again.
                let running = this.or_else(|| calls.running().next());
                Some(running.map_or(Self::Thinks, |call| Self::uses(call, secrets)))
            }
            _ => None,
        }
    }

    fn uses(call: &ToolCall, secrets: &Secrets) -> Self {
        let title = if call.title().is_empty() { call.name() } else { call.title() };
        let title = secrets.hidden(if title.is_empty() { "unnamed" } else { title });
        Self::Uses(quoted(title.as_str(), limits::DOING_CHARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::ToolCallUpdate;

    #[test]
    fn a_tool_is_named_as_long_as_it_runs() {
        let (mut calls, secrets) =
            (ToolCalls::default(), Secrets::of([("API_KEY", "s3cr3t-value")].into_iter()));
        let mut hear = |id: &str, title: Option<&str>, status: &str| {
            let update = ToolCallUpdate {
                id: id.into(),
                title: title.map(str::to_owned),
                status: Some(status.into()),
                ..ToolCallUpdate::default()
            };
            calls.see(update.clone());
            Act::of(&Update::ToolCall(Box::new(update)), &calls, &secrets)
        };
        let uses = |title: &str| Some(Act::Uses(title.to_owned()));
        assert_eq!(hear("1", Some("npm\ntest"), "in_progress"), uses("\"npm test\""));
        assert_eq!(
            hear("2", Some("echo s3cr3t-value"), "pending"),
            uses("\"echo [hidden: API_KEY]\"")
        );
        assert_eq!(hear("2", None, "completed"), uses("\"npm test\""));
        assert_eq!(hear("1", None, "failed"), Some(Act::Thinks));
        let text = Update::MessageText("so".to_owned());
        assert_eq!(Act::of(&text, &calls, &secrets), Some(Act::Writes));
        assert_eq!(Act::of(&Update::Mode("plan".to_owned()), &calls, &secrets), None);
    }
}
