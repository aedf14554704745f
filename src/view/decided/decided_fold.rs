//! What has been decided, folded from the entries of the log.

use std::collections::{BTreeMap, VecDeque};

use super::decided_row::{Decided, DecidedHow};
use crate::bus::event::{
    Body, ConflictResolved, Entry, Event, MessageSent, PermissionAnswered, Question, ThreadResolved,
};
use crate::bus::state::{Conflict, State};
use crate::domain::ids::{MessageId, PermissionId, WorkflowId};
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictEnd, MessageKind, SignalClass};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::workflow::{REFUSED_BY_USER, StepStatus};
use crate::view::{Moment, Texts};

/// The texts that are kept for what is decided about them: questions to the user, positions and first messages. More are not open at once,
/// and the state knows the rest.
const KEPT_TEXTS: usize = 256;

/// The most characters of a name of a workflow.
const NAME: usize = limits::WORKFLOW_NAME_CHARS;

/// What has been decided in a team lately.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// The most that are kept.
    most: usize,
    /// Oldest first, each with what it is of: only its last end counts.
    rows: VecDeque<(String, Decided)>,
    /// The beginnings of messages on which something may rest, oldest first.
    texts: VecDeque<(MessageId, Option<String>)>,
    /// Who has asked the user something, with the id of the question.
    questions: BTreeMap<MessageId, String>,
    /// What agents want permission for.
    permissions: BTreeMap<PermissionId, Question>,
}

