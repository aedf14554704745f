//! Stretches of time: when each member worked, read its messages, waited for another, or waited for a permission. Folded from the entries of the log.

use std::collections::{BTreeMap, VecDeque};

use super::{MemberRow, Moment, Texts};
use crate::bus::event::{Entry, Event};
use crate::bus::state::State;
use crate::domain::ids::{CallId, MessageId, PermissionId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::{Activity, Departure};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;

/// Why a stretch is worth showing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StretchKind {
    /// The member worked at a task, whose prompt begins with these words, as one line.
    Work { task: String, words: Option<String> },
    /// It read messages in a turn without a task, whose transcript has this id.
    Reading { transcript: String },
    /// It waited for a message: of one member, or of any, or for an answer of the user.
    Wait { whom: Option<String>, for_user: bool },
    /// It waited for the answer to a question for permission.
    Asking,
}

/// A stretch of time of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub member: String,
    pub kind: StretchKind,
    pub from: Moment,
    /// When it ended; none if it goes on.
    pub until: Option<Moment>,
    /// How the task ended: done, failed, cancelled or interrupted. Of a wait, whether it brought a message. Of a turn for messages, whether it
    /// left them unread, or failed after it had shown them. Of all others, whether the process of the member has died.
    pub ended: Option<&'static str>,
}

/// The end of a wait that brought a message.
pub(super) const ANSWERED: &str = "answered";

/// The end of a turn for messages that failed and left them unread.
pub const REFUSED: &str = "refused";

/// The end of a turn for messages that left them unread, without an error.
pub const NOT_TAKEN: &str = "not taken";

/// The end of a turn for messages that failed after the model had seen them.
pub const CUT_SHORT: &str = "cut short";

/// Said of a turn for messages while it goes on: the model has seen them.
const TAKEN: &str = "taken";

/// The end of a stretch other than work, with the process of the member.
pub const DIED: &str = "died";

/// What begins a stretch, and is named again at its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Task(TaskId),
    Reading(SessionId),
    Wait(SessionId, CallId),
    Question(PermissionId),
}

/// The last stretches of a team.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// The most stretches that have ended, and the most that go on.
    most: usize,
    open: BTreeMap<Cause, (SessionId, Stretch)>,
    ended: VecDeque<Stretch>,
}

