//! What the user is asked, whatever it is: a permission, a question of a member, or a disagreement that nobody else decides. Each has a form,
//! and an answer that goes to the bus.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};

use super::decision_form::{answer_form, answer_in};
use super::question_form::{Circumstances, question_form, yes};
use crate::bus::rules::{HumanWish, Operation, PermissionReply};
use crate::bus::state::{BodyRef, Conflict, Permission, State};
use crate::bus::{Bus, BusError, Membership};
use crate::domain::ids::{MessageId, PermissionId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::ConflictStep;
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::text::listed::listed;
use crate::domain::text::visible_letters::{self, one_line, quoted};
use crate::domain::workflow::own_words;
use crate::sys::clock;

/// Something that the user is asked.
#[derive(Clone, Debug)]
pub(super) enum UserQuestion {
    Permission(Box<Permission>),
    /// A member has asked it with a message.
    Member {
        id: MessageId,
        asker: Name,
        text: BodyRef,
    },
    /// What the parties of a disagreement stand for; the first gets the answer, and both are bound by it.
    Dispute {
        thread: MessageId,
        about: Option<String>,
        positions: Vec<(Name, Option<BodyRef>)>,
    },
}

/// Returns all that the user of a bridge is asked now: what its agents want permission for, and, if it speaks with the user for the team,
/// what that is asked.
pub(super) fn open_questions(state: &State, me: SessionId) -> Vec<UserQuestion> {
    let is_held_by_me = |permission: &&Permission| {
        let agent = state.session(permission.question.session);
        agent.is_some_and(|agent| agent.owner == Some(me))
    };
    let permissions = state.open_permissions().into_iter().filter(is_held_by_me);
    let mut open: Vec<_> = permissions
        .map(|permission| UserQuestion::Permission(Box::new(permission.clone())))
        .collect();
    if state.speaks_with_user().is_none_or(|speaker| speaker.id != me) {
        return open;
    }
    open.extend(state.questions_for_user().filter_map(|message| {
        let asker = message.from.member().filter(|name| state.live(name).is_some())?;
        Some(UserQuestion::Member {
            id: message.id.clone(),
            asker: asker.clone(),
            text: message.body,
        })
    }));
    let undecided = state.open_conflicts().filter(|it| it.step == ConflictStep::Human);
    open.extend(undecided.map(|conflict| dispute(state, conflict)));
    open
}

/// Says whether what a key names still waits for the user, whether or not its form would be shown now.
pub(super) fn is_known(state: &State, key: &str) -> bool {
    if let Ok(id) = PermissionId::parse(key) {
        return state.permission(&id).is_some();
    }
    let Ok(id) = MessageId::parse(key) else { return false };
    state.asks_user(&id) || state.conflict(&id).is_some_and(Conflict::is_open)
}

fn dispute(state: &State, conflict: &Conflict) -> UserQuestion {
    let text = |position: &MessageId| state.message(position).map(|message| message.body);
    let positions = conflict.parties.iter();
    UserQuestion::Dispute {
        thread: conflict.thread.clone(),
        about: conflict.about.clone(),
        positions: positions.map(|party| (party.name.clone(), text(&party.position))).collect(),
    }
}

impl UserQuestion {
    /// Returns what names it in an answer: the id of what it asks about.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Permission(permission) => permission.id.to_string(),
            Self::Member { id, .. } => id.to_string(),
            Self::Dispute { thread, .. } => thread.to_string(),
        }
    }

    /// Says whether it still has no answer.
    pub(super) fn is_open(&self, state: &State) -> bool {
        match self {
            Self::Permission(permission) => {
                state.permission(&permission.id).is_some_and(|asked| asked.answer.is_none())
            }
            Self::Member { id, .. } => state.asks_user(id),
            Self::Dispute { thread, .. } => state
                .conflict(thread)
                .is_some_and(|conflict| conflict.is_open() && conflict.step == ConflictStep::Human),
        }
    }

    /// Makes its form, if a client can show all of what is asked.
    pub(super) fn form(&self, bus: &Bus) -> Option<ElicitRequestParams> {
        match self {
            Self::Permission(permission) => permission_form(bus, permission),
            Self::Member { id, asker, text } => {
                let words = beginning(bus, *text, limits::NEED_CHARS)?;
                answer_form(format!("{asker} asks you: {words} ({id})"))
            }
            Self::Dispute { thread, about, positions } => {
                let names: Vec<_> = positions.iter().map(|(name, _)| name.as_str()).collect();
                let of_each = limits::NEED_CHARS / positions.len().max(1);
                let about = about.as_ref();
                let about = about.map(|about| format!(" about {}", quoted(&one_line(about), 80)));
                let stand = positions.iter().filter_map(|(name, text)| {
                    Some(format!("{name}: {}", beginning(bus, (*text)?, of_each)?))
                });
                let stand: Vec<_> = stand.collect();
                answer_form(format!(
                    "{} disagree{}, and your answer binds them. {} ({thread})",
                    listed(&names, "and"),
                    about.unwrap_or_default(),
                    stand.join("; "),
                ))
            }
        }
    }

    /// Puts the answer on the bus. Without one, a permission stays with the orchestrator, and the others with all windows.
    pub(super) async fn settle(&self, membership: &Membership, result: Option<ElicitResult>) {
        let asked = match self {
            Self::Permission(permission) => {
                let decision = result.and_then(|result| decided(membership, permission, &result));
                let id = permission.id.clone();
                let ask = match decision {
                    Some(decision) => {
                        Operation::AnswerPermission(id, PermissionReply::Human(decision))
                    }
                    None => Operation::NotifyOfPermission(id),
                };
                membership.ask(ask).await.map(drop)
            }
            Self::Member { id, asker, .. } => say(membership, (asker, id), result).await,
            Self::Dispute { thread, positions, .. } => match positions.first() {
                Some((first, _)) => say(membership, (first, thread), result).await,
                None => return,
            },
        };
        match asked {
            Ok(()) => {}
            // Mostly another answer came first.
            Err(BusError::Refused(refusal)) => {
                if membership.bus().look(|state| self.is_open(state)) {
                    tracing::warn!("the user's answer to {} was refused: {refusal}", self.key());
                }
            }
            Err(error) => tracing::warn!("failed to record the user's answer: {error}"),
        }
    }
}

