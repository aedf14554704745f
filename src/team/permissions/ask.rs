//! What an agent asks for permission: answered by the policy at once, or put on the bus and answered as somebody says there.
//!
//! Every question has one answer: the first on the bus. Whoever gives it, only this bridge tells the agent. A question never
//! outlives its turn, and none hangs: the bus has a deadline for it, and where the bus fails, so has the bridge.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::look_at_paths::{PathExaminer, PathsFound, Survey};
use super::put_on_bus::Fresh;
use crate::acp::{
    Answer, FileQuestion, OurTools, PermissionQuestion, Places, ToolCall, ToolCallUpdate,
    ToolCalls, Touched, Wanted, choose, is_our_tool,
};
use crate::bus::event::Question;
use crate::bus::rules::Operation;
use crate::bus::state::{State, Task};
use crate::domain::ids::PermissionId;
use crate::domain::limits;
use crate::domain::member::Tools;
use crate::domain::permission::{Decision, Ground, Policy, Verdict, depends_on_places, judge};
use crate::domain::tool_names::{ENDPOINT_TOOLS, SERVER};
use crate::sys::random_ids;
use crate::team::agent::actor::Actor;
use crate::team::results::collect::Refused;
use crate::team::turn::transcript;

/// Kinds of questions that are counted apart: more than ACP knows.
const KINDS: usize = 16;

/// The questions of one agent on their way.
#[derive(Default)]
pub(crate) struct Questions {
    /// What the calls of the session have named, in this turn and before.
    places: Places,
    /// The looks at the disk on which answers depend.
    looks: PathExaminer,
    /// What waits for such a look. Dropped, it is answered `cancelled`.
    looking: JoinSet<ExaminedRequest>,
    /// What the policy has answered, and the bus does not know yet.
    settled: VecDeque<(Question, Decision)>,
    /// What it has answered in this turn, by kind.
    counted: Vec<Counted>,
    /// What has to be put on the bus, in its order.
    fresh: VecDeque<Fresh>,
    /// What waits for an answer.
    pub(crate) waiting: Vec<Waiting>,
}

/// What the policy answers to one kind of question in a turn. The first stands on the bus at once, the others in one event when
/// the turn ends: an agent may ask thousands of times a second.
struct Counted {
    kind: String,
    decision: Decision,
    /// The last of the others, and how many they are.
    others: Option<(Question, u64)>,
}

pub(crate) struct Waiting {
    pub(crate) id: PermissionId,
    pub(crate) title: String,
    pub(crate) asked: Asker,
    pub(crate) until: Instant,
}

/// What an agent wants, and what a look at its places has found, unless that took too long.
pub(crate) struct ExaminedRequest {
    wanted: Wanting,
    found: Option<PathsFound>,
}

/// What an agent wants that depends on where its paths lead.
pub(crate) enum Wanting {
    /// To do what this question is about, at all the places that the call names.
    Call(PermissionQuestion, Question, Touched),
    /// A file.
    File(FileQuestion),
}

/// What an agent waits for.
pub(crate) enum Asker {
    /// To be told whether it may.
    Call(PermissionQuestion),
    /// That a file is written, at this place below the project.
    Write(FileQuestion, PathBuf),
}

impl Questions {
    /// Says whether the agent waits for somebody's answer.
    pub(crate) fn are_open(&self) -> bool {
        !self.fresh.is_empty() || !self.waiting.is_empty() || !self.looking.is_empty()
    }

    /// Takes in what the agent says of a call.
    pub(crate) fn note(&mut self, call: &ToolCallUpdate) {
        self.places.see(call);
    }

    /// Forgets the calls, as another session begins.
    pub(crate) fn forget_calls(&mut self) {
        self.places = Places::default();
    }

