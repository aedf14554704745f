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
    /// left them unread. Of all others, whether the process of the member has died.
    pub ended: Option<&'static str>,
}

/// The end of a wait that brought a message.
pub(super) const ANSWERED: &str = "answered";

/// The end of a turn for messages that failed and left them unread.
pub const REFUSED: &str = "refused";

/// The end of a turn for messages that left them unread, without an error.
pub const NOT_TAKEN: &str = "not taken";

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
                    self.end(&Cause::Reading(task.session), at, None);
                    let words = texts.first_words(task.prompt, limits::PROMPT_CHARS);
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
                Event::MessageReturned { session, call } => self.is_left_unread(*session, *call),
                Event::MemberActivity { session, activity } if *activity != Activity::Running => {
                    let cause = Cause::Reading(*session);
                    let ended = self.end_of_reading(&cause, texts);
                    self.end(&cause, at, ended);
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

    /// Notes that the messages of a turn are unread again.
    fn is_left_unread(&mut self, session: SessionId, call: CallId) {
        let turn = TaskId::of_turn_by(call).to_string();
        if let Some((_, stretch)) = self.open.get_mut(&Cause::Reading(session))
            && matches!(&stretch.kind, StretchKind::Reading { transcript } if *transcript == turn)
        {
            stretch.ended = Some(NOT_TAKEN);
        }
    }

    /// Says whether a turn that ends now left its messages unread.
    fn end_of_reading(&self, cause: &Cause, texts: &mut dyn Texts) -> Option<&'static str> {
        let (_, stretch) = self.open.get(cause)?;
        let ended = stretch.ended?;
        let StretchKind::Reading { transcript } = &stretch.kind else { return Some(ended) };
        let error = texts.error_of_turn(&TaskId::parse(transcript).ok()?);
        Some(error.map_or(ended, |_| REFUSED))
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
mod tests {
    use super::*;
    use crate::bus::event::{
        Body, Finished, Joined, LogPosition, PermissionAnswered, PermissionAsked, Question,
        TaskAssigned, TaskReport,
    };
    use crate::domain::ids::CommandId;
    use crate::domain::member::MemberKind;
    use crate::domain::messaging::Priority;
    use crate::domain::permission::{Decider, Decision};
    use crate::domain::task::TaskStatus;
    use crate::domain::time::Tick;
    use crate::view::NoTexts;

    const ANN: SessionId = SessionId(uuid::Uuid::nil());

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn call(number: u64) -> CallId {
        CallId(uuid::Uuid::from_u64_pair(1, number))
    }

    fn waits(number: u64, from: Option<&str>) -> Event {
        Event::WaitStarted {
            session: ANN,
            call: call(number),
            from: from.map(name),
            request: None,
            reply_to: None,
            timeout_ms: 1,
        }
    }

    /// Folds events, each a millisecond after the one before, in a team whose only member is ann.
    fn folded(most: usize, events: Vec<Event>) -> Vec<(StretchKind, i64, Option<i64>)> {
        let mut state = State::default();
        let mut stretches = Stretches::new(most);
        let joined = Event::MemberJoined(Joined {
            session: ANN,
            name: name("ann"),
            chosen: true,
            kind: MemberKind::Peer,
            model: None,
            roles: Vec::new(),
            pid: 1,
            client: None,
        });
        for (number, event) in (0..).zip([joined].into_iter().chain(events)) {
            let entry = Entry {
                seq: number + 1,
                ts: i64::try_from(number).unwrap(),
                tick: Tick { boot: 1, ms: number },
                id: CommandId(uuid::Uuid::from_u64_pair(0, number)),
                by: None,
                events: vec![event],
            };
            if number == 0 {
                state.apply(&entry, &[0], LogPosition::default());
            }
            stretches.take(&entry, &state, &mut NoTexts);
        }
        let all = stretches.all().into_iter();
        all.map(|one| (one.kind, one.from.0, one.until.map(|until| until.0))).collect()
    }

    #[test]
    fn a_wait_ends_with_its_message_or_without_one() {
        let handed = Event::MessageHanded {
            ids: Vec::new(),
            member: name("ann"),
            session: ANN,
            call: call(1),
            method: DeliveryMethod::Pull,
        };
        let ended = Event::WaitEnded { session: ANN, call: call(2) };
        let ben = || StretchKind::Wait { whom: Some("ben".to_owned()), for_user: false };
        let all = folded(
            9,
            vec![waits(1, Some("ben")), handed, waits(2, None), ended, waits(3, Some("ben"))],
        );
        let anybody = StretchKind::Wait { whom: None, for_user: false };
        assert_eq!(all, [(ben(), 1, Some(2)), (anybody, 3, Some(4)), (ben(), 5, None)]);
    }

    #[test]
    fn a_turn_without_a_task_is_a_stretch_of_its_own() {
        let handed = Event::MessageHanded {
            ids: Vec::new(),
            member: name("ann"),
            session: ANN,
            call: call(7),
            method: DeliveryMethod::Prompt,
        };
        let rests = Event::MemberActivity { session: ANN, activity: Activity::Idle };
        let transcript = TaskId::of_turn_by(call(7)).to_string();
        let reading = StretchKind::Reading { transcript };
        assert_eq!(folded(9, vec![handed, rests]), [(reading, 1, Some(2))]);
    }

    #[test]
    fn whoever_leaves_waits_no_more_and_old_stretches_are_forgotten() {
        let left = Event::MemberLeft {
            session: ANN,
            departure: Departure::Closed,
            detail: None,
            alive_ms: None,
        };
        let all = folded(2, vec![waits(1, None), waits(2, None), waits(3, None), left]);
        let kinds: Vec<_> = all.into_iter().map(|(_, from, until)| (from, until)).collect();
        assert_eq!(kinds, [(1, Some(4)), (2, Some(4))]);
    }

    /// The session of ann in the tests of tasks.
    fn session() -> SessionId {
        SessionId(uuid::Uuid::from_u64_pair(0, 1))
    }

    fn assigned(id: &TaskId) -> Event {
        Event::TaskAssigned(TaskAssigned {
            id: id.clone(),
            session: session(),
            agent: name("ann"),
            by: name("ben"),
            prompt: Body::Text("go".to_owned()),
            model: None,
            fresh: false,
            permissions: None,
            workflow: None,
            priority: Priority::Normal,
        })
    }

    /// Folds entries of these events in a team whose only member is ann.
    fn of_entries(
        texts: &mut dyn Texts,
        all: impl IntoIterator<Item = Vec<Event>>,
    ) -> Vec<Stretch> {
        let mut state = State::default();
        crate::view::tests::joined(&mut state, 1, "ann");
        let mut stretches = Stretches::new(9);
        for (number, events) in (2..).zip(all) {
            let first = crate::view::tests::entry(number, events[0].clone());
            let entry = Entry { events, ..first };
            state.apply(&entry, &vec![0; entry.events.len()], LogPosition::default());
            stretches.take(&entry, &state, texts);
        }
        stretches.all()
    }

    #[test]
    fn work_has_the_first_words_of_its_prompt() {
        struct Prompt;
        impl Texts for Prompt {
            fn text(&mut self, _: crate::bus::event::BodyRef) -> Option<String> {
                Some("Write the\nchapter".to_owned())
            }
        }
        let id = TaskId::from_bits(1);
        let events = || [vec![assigned(&id)], vec![Event::TaskStarted { id: id.clone() }]];
        let words = |texts: &mut dyn Texts| of_entries(texts, events()).remove(0).kind;
        let work = |words: Option<&str>| {
            let words = words.map(str::to_owned);
            StretchKind::Work { task: id.to_string(), words }
        };
        assert_eq!(words(&mut Prompt), work(Some("Write the chapter")));
        assert_eq!(words(&mut NoTexts), work(None), "it stays readable without its prompt");
    }

    #[test]
    fn work_that_ends_with_its_agent_ends_as_its_task_does() {
        let id = TaskId::from_bits(1);
        let session = session();
        let left = Event::MemberLeft {
            session,
            departure: Departure::Stopped,
            detail: None,
            alive_ms: None,
        };
        let finished = Event::TaskFinished(Finished {
            id: id.clone(),
            status: TaskStatus::Cancelled,
            output: Body::Text(String::new()),
            stop_reason: None,
            error: None,
            report: TaskReport::default(),
        });
        let all = [vec![assigned(&id)], vec![Event::TaskStarted { id }], vec![left, finished]];
        assert_eq!(of_entries(&mut NoTexts, all)[0].ended, Some("cancelled"));
    }

    #[test]
    fn what_goes_on_ends_with_the_process_of_its_member() {
        let stretch = |member: &str, kind| Stretch {
            member: member.to_owned(),
            kind,
            from: Moment(5),
            until: None,
            ended: None,
        };
        let wait = || StretchKind::Wait { whom: Some("ben".to_owned()), for_user: false };
        let work = StretchKind::Work { task: "task-1".to_owned(), words: None };
        let all = [stretch("ann", wait()), stretch("ann", work), stretch("ben", wait())];
        let last_written = Moment(9);
        let gone = MemberRow { last_written, ..crate::view::tests::row("ann", "gone") };
        let members = [gone, crate::view::tests::row("ben", "waiting")];
        let ended = ended_with_process(&all, &members);
        let ends: Vec<_> = ended.iter().map(|one| (one.until, one.ended)).collect();
        assert_eq!(ends, [(Some(Moment(9)), Some(DIED)), (Some(Moment(9)), None), (None, None)]);
    }

    #[test]
    fn a_question_is_open_until_its_answer() {
        let id = PermissionId::from_bits(7);
        let question = Question {
            session: ANN,
            agent: name("ann"),
            task: None,
            kind: "execute".to_owned(),
            title: "rm x".to_owned(),
            paths: Vec::new(),
        };
        let asked = PermissionAsked {
            id: id.clone(),
            question,
            offers: vec![Decision::AllowOnce],
            timeout_ms: 1,
        };
        let answered = PermissionAnswered {
            id,
            decision: Decision::Reject,
            by: Decider::Orchestrator,
            name: None,
            lasts: false,
            question: None,
            times: None,
        };
        let events = vec![Event::PermissionAsked(asked), Event::PermissionAnswered(answered)];
        assert_eq!(folded(9, events), [(StretchKind::Asking, 1, Some(2))]);
    }
}