impl Decisions {
    /// Begins without any.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            rows: VecDeque::new(),
            texts: VecDeque::new(),
            questions: BTreeMap::new(),
            permissions: BTreeMap::new(),
        }
    }

    /// Returns what has been decided in the entries that were taken, oldest first.
    pub fn of_entries(&self) -> impl Iterator<Item = &Decided> {
        self.rows.iter().map(|(_, row)| row)
    }

    /// Returns what has been decided, the last first. Of disagreements the state knows more than the entries that were taken.
    pub fn all(&self, state: &State, texts: &mut dyn Texts) -> Vec<Decided> {
        let mut all: Vec<_> = self.rows.iter().map(|(_, row)| row.clone()).collect();
        let is_known = |conflict: &&Conflict| {
            let key = of_thread(&conflict.thread);
            self.rows.iter().any(|(of, _)| *of == key)
        };
        let older = state.last_ended_conflicts().take(self.most);
        let older = older.filter(|conflict| !is_known(conflict));
        let older: Vec<_> = older
            .filter_map(|conflict| {
                let end = conflict.end.as_ref()?;
                let message = end.message.as_ref()?;
                let words = (self.words(message, state, texts), Moment(end.at_ms));
                self.end_of(conflict, (end.how, &end.by, message), words, (state, texts))
            })
            .collect();
        all.extend(older);
        all.reverse();
        all.sort_by_key(|row| std::cmp::Reverse(row.at));
        all.truncate(self.most);
        all
    }

    /// Takes an entry. `state` is that of the same moment, or a later one.
    pub fn take(&mut self, entry: &Entry, state: &State, texts: &mut dyn Texts) {
        let at = Moment(entry.ts);
        for event in &entry.events {
            match event {
                Event::MessageSent(sent) => self.message(sent, at, (state, texts)),
                Event::ConflictResolved(ConflictResolved {
                    thread,
                    how,
                    by,
                    message: Some(message),
                }) => self.conflict_ends(thread, (*how, by, message), at, (state, texts)),
                Event::ConflictOverruled(end) => {
                    let by = (ConflictEnd::Decided, &Author::Human, &end.message);
                    self.conflict_ends(&end.thread, by, at, (state, texts));
                }
                Event::MessageSuperseded { id, .. } => self.ends_somewhere(id, None, state),
                Event::MessageExpired { id, member } => {
                    self.ends_somewhere(id, Some(member), state);
                }
                Event::ThreadResolved(resolved) => self.resolved(resolved, at, (state, texts)),
                Event::PermissionAsked(asked) => {
                    self.permissions.insert(asked.id.clone(), asked.question.clone());
                    if self.permissions.len() > limits::KEPT_PERMISSIONS {
                        self.permissions.pop_first();
                    }
                }
                Event::PermissionAnswered(answered) => self.permitted(answered, at, state),
                Event::StepApproved(step) => {
                    let by = if step.human { Author::HUMAN } else { step.by.as_str() };
                    let how = (DecidedHow::Approved, by.to_owned());
                    self.of_step((&step.workflow, &step.step), how, (None, None), at, state);
                }
                Event::StepEnded(step) => {
                    let why = step.why.as_deref().filter(|_| step.status == StepStatus::Cancelled);
                    let refused = why.and_then(|why| why.strip_prefix(REFUSED_BY_USER));
                    let Some(why) = refused else { continue };
                    let why = Some(why.trim_start_matches(": ")).filter(|why| !why.is_empty());
                    let why = why.map(|why| quoted(why, limits::NEED_CHARS));
                    let how = (DecidedHow::Denied, Author::HUMAN.to_owned());
                    // Where a session wrote it, the user refused it in that one's client.
                    let through = entry.by.and_then(|session| state.name_of(session));
                    let through = through.map(ToString::to_string);
                    self.of_step((&step.workflow, &step.step), how, (through, why), at, state);
                }
                _ => {}
            }
        }
    }

    /// Notes that a step of a workflow was approved or refused.
    fn of_step(
        &mut self,
        (workflow, step): (&WorkflowId, &Name),
        (how, by): (DecidedHow, String),
        (through, why): (Option<String>, Option<String>),
        at: Moment,
        state: &State,
    ) {
        let name = state.workflow(workflow).map(|known| beginning(&known.name, NAME));
        let of = name.map(|name| format!(" of {}", serde_json::Value::from(name)));
        let row = Decided {
            at,
            how,
            by,
            through,
            whom: Vec::new(),
            about: Some(format!("step {step}{}", of.unwrap_or_default())),
            words: None,
            why,
            id: workflow.to_string(),
            thread_id: None,
            task_id: None,
        };
        self.put(format!("step {workflow} {step}"), row);
    }

    fn message(&mut self, sent: &MessageSent, at: Moment, from: (&State, &mut dyn Texts)) {
        let (state, texts) = from;
        if let Some(before) = sent.more.as_ref().and_then(|more| more.supersedes.as_ref()) {
            let (announced, from) = (before.to_string(), sent.from.to_string());
            self.rows.retain(|(of, row)| *of != announced || row.by != from);
        }
        if let Some(thread) = sent.reopens() {
            let key = format!("resolved {thread}");
            self.rows.retain(|(of, _)| *of != key);
        }
        let wants_answer = sent.more.as_ref().is_some_and(|more| more.response_seconds.is_some());
        let is_question = sent.audience.is_human() && wants_answer && sent.from.member().is_some();
        let class = sent.class();
        let answers = sent.reply_to.as_ref().filter(|asked| {
            sent.kind != MessageKind::Nudge
                && class.answers()
                && self.is_question(asked, state)
                && speaks_for_user(sent, asked, state)
        });
        let is_first = sent.thread.as_ref().is_none_or(|thread| *thread == sent.id);
        let is_of_member = sent.from != Author::Bridge;
        let rests = matches!(class, SignalClass::Position | SignalClass::Decision);
        // The state knows the long text of a first message, if something is decided in its thread.
        let is_begun = is_first && is_of_member && matches!(sent.body, Body::Text(_));
        if is_question || rests || answers.is_some() || is_begun {
            let words = texts.text_of(&sent.body);
            self.texts.push_back((
                sent.id.clone(),
                words.map(|words| beginning(&words, limits::NEED_CHARS)),
            ));
            if self.texts.len() > KEPT_TEXTS {
                self.texts.pop_front();
            }
        }
        if is_question {
            self.questions.insert(sent.id.clone(), sent.from.to_string());
            if self.questions.len() > limits::USER_QUESTIONS {
                self.questions.pop_first();
            }
        }
        let thread = sent.thread.as_ref().unwrap_or(&sent.id);
        let row = |how, whom, about, words| Decided {
            at,
            how,
            by: sent.from.to_string(),
            through: None,
            whom,
            about,
            words,
            why: None,
            id: sent.id.to_string(),
            thread_id: Some(thread.to_string()),
            task_id: None,
        };
        if let Some(asked) = answers {
            let asker = self.asker(asked, state);
            let about = self.words(asked, state, texts);
            let words = self.words(&sent.id, state, texts);
            let row = row(DecidedHow::Answered, asker.into_iter().collect(), about, words);
            // The first answer counts, whoever gives it. What the user says after it may change it, so it stands beside it.
            let key = format!("answer {asked}");
            if !self.rows.iter().any(|(of, _)| *of == key) {
                self.put(key, row);
            } else if sent.from == Author::Human {
                self.put(format!("{key} {}", sent.id), row);
            }
        } else if class == SignalClass::Decision && !is_too_late(sent, thread, at, state) {
            let about = sent.more.as_ref().and_then(|more| more.reference.clone());
            let about = about.map(|about| beginning(&about, limits::NEED_CHARS));
            let of_thread = (thread != &sent.id).then(|| self.words(thread, state, texts));
            let words = self.words(&sent.id, state, texts);
            let whom = vec![sent.audience.to_string()];
            let about = about.or(of_thread.flatten());
            self.put(sent.id.to_string(), row(DecidedHow::Announced, whom, about, words));
        }
    }

    /// Forgets what was announced, where a copy of it has ended and now nobody has seen it or will. What one has seen holds, whatever
    /// became of the copies of others.
    fn ends_somewhere(&mut self, id: &MessageId, expired: Option<&Name>, state: &State) {
        let announced = id.to_string();
        let is_in_vain = |row: &Decided| match state.message(id) {
            Some(message) => {
                let mut copies = message.deliveries.iter();
                !state.is_promised(id) && copies.all(|(_, copy)| copy.ended_unseen())
            }
            // Of an old message the state knows nothing any more. One to a single member had no other copy.
            None => expired.is_some_and(|member| row.whom == [member.as_str()]),
        };
        self.rows.retain(|(of, row)| *of != announced || !is_in_vain(row));
    }

    fn conflict_ends(
        &mut self,
        thread: &MessageId,
        end: (ConflictEnd, &Author, &MessageId),
        at: Moment,
        (state, texts): (&State, &mut dyn Texts),
    ) {
        let announced = end.2.to_string();
        self.rows.retain(|(of, _)| *of != announced);
        let Some(conflict) = state.conflict(thread) else { return };
        let words = self.words(end.2, state, texts);
        if let Some(row) = self.end_of(conflict, end, (words, at), (state, texts)) {
            self.put(of_thread(thread), row);
        }
    }

    fn end_of(
        &self,
        conflict: &Conflict,
        (how, by, message): (ConflictEnd, &Author, &MessageId),
        (words, at): (Option<String>, Moment),
        (state, texts): (&State, &mut dyn Texts),
    ) -> Option<Decided> {
        let how = match how {
            ConflictEnd::Agreed => DecidedHow::Agreed,
            ConflictEnd::Decided => DecidedHow::Decided,
            ConflictEnd::Lapsed => return None,
        };
        let about = conflict.about.as_ref().map(|about| beginning(about, limits::NEED_CHARS));
        let others = conflict.names().filter(|name| by.member() != Some(*name));
        Some(Decided {
            at,
            how,
            by: by.to_string(),
            through: None,
            whom: others.map(ToString::to_string).collect(),
            about: about.or_else(|| self.words(&conflict.thread, state, texts)),
            words,
            why: None,
            id: message.to_string(),
            thread_id: Some(conflict.thread.to_string()),
            task_id: None,
        })
    }

    fn resolved(
        &mut self,
        resolved: &ThreadResolved,
        at: Moment,
        (state, texts): (&State, &mut dyn Texts),
    ) {
        for thread in &resolved.threads {
            let first = state.message(thread).map(|first| first.from.to_string());
            let row = Decided {
                at,
                how: DecidedHow::Resolved,
                by: resolved.by.to_string(),
                through: None,
                whom: first.into_iter().collect(),
                about: self.words(thread, state, texts),
                words: Some(beginning(&resolved.summary, limits::NEED_CHARS)),
                why: None,
                id: thread.to_string(),
                thread_id: Some(thread.to_string()),
                task_id: None,
            };
            self.put(format!("resolved {thread}"), row);
        }
    }

    /// Notes what a person, or whoever leads, has allowed or denied, and what was denied because neither answered; what a rule decides is
    /// no decision.
    fn permitted(&mut self, answered: &PermissionAnswered, at: Moment, state: &State) {
        let asked = self.permissions.remove(&answered.id);
        let by = match (answered.by, &answered.name) {
            (Decider::Human, _) => Author::HUMAN.to_owned(),
            (Decider::Orchestrator, Some(name)) => name.to_string(),
            (Decider::Deadline, _) => Author::Bridge.to_string(),
            _ => return,
        };
        let through = answered.name.as_ref().filter(|_| answered.by == Decider::Human);
        let is_unanswered = answered.by == Decider::Deadline;
        let how = match answered.given() {
            Decision::AllowOnce | Decision::AllowAlways => DecidedHow::Allowed,
            Decision::Reject | Decision::RejectAlways => DecidedHow::Denied,
            Decision::Cancelled => return,
        };
        let lasts = matches!(answered.given(), Decision::AllowAlways | Decision::RejectAlways);
        let known = || state.permission(&answered.id).map(|known| known.question.clone());
        let Some(question) = asked.or_else(known) else { return };
        let always = if lasts { "from now on: " } else { "" };
        let row = Decided {
            at,
            how,
            by,
            through: through.map(ToString::to_string),
            whom: vec![question.agent.to_string()],
            about: Some(format!("{always}{}", question.in_full())),
            words: None,
            why: is_unanswered.then(|| "nobody answered in time".to_owned()),
            id: answered.id.to_string(),
            thread_id: None,
            task_id: question.task.as_ref().map(ToString::to_string),
        };
        self.put(answered.id.to_string(), row);
    }

    /// Adds what has been decided in the place of what was before of the same, and forgets the oldest above the limit.
    fn put(&mut self, of: String, row: Decided) {
        self.rows.retain(|(known, _)| *known != of);
        self.rows.push_back((of, row));
        if self.rows.len() > self.most {
            self.rows.pop_front();
        }
    }

    fn words(&self, id: &MessageId, state: &State, texts: &mut dyn Texts) -> Option<String> {
        let mut known = self.texts.iter().rev();
        if let Some((_, words)) = known.find(|(of, _)| of == id) {
            return words.clone();
        }
        texts.first_words(state.message(id)?.body, limits::NEED_CHARS)
    }

    fn is_question(&self, id: &MessageId, state: &State) -> bool {
        self.questions.contains_key(id)
            || state.message(id).is_some_and(|message| {
                let more = message.more.as_ref();
                message.audience.is_human()
                    && more.is_some_and(|more| more.response_seconds.is_some())
            })
    }

    fn asker(&self, id: &MessageId, state: &State) -> Option<String> {
        let known = self.questions.get(id).cloned();
        known.or_else(|| state.message(id).map(|message| message.from.to_string()))
    }
}

/// Names what is decided at the end of a disagreement.
fn of_thread(thread: &MessageId) -> String {
    format!("thread {thread}")
}

/// Says whether a message answers a question in the name of the user: it is the user's, or of the member that has got the question.
fn speaks_for_user(sent: &MessageSent, asked: &MessageId, state: &State) -> bool {
    match &sent.from {
        Author::Human => true,
        Author::Member(from) => {
            state.message(asked).is_some_and(|message| message.delivery(from).is_some())
        }
        Author::Bridge | Author::Elsewhere(_) => false,
    }
}

/// Says whether a disagreement in the thread was over before: then a decision changes nothing.
fn is_too_late(sent: &MessageSent, thread: &MessageId, at: Moment, state: &State) -> bool {
    let end = state.conflict(thread).and_then(|conflict| conflict.end.as_ref());
    end.is_some_and(|end| end.message.as_ref() != Some(&sent.id) && end.at_ms <= at.0)
}