    /// Returns what has been looked at next. Cancel-safe.
    pub(crate) async fn looked(&mut self) -> ExaminedRequest {
        loop {
            match self.looking.join_next().await {
                Some(Ok(looked)) => return looked,
                // It was answered by being dropped.
                Some(Err(error)) => {
                    tracing::error!("the path check of a permission question failed: {error}");
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Returns the looks of this agent.
    pub(crate) fn looks(&self) -> PathExaminer {
        self.looks.clone()
    }

    /// PathExaminer at places on the disk, beside all else; what was found comes out of [`Questions::looked`].
    pub(crate) fn look(&mut self, wanted: Wanting, survey: Survey) {
        let looks = self.looks.clone();
        self.looking.spawn(async move {
            let found = looks.take(survey).await;
            ExaminedRequest { wanted, found }
        });
    }

    /// Notes what the policy has answered.
    fn count(&mut self, question: Question, decision: Decision) {
        let is_same =
            |counted: &Counted| counted.kind == question.kind && counted.decision == decision;
        let known = self.counted.iter().position(is_same);
        // Kinds are the agent's words. Those that are too many are counted with the last that is not.
        let known = known.or((self.counted.len() >= KINDS).then_some(KINDS - 1));
        if let Some(counted) = known.and_then(|at| self.counted.get_mut(at)) {
            let earlier = counted.others.take();
            let times = earlier.map_or(0, |(_, times)| times) + 1;
            counted.others = Some((question, times));
            return;
        }
        self.counted.push(Counted { kind: question.kind.clone(), decision, others: None });
        self.settled.push_back((question, decision));
    }

    /// Returns when this bridge itself says no to a question, or tries again to put one on the bus.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let again = self.fresh.front().and_then(|fresh| fresh.again);
        let waiting = self.waiting.iter().map(|waiting| waiting.until);
        waiting.chain(again).min()
    }

    /// Takes the next question that is to be put on the bus now.
    fn take_fresh(&mut self, now: Instant) -> Option<Fresh> {
        let is_early = |fresh: &Fresh| fresh.again.is_some_and(|again| now < again);
        self.fresh.pop_front_if(|fresh| !is_early(fresh))
    }

    /// Takes the questions whose answer is known: by the bus, or because it is overdue.
    fn take_answered(&mut self, state: &State, now: Instant) -> Vec<(Waiting, Decision)> {
        let mut answered = Vec::new();
        let mut waiting = Vec::new();
        for question in self.waiting.drain(..) {
            let decision = match state.permission(&question.id) {
                Some(known) => known.answer.as_ref().map(|answer| answer.decision),
                // It was answered so long ago that the state has forgotten it.
                None => Some(Decision::Reject),
            };
            let overdue = (now >= question.until).then_some(Decision::Reject);
            match decision.or(overdue) {
                Some(decision) => answered.push((question, decision)),
                None => waiting.push(question),
            }
        }
        self.waiting = waiting;
        answered
    }
}

impl Actor {
    /// Takes in a question: answers it by the policy, or keeps it until somebody has.
    pub(crate) fn consider(&mut self, asked: PermissionQuestion) {
        let cancelled = self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.cancelled.is_some() || turn.interrupted.is_some());
        if asked.request().session != self.acp.id || cancelled {
            // Dropped, it is answered `cancelled`: what it was for is over.
            return;
        }
        let told = asked.request().tool_call.clone();
        let ours = OurTools { server: SERVER, tools: &ENDPOINT_TOOLS };
        let earlier = self.turn.as_ref().and_then(|turn| turn.calls.get(&told.id));
        let is_ours = is_our_tool(asked.request(), earlier, ours) && self.has_our_tools();
        self.questions.note(&told);
        let known = self.questions.places.of(&told.id).cloned();
        let call = match &mut self.turn {
            Some(turn) => turn.calls.see(told).clone(),
            None => ToolCalls::default().see(told).clone(),
        };
        // That of the turn knows whether some of it is forgotten.
        let mut touched = known.unwrap_or_default();
        touched.add(call.touched().clone());
        let question = self.question(&call, &touched);
        let policy = self.policy();
        if is_ours {
            self.decide(asked, question, Verdict::Allow);
        } else if depends_on_places(policy) && touched.all().next().is_some() {
            let survey = self.survey(touched.all().map(AsRef::as_ref));
            let wanted = Wanting::Call(asked, question, touched);
            self.questions.look(wanted, survey);
        } else {
            let verdict = judge(policy, &question.kind, &[], &Ground::default());
            self.decide(asked, question, verdict);
        }
    }

    /// Goes on with what depended on a look at the disk.
    pub(crate) fn see(&mut self, looked: ExaminedRequest) {
        match looked.wanted {
            Wanting::Call(asked, mut question, touched) => {
                let found = looked.found.as_ref();
                question.paths = self.shown_paths(&question.kind, &touched, found);
                let verdict = found.map_or(Verdict::Ask, |found| {
                    // What only may be a place is none that makes a call one that may be allowed.
                    let places =
                        if touched.paths().is_empty() { &[] } else { found.places.as_slice() };
                    judge(self.policy(), &question.kind, places, &found.ground)
                });
                self.decide(asked, question, verdict);
            }
            Wanting::File(asked) => self.decide_file(asked, looked.found),
        }
    }

    fn decide(&mut self, asked: PermissionQuestion, question: Question, verdict: Verdict) {
        let decision = match verdict {
            Verdict::Allow => Decision::AllowOnce,
            Verdict::Reject => Decision::Reject,
            Verdict::Ask => return self.ask_somebody(question, Asker::Call(asked)),
        };
        self.settle_question(question, Asker::Call(asked), decision);
    }

    /// Says what is to be looked at for these paths. One more than are looked at is as good as all.
    pub(crate) fn survey<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Survey {
        Survey {
            root: self.identity.root.clone(),
            bus: self.launch.bus_dir.clone(),
            cwd: self.identity.cwd.clone(),
            also: self.profile.guarded.clone(),
            paths: paths.take(limits::LOOKED_PATHS + 1).map(Path::to_path_buf).collect(),
        }
    }

    /// Keeps a question until somebody has answered it.
    pub(crate) fn ask_somebody(&mut self, question: Question, asked: Asker) {
        let limit = self.limit_of_questions();
        self.questions.fresh.push_back(Fresh {
            command: random_ids::command(),
            question,
            asked,
            behind: 0,
            tries: 0,
            again: None,
            until: Instant::now() + limit,
        });
    }

    pub(crate) fn limit_of_questions(&self) -> Duration {
        Duration::from_secs(self.profile.permission_seconds.value)
    }

    /// Answers a question as the policy says, and keeps that for the bus.
    pub(crate) fn settle_question(&mut self, question: Question, asked: Asker, decision: Decision) {
        let told = self.tell(&question.title, asked, decision);
        self.questions.count(question, told);
    }

    /// Puts on the bus what the policy has answered in a turn that has ended, all that is equal in one event.
    pub(crate) async fn record_others(&mut self) {
        self.record_settled().await;
        for counted in std::mem::take(&mut self.questions.counted) {
            if let Some((question, times)) = counted.others {
                let times = (times > 1).then_some(times);
                let ask = Operation::RecordPermission(Box::new(question), counted.decision, times);
                self.write(ask).await;
            }
        }
    }

    async fn record_settled(&mut self) {
        while let Some((question, decision)) = self.questions.settled.pop_front() {
            let ask = Operation::RecordPermission(Box::new(question), decision, None);
            self.write(ask).await;
        }
    }

    /// Brings the questions on: to the bus, and their answers from there to the agent.
    pub(crate) async fn tend_questions(&mut self) {
        self.record_settled().await;
        while let Some(fresh) = self.questions.take_fresh(Instant::now()) {
            if let Some(fresh) = self.put(fresh).await {
                self.questions.fresh.push_front(fresh);
            }
        }
        if self.questions.waiting.is_empty() {
            return;
        }
        let bus = self.membership.bus().clone();
        let questions = &mut self.questions;
        let answered = bus.look(|state| questions.take_answered(state, Instant::now()));
        for (waiting, decision) in answered {
            self.tell(&waiting.title, waiting.asked, decision);
        }
    }

    /// Ends all questions: the agent is told that they are cancelled, and nobody needs to answer them any more.
    pub(crate) async fn drop_questions(&mut self) {
        self.questions.fresh.clear();
        // What is looked for is dropped with its question; the look itself ends by itself.
        self.questions.looking = JoinSet::new();
        let waiting = std::mem::take(&mut self.questions.waiting);
        if waiting.is_empty() {
            return;
        }
        let ids = waiting.iter().map(|waiting| waiting.id.clone()).collect();
        // Dropped, each is answered `cancelled`.
        drop(waiting);
        let session = self.identity.session;
        self.record(Operation::EndPermissions { session, ids }).await;
    }

    /// Returns the policy of the task, else of the profile.
    pub(crate) fn policy(&self) -> Policy {
        let task = self.turn.as_ref().and_then(|turn| turn.task.as_ref());
        let of_task = task.and_then(|id| {
            let bus = self.membership.bus();
            bus.look(|state| state.task(id).map(|task| self.policy_of(task)))
        });
        of_task.unwrap_or(self.profile.permissions.value)
    }

    /// Returns the policy that holds in a task.
    pub(crate) fn policy_of(&self, task: &Task) -> Policy {
        task.permissions.unwrap_or(self.profile.permissions.value)
    }

    /// Says whether the agent has our own tools: one that has started another server under our name, and not ours, has not.
    fn has_our_tools(&self) -> bool {
        let session = self.identity.session;
        self.membership.bus().look(|state| {
            let live = state.session(session);
            live.is_some_and(|live| live.tools == Tools::Ready)
        })
    }

    fn question(&self, call: &ToolCall, touched: &Touched) -> Question {
        let title = if call.title().is_empty() { call.id() } else { call.title() };
        Question {
            kind: self.told(touched.kind()),
            ..self.question_of(title, touched.paths().iter().map(String::as_str))
        }
    }

    pub(crate) fn question_of<'p>(
        &self,
        title: &str,
        paths: impl Iterator<Item = &'p str>,
    ) -> Question {
        Question {
            session: self.identity.session,
            agent: self.identity.name.clone(),
            task: self.turn.as_ref().and_then(|turn| turn.task.clone()),
            kind: String::new(),
            title: self.told(title),
            paths: paths.take(limits::QUESTION_PATHS).map(|path| self.told(path)).collect(),
        }
    }

    /// Returns what goes on the bus of a text of the agent's.
    fn told(&self, text: &str) -> String {
        self.secrets.hidden(text).clipped(limits::QUESTION_CHARS)
    }

    /// Tells the agent what was decided, or does it; returns what it was told.
    pub(crate) fn tell(&mut self, title: &str, asked: Asker, decision: Decision) -> Decision {
        let call = match &asked {
            Asker::Call(asked) => Some(asked.request().tool_call.id.clone()),
            Asker::Write(..) => None,
        };
        let told = match asked {
            Asker::Call(asked) => tell(asked, decision),
            Asker::Write(asked, inner) => {
                match decision {
                    Decision::AllowOnce | Decision::AllowAlways => self.fulfil(asked, inner),
                    Decision::Reject => asked.answer(Err("this was not allowed".to_owned())),
                    // Dropped, it is refused.
                    Decision::Cancelled => drop(asked),
                }
                decision
            }
        };
        if let Some(turn) = &self.turn {
            let line = transcript::of_permission(self.wall_ms(), title, told.as_str());
            self.transcribe(&turn.transcript, line);
        }
        if let Some(turn) = &mut self.turn {
            // From now on it is the agent's to go on.
            turn.heard = Instant::now();
            if told == Decision::Reject {
                let title = title.to_owned();
                turn.gathered.refuse(Refused { call, title });
            }
        }
        told
    }
}

impl Asker {
    /// Returns what may be answered.
    pub(crate) fn offers(&self) -> Vec<Decision> {
        let Self::Call(asked) = self else {
            return vec![Decision::AllowOnce, Decision::Reject];
        };
        let options = &asked.request().options;
        let known = [
            (Wanted::AllowOnce, Decision::AllowOnce),
            (Wanted::AllowAlways, Decision::AllowAlways),
            (Wanted::Reject, Decision::Reject),
        ];
        known
            .into_iter()
            .filter_map(|(wanted, decision)| choose(options, wanted).map(|_| decision))
            .collect()
    }
}

/// Tells the agent what was decided; what it does not offer is `cancelled`.
fn tell(asked: PermissionQuestion, decision: Decision) -> Decision {
    let wanted = match decision {
        Decision::AllowOnce => Wanted::AllowOnce,
        Decision::AllowAlways => Wanted::AllowAlways,
        Decision::Reject => Wanted::Reject,
        Decision::Cancelled => {
            asked.answer(Answer::Cancelled);
            return decision;
        }
    };
    match asked.answer_by_kind(wanted) {
        Answer::Option(_) => decision,
        Answer::Cancelled => Decision::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::SessionId;
    use crate::domain::name::Name;

    fn question(kind: &str, title: &str) -> Question {
        Question {
            session: SessionId(uuid::Uuid::nil()),
            agent: Name::parse("ann").unwrap(),
            task: None,
            kind: kind.to_owned(),
            title: title.to_owned(),
            paths: Vec::new(),
        }
    }

    #[test]
    fn equal_answers_of_a_turn_are_told_by_the_first_and_by_their_number() {
        let mut questions = Questions::default();
        for number in 0..1000 {
            let title = format!("read {number}");
            questions.count(question("read", &title), Decision::AllowOnce);
        }
        questions.count(question("edit", "edit"), Decision::AllowOnce);
        questions.count(question("read", "no"), Decision::Reject);
        let at_once: Vec<_> =
            questions.settled.iter().map(|(question, _)| question.title.as_str()).collect();
        assert_eq!(at_once, ["read 0", "edit", "no"]);
        let others: Vec<_> =
            questions.counted.iter().filter_map(|counted| counted.others.clone()).collect();
        assert_eq!(others, [(question("read", "read 999"), 999)]);
    }

    #[test]
    fn kinds_that_an_agent_makes_up_are_counted_together() {
        let mut questions = Questions::default();
        for number in 0..1000 {
            questions.count(question(&format!("kind {number}"), ""), Decision::Reject);
        }
        assert_eq!(questions.settled.len(), KINDS);
        let others = questions.counted.iter().filter_map(|counted| counted.others.as_ref());
        let times: u64 = others.map(|(_, times)| times).sum();
        assert_eq!(times, 1000 - KINDS as u64);
    }
}