/// Sends what the user has written.
async fn say(
    membership: &Membership,
    (to, reply_to): (&Name, &MessageId),
    result: Option<ElicitResult>,
) -> Result<(), BusError> {
    let accepted = result.filter(|result| result.action == ElicitationAction::Accept);
    let Some(text) = accepted.as_ref().and_then(answer_in) else {
        return Ok(());
    };
    let wish = HumanWish::Send {
        to: to.to_string(),
        body: Bus::body(text.to_owned()),
        priority: None,
        reply_to: Some(reply_to.clone()),
        signal: None,
    };
    membership.bus().submit(None, Vec::new(), Operation::ByHuman(wish)).await.map(drop)
}

fn decided(
    membership: &Membership,
    permission: &Permission,
    result: &ElicitResult,
) -> Option<Decision> {
    match result.action {
        ElicitationAction::Accept => {
            membership.bus().look(|state| state.permission(&permission.id).and_then(yes))
        }
        ElicitationAction::Decline => Some(Decision::Reject),
        _ => None,
    }
}

/// Returns the beginning of a text in quotes, so that it cannot pass for our words.
fn beginning(bus: &Bus, text: BodyRef, most: usize) -> Option<String> {
    let text = bus.text(text).ok()?;
    Some(quoted(&one_line(&text), most))
}

fn permission_form(bus: &Bus, permission: &Permission) -> Option<ElicitRequestParams> {
    let question = &permission.question;
    let (directory, prompt) = bus.look(|state| {
        let directory = state.session(question.session).and_then(|agent| agent.cwd.clone());
        let task = question.task.as_ref().and_then(|task| state.task(task));
        (directory, task.map(|task| task.prompt))
    });
    // Without its first words the form still says what is asked.
    let read = |prompt| {
        let text = bus.text(prompt).ok()?;
        Some(visible_letters::beginning(&own_words(&text), limits::FORM_TASK_CHARS))
    };
    let task = prompt.and_then(read);
    let passed = clock::now().wall_ms.saturating_sub(permission.asked_ms);
    let left = permission.timeout_ms.saturating_sub(u64::try_from(passed).unwrap_or(0));
    question_form(permission, &Circumstances { directory, task, seconds_left: left.div_ceil(1000) })
}