impl Stretches {
    /// Begins without stretches.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), open: BTreeMap::new(), ended: VecDeque::new() }
    }

    /// Returns the stretches: those that have ended by their end, then those that go on.
    pub fn all(&self) -> Vec<Stretch> {
        self.ended.iter().chain(self.open.values().map(|(_, stretch)| stretch)).cloned().collect()
    }

    /// Takes an entry. `state` is that of the same moment, or a later one.
    pub fn take(&mut self, entry: &Entry, state: &State, texts: &mut dyn Texts) {
        let at = Moment(entry.ts);
        for event in &entry.events {
            match event {
                Event::TaskStarted { id } | Event::TaskResumed { id } => {
                    let Some(task) = state.task(id) else { continue };
                    self.end_reading(task.session, at, texts);
                    let words = texts.first_of_prompt(task.prompt, limits::PROMPT_CHARS);
                    let kind = StretchKind::Work { task: id.to_string(), words };
                    let member = task.agent.to_string();
                    self.begin(Cause::Task(id.clone()), task.session, member, (kind, at));
                }
                Event::TaskFinished(end) => {
                    // The end of an agent whose bridge was killed is found later.
                    let ended = state.task(&end.id).and_then(|task| task.ended_ms);
                    let at = ended.map_or(at, |ended| Moment(ended.min(entry.ts)));
                    self.end(&Cause::Task(end.id.clone()), at, Some(end.status.as_str()));
                }
                Event::WaitStarted { session, call, from, reply_to, .. } => {
                    let Some(waiting) = state.name_of(*session) else { continue };
                    let whom = state.only_source(from.as_ref(), reply_to.as_ref());
                    let for_user =
                        whom.is_none() && waits_for_user(state, waiting, reply_to.as_ref());
                    let whom = whom.map(ToString::to_string);
                    let kind = StretchKind::Wait { whom, for_user };
                    self.begin(
                        Cause::Wait(*session, *call),
                        *session,
                        waiting.to_string(),
                        (kind, at),
                    );
                }
                Event::WaitEnded { session, call } => {
                    self.end(&Cause::Wait(*session, *call), at, None);
                }
                Event::MessageHanded { session, call, member, method, .. } => {
                    self.end(&Cause::Wait(*session, *call), at, Some(ANSWERED));
                    if *method == DeliveryMethod::Prompt {
                        let transcript = TaskId::of_turn_by(*call).to_string();
                        let reading = (StretchKind::Reading { transcript }, at);
                        self.begin(Cause::Reading(*session), *session, member.to_string(), reading);
                    }
                }
                Event::MessageReturned { session, call } => {
                    self.note_reading(*session, *call, NOT_TAKEN);
                }
                Event::MessageSeen { session, call } => self.note_reading(*session, *call, TAKEN),
                Event::MemberActivity { session, activity } if *activity != Activity::Running => {
                    self.end_reading(*session, at, texts);
                }
                Event::PermissionAsked(asked) => {
                    let question = &asked.question;
                    let cause = Cause::Question(asked.id.clone());
                    let asking = (StretchKind::Asking, at);
                    self.begin(cause, question.session, question.agent.to_string(), asking);
                }
                Event::PermissionAnswered(answered) => {
                    self.end(&Cause::Question(answered.id.clone()), at, None);
                }
                Event::MemberLeft { session, departure, .. } => {
                    let mut left = state.departed().rev();
                    let died = left.find(|left| left.session == *session).map(|left| left.last_ms);
                    let died = died.filter(|_| *departure == Departure::Dead);
                    let at = died.map_or(at, |died| Moment(died.min(entry.ts)));
                    let ended = (*departure == Departure::Dead).then_some(DIED);
                    self.end_all_of(*session, at, ended, state);
                }
                _ => {}
            }
        }
    }

    fn begin(
        &mut self,
        cause: Cause,
        session: SessionId,
        member: String,
        (kind, from): (StretchKind, Moment),
    ) {
        // A task that goes on after an interruption has the stretch that it had.
        if self.open.len() < self.most {
            let stretch = Stretch { member, kind, from, until: None, ended: None };
            self.open.entry(cause).or_insert((session, stretch));
        }
    }

    fn end(&mut self, cause: &Cause, at: Moment, ended: Option<&'static str>) {
        if let Some((_, stretch)) = self.open.remove(cause) {
            let until = Some(Moment(at.0.max(stretch.from.0)));
            self.ended.push_back(Stretch { until, ended, ..stretch });
            while self.ended.len() > self.most {
                self.ended.pop_front();
            }
        }
    }

    /// Notes what has become of the messages of a turn.
    fn note_reading(&mut self, session: SessionId, call: CallId, what: &'static str) {
        let turn = TaskId::of_turn_by(call).to_string();
        if let Some((_, stretch)) = self.open.get_mut(&Cause::Reading(session))
            && matches!(&stretch.kind, StretchKind::Reading { transcript } if *transcript == turn)
        {
            stretch.ended = Some(what);
        }
    }

    /// Ends the turn for messages of a session, if it is in one, and says whether it left them unread or failed.
    fn end_reading(&mut self, session: SessionId, at: Moment, texts: &mut dyn Texts) {
        let cause = Cause::Reading(session);
        let Some((_, stretch)) = self.open.get(&cause) else { return };
        let StretchKind::Reading { transcript } = &stretch.kind else { return };
        let is_unread = stretch.ended == Some(NOT_TAKEN);
        let turn = TaskId::parse(transcript).ok();
        let has_failed = turn.is_some_and(|turn| texts.error_of_turn(&turn).is_some());
        let ended = match (is_unread, has_failed) {
            (true, true) => Some(REFUSED),
            (true, false) => Some(NOT_TAKEN),
            (false, true) => Some(CUT_SHORT),
            (false, false) => None,
        };
        self.end(&cause, at, ended);
    }

    fn end_all_of(
        &mut self,
        session: SessionId,
        at: Moment,
        ended: Option<&'static str>,
        state: &State,
    ) {
        let of = self.open.iter().filter(|(_, (owner, _))| *owner == session);
        let causes: Vec<_> = of.map(|(cause, _)| cause.clone()).collect();
        for cause in causes {
            let ended = match &cause {
                // Its own event, of the same entry, says how it has ended.
                Cause::Task(id) => {
                    let task = state.task(id).filter(|task| task.status.is_final());
                    task.map(|task| task.status.as_str())
                }
                // What nothing has proven by then is unread again.
                Cause::Reading(_) if ended.is_none() => {
                    let noted = self.open.get(&cause).and_then(|(_, stretch)| stretch.ended);
                    noted.map_or(Some(NOT_TAKEN), |noted| (noted != TAKEN).then_some(noted))
                }
                _ => ended,
            };
            self.end(&cause, at, ended);
        }
    }
}

/// Says whether a member that begins to wait for no member in particular waits for an answer of the user.
fn waits_for_user(state: &State, waiting: &Name, reply_to: Option<&MessageId>) -> bool {
    match reply_to {
        Some(asked) => state.message(asked).is_some_and(|asked| asked.audience.is_human()),
        // As its row says.
        None => state.questions_for_user().any(|asked| asked.from.member() == Some(waiting)),
    }
}

/// Ends what goes on of members whose processes have ended, which no session has recorded yet: when they last wrote.
pub fn ended_with_process(stretches: &[Stretch], members: &[MemberRow]) -> Vec<Stretch> {
    let gone = members.iter().filter(|row| row.state == "gone");
    let gone: BTreeMap<_, _> = gone.map(|row| (row.name.as_str(), row.last_written)).collect();
    let ended = stretches.iter().map(|stretch| match gone.get(stretch.member.as_str()) {
        Some(last) if stretch.until.is_none() => {
            let is_work = matches!(stretch.kind, StretchKind::Work { .. });
            let ended = (!is_work).then_some(DIED).or(stretch.ended);
            Stretch { until: Some((*last).max(stretch.from)), ended, ..stretch.clone() }
        }
        _ => stretch.clone(),
    });
    ended.collect()
}

/// Returns the stretches of each member.
pub(super) fn by_member(stretches: &[Stretch]) -> BTreeMap<&str, Vec<&Stretch>> {
    let mut by_member = BTreeMap::<_, Vec<_>>::new();
    for stretch in stretches {
        by_member.entry(stretch.member.as_str()).or_default().push(stretch);
    }
    by_member
}

#[cfg(test)]
mod tests;
