//! What a member is doing, in a few words. The words of others in it, such as the prompt of its task, are quoted.

use serde_json::Value;

use super::{Trouble, moment::span};
use crate::bus::state::{BodyRef, Request, Session, State};
use crate::domain::member::{Activity, MemberKind};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::domain::time::Now;

/// What a member is doing, before the prompt of its task has been read.
pub struct Doing {
    words: String,
    /// The prompt of the task at which it works.
    prompt: Option<BodyRef>,
}

impl Doing {
    /// Looks at what a member is doing.
    pub fn look(state: &State, session: &Session, now: Now) -> Self {
        let plain = |words: String| Self { words, prompt: None };
        if session.hung {
            // Each bridge keeps its agents alive, so an agent is silent with its bridge.
            let is_agent = session.kind == MemberKind::Agent;
            let silent = if is_agent { Trouble::SilentBridge } else { Trouble::SilentProcess };
            return plain(silent.meaning().to_owned());
        }
        if session.stop.is_some() || session.activity == Activity::Stopping {
            return plain("stopping".to_owned());
        }
        if !state.open_permissions_of(session.id).is_empty() {
            return plain("waiting for a permission".to_owned());
        }
        if let Some(wait) = session.waits.last() {
            let from = wait.from.as_ref().map(|name| {
                let gone = if state.live(name).is_none() { ", who is not here" } else { "" };
                format!(" from {name}{gone}")
            });
            let from = from.unwrap_or_default();
            let about = wait.request.as_ref().map(|id| {
                let request = state.request(id);
                let owner = request.and_then(owner).filter(|owner| **owner != session.name);
                let claimed = owner.map(|owner| format!(", claimed by {owner}"));
                format!(" about {id}{}", claimed.unwrap_or_default())
            });
            let about = about.unwrap_or_default();
            return plain(format!("waiting for a message{from}{about}"));
        }
        if session.kind != MemberKind::Agent {
            // Nothing reports what the client of such a member is doing between its calls.
            let last_ms = state.last_deed_ms(session, now);
            return plain(format!("last active {} ago", span(now.wall_ms - last_ms)));
        }
        let more = match session.queue.len() {
            0 => String::new(),
            number => format!(", {} in its queue", counted(number, "task")),
        };
        let running = session.running.as_ref().and_then(|id| state.task(id));
        match (running, session.activity) {
            _ if session.stuck => plain(format!("{}{more}", Trouble::Stuck.meaning())),
            (Some(task), _) => {
                let time = span(now.wall_ms - task.started_ms.unwrap_or(now.wall_ms));
                let silent = if session.stalled { ", silent" } else { "" };
                let words = format!("running {} for {time}{silent}{more}", task.id);
                Self { words, prompt: Some(task.prompt) }
            }
            (None, Activity::Starting) => plain(format!("starting{more}")),
            (None, Activity::Idle) if session.awaits_tools() => plain(format!("starting{more}")),
            (None, Activity::Running) => plain(format!("reading its messages{more}")),
            (None, _) => plain(format!("idle{more}")),
        }
    }

    /// Says it in words. `read` returns the beginning of a prompt as one line; without it, the words say the rest.
    pub fn in_words(self, read: impl FnOnce(BodyRef) -> Option<String>) -> String {
        match self.prompt.and_then(read) {
            Some(prompt) => format!("{}: {}", self.words, Value::from(prompt)),
            None => self.words,
        }
    }
}

/// Returns the member whose message a member waits for, if that can be only one: the one that it has named, the one whose answer it
/// wants, or the other one of a claimed request.
pub fn awaited<'a>(state: &'a State, session: &'a Session) -> Option<&'a Name> {
    let wait = session.waits.last()?;
    let of_request = || {
        let request = state.request(wait.request.as_ref()?)?;
        let mut others = owner(request).into_iter().flat_map(|owner| [owner, &request.from]);
        others.find(|name| **name != session.name)
    };
    let of_wait = state.only_source(wait.from.as_ref(), wait.reply_to.as_ref());
    of_wait.or_else(of_request)
}

/// Returns who has claimed a request, while that counts.
fn owner(request: &Request) -> Option<&Name> {
    let owner = request.owner.as_ref().filter(|_| request.status == RequestStatus::Claimed);
    owner.map(|owner| &owner.by)
}
