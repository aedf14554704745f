//! What a member is doing, in a few words. The words of others in it, such as the prompt of its task, are quoted.

use serde_json::Value;

use crate::bus::Bus;
use crate::bus::state::{BodyRef, Session, State};
use crate::domain::limits;
use crate::domain::member::{Activity, MemberKind};
use crate::domain::text::counted::counted;
use crate::domain::time::Now;

/// What a member is doing, before the prompt of its task has been read.
pub(crate) struct Doing {
    words: String,
    /// The prompt of the task at which it works.
    prompt: Option<BodyRef>,
}

impl Doing {
    /// Looks at what a member is doing.
    pub(crate) fn look(state: &State, session: &Session, now: Now) -> Self {
        let plain = |words: String| Self { words, prompt: None };
        if session.hung {
            return plain("its process does not respond".to_owned());
        }
        if session.stop.is_some() || session.activity == Activity::Stopping {
            return plain("stopping".to_owned());
        }
        if !state.open_permissions_of(session.id).is_empty() {
            return plain("waiting for a permission".to_owned());
        }
        if let Some(wait) = session.waits.last() {
            let from = wait.from.as_ref().map(|name| format!(" from {name}")).unwrap_or_default();
            let about = wait.request.as_ref().map(|id| format!(" about {id}")).unwrap_or_default();
            return plain(format!("waiting for a message{from}{about}"));
        }
        if session.kind != MemberKind::Agent {
            // Nothing reports what the client of such a member is doing between its calls.
            return plain(format!("last active {} ago", span(now.wall_ms - session.last_ms)));
        }
        let more = match session.queue.len() {
            0 => String::new(),
            number => format!(", {} in its queue", counted(number, "task")),
        };
        let running = session.running.as_ref().and_then(|id| state.task(id));
        match (running, session.activity) {
            _ if session.stuck => plain(format!("does not end a cancelled turn{more}")),
            (Some(task), _) => {
                let time = span(now.wall_ms - task.started_ms.unwrap_or(now.wall_ms));
                let silent = if session.stalled { ", silent" } else { "" };
                let words = format!("running {} for {time}{silent}{more}", task.id);
                Self { words, prompt: Some(task.prompt) }
            }
            (None, Activity::Starting) => plain(format!("starting{more}")),
            (None, Activity::Running) => plain(format!("reading its messages{more}")),
            (None, _) => plain(format!("idle{more}")),
        }
    }

    /// Says it in words. A prompt that cannot be read is left out.
    pub(crate) fn in_words(self, bus: &Bus) -> String {
        let prompt = self.prompt.map(|body| bus.beginning(body, limits::DOING_CHARS));
        match prompt {
            Some(Ok(Some(prompt))) => format!("{}: {}", self.words, Value::from(prompt)),
            Some(Err(error)) => {
                tracing::debug!("failed to read the prompt of a running task: {error}");
                self.words
            }
            Some(Ok(None)) | None => self.words,
        }
    }
}

/// Writes a time by the wall clock, which may have been set back meanwhile.
fn span(millis: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    match millis.max(0) / 1000 {
        seconds if seconds < 2 * MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds => format!("{} h", seconds / HOUR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_short_and_never_negative() {
        let spans = [-5, 119_999, 120_000, 7_199_999, 7_200_000].map(span);
        assert_eq!(spans, ["0 s", "119 s", "2 min", "119 min", "2 h"]);
    }
}
