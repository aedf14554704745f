//! The open questions of one agent: being examined, waiting to go on the bus, or waiting there for an answer.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::look_at_paths::{PathExaminer, PathsFound, Survey};
use crate::acp::{
    AnswerKind, FileQuestion, PermissionQuestion, Places, ToolCallUpdate, Touched, choose,
};
use crate::bus::event::Question;
use crate::bus::state::{PermissionAnswer, State};
use crate::domain::ids::{CommandId, PermissionId};
use crate::domain::limits;
use crate::domain::permission::Decision;

/// How many kinds of questions are counted separately: more than ACP defines.
const KINDS: usize = 16;

#[derive(Default)]
pub(crate) struct OpenQuestions {
    /// The paths that calls of the session have named, in this turn and before.
    pub(super) places: Places,
    /// Examines the paths on which answers depend.
    looks: PathExaminer,
    /// Requests whose paths are being examined. Dropping one answers it `cancelled`.
    pub(super) looking: JoinSet<ExaminedRequest>,
    /// The policy's answers that the bus does not know yet.
    pub(super) decided: VecDeque<(Question, Decision)>,
    /// The policy's answers in this turn, by kind.
    pub(super) counted: Vec<Counted>,
    /// Questions that are not on the bus yet, in order.
    pub(super) unposted: VecDeque<Unposted>,
    pub(super) waiting: Vec<Waiting>,
    /// Questions that were refused for good, oldest first.
    refused: VecDeque<Question>,
    /// Files that are being read and written for the agent.
    pub(super) files: JoinSet<()>,
}

/// The policy's answers to one kind of question in a turn. The first goes on the bus at once, the others in one event when the turn
/// ends: an agent may ask thousands of times a second.
pub(super) struct Counted {
    kind: String,
    pub(super) decision: Decision,
    /// The last of the others, and their number.
    pub(super) others: Option<(Question, u64)>,
}

/// A question that is on the bus and waits for its answer.
pub(crate) struct Waiting {
    pub(crate) id: PermissionId,
    pub(crate) question: Question,
    pub(crate) asked: Asker,
    pub(crate) until: Instant,
}

/// A request, and what the examination of its paths found, unless that took too long.
pub(crate) struct ExaminedRequest {
    pub(super) request: PathRequest,
    pub(super) found: Option<PathsFound>,
}

/// A request whose answer depends on where its paths lead.
pub(crate) enum PathRequest {
    /// To make this call, with all the paths that it names.
    Call(PermissionQuestion, Question, Touched),
    File(FileQuestion),
}

/// The agent's side of a question: what the answer goes to.
pub(crate) enum Asker {
    /// The agent waits to learn whether it may make the call.
    Call(PermissionQuestion),
    /// The agent waits until a file is written, at this place below the project.
    Write(FileQuestion, PathBuf),
}

/// A question that is not on the bus yet. All tries to put it there carry one command id, so it happens once even if the outcome of
/// a try is unknown.
pub(crate) struct Unposted {
    pub(super) command: CommandId,
    pub(super) question: Question,
    pub(super) asked: Asker,
    /// The position of the newest question on the bus before the first try.
    pub(super) behind: u64,
    /// How many tries have failed, and when the next may begin.
    pub(super) tries: u32,
    pub(super) again: Option<Instant>,
    /// When it is rejected instead.
    pub(super) until: Instant,
}

impl OpenQuestions {
    /// Returns whether the agent waits for an answer.
    pub(crate) fn are_open(&self) -> bool {
        !self.unposted.is_empty() || !self.waiting.is_empty() || !self.looking.is_empty()
    }

    /// Notes the paths in an update of a call.
    pub(crate) fn note(&mut self, call: &ToolCallUpdate) {
        self.places.see(call);
    }

    /// Forgets the calls: another session begins.
    pub(crate) fn forget_calls(&mut self) {
        self.places = Places::default();
    }

    /// Returns the next request whose paths have been examined. Cancel-safe.
    pub(crate) async fn looked(&mut self) -> ExaminedRequest {
        loop {
            match self.looking.join_next().await {
                Some(Ok(looked)) => return looked,
                // Dropping the request answered it.
                Some(Err(error)) => {
                    tracing::error!("the path check of a permission question failed: {error}");
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Returns the examiner of this agent's paths.
    pub(crate) fn looks(&self) -> PathExaminer {
        self.looks.clone()
    }

    /// Examines paths on the disk in the background; [`OpenQuestions::looked`] returns the result.
    pub(super) fn look(&mut self, request: PathRequest, survey: Survey) {
        let looks = self.looks.clone();
        self.looking.spawn(async move {
            let found = looks.take(survey).await;
            ExaminedRequest { request, found }
        });
    }

    /// Counts an answer of the policy.
    pub(super) fn count(&mut self, question: Question, decision: Decision) {
        let is_same =
            |counted: &Counted| counted.kind == question.kind && counted.decision == decision;
        let known = self.counted.iter().position(is_same);
        // The agent chooses the kinds. Those above the limit are counted with the last one below it.
        let known = known.or((self.counted.len() >= KINDS).then_some(KINDS - 1));
        if let Some(counted) = known.and_then(|at| self.counted.get_mut(at)) {
            let earlier = counted.others.take();
            let times = earlier.map_or(0, |(_, times)| times) + 1;
            counted.others = Some((question, times));
            return;
        }
        self.counted.push(Counted { kind: question.kind.clone(), decision, others: None });
        self.decided.push_back((question, decision));
    }

    /// Remembers that a question was refused for good, whichever agents offer to remember it themselves.
    pub(super) fn refuse_for_good(&mut self, question: Question) {
        if self.is_refused(&question) {
            return;
        }
        if self.refused.len() >= limits::LASTING_REFUSALS {
            self.refused.pop_front();
        }
        self.refused.push_back(question);
    }

    /// Returns whether the same question was refused for good: the same kind of call with the same words and paths.
    pub(super) fn is_refused(&self, question: &Question) -> bool {
        let what = |question: &Question| {
            (question.kind.clone(), question.title.clone(), question.paths.clone())
        };
        let wanted = what(question);
        self.refused.iter().any(|refused| what(refused) == wanted)
    }

    /// Returns when this bridge itself rejects a question, or next tries to put one on the bus.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let again = self.unposted.front().and_then(|first| first.again);
        let waiting = self.waiting.iter().map(|waiting| waiting.until);
        waiting.chain(again).min()
    }

    /// Takes the next question that is due to be put on the bus.
    pub(super) fn take_unposted(&mut self, now: Instant) -> Option<Unposted> {
        let is_early = |first: &Unposted| first.again.is_some_and(|again| now < again);
        self.unposted.pop_front_if(|first| !is_early(first))
    }

    /// Takes the questions whose answer is known: from the bus, or because they are overdue.
    pub(super) fn take_answered(
        &mut self,
        state: &State,
        now: Instant,
    ) -> Vec<(Waiting, Decision)> {
        let mut answered = Vec::new();
        let mut waiting = Vec::new();
        for question in self.waiting.drain(..) {
            let decision = match state.permission(&question.id) {
                Some(known) => known.answer.as_ref().map(PermissionAnswer::given),
                // The answer is so old that the state has forgotten it.
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

impl Asker {
    /// Returns the possible answers.
    pub(crate) fn offers(&self) -> Vec<Decision> {
        let Self::Call(asked) = self else {
            return vec![Decision::AllowOnce, Decision::Reject];
        };
        let options = &asked.request().options;
        let known = [
            (AnswerKind::AllowOnce, Decision::AllowOnce),
            (AnswerKind::AllowAlways, Decision::AllowAlways),
            (AnswerKind::Reject, Decision::Reject),
        ];
        known
            .into_iter()
            .filter_map(|(kind, decision)| choose(options, kind).map(|_| decision))
            .collect()
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
    fn a_lasting_refusal_counts_for_the_same_question_only() {
        let mut questions = OpenQuestions::default();
        questions.refuse_for_good(question("execute", "rm -r x"));
        let later = Question {
            task: Some(crate::domain::ids::TaskId::from_bits(2)),
            ..question("execute", "rm -r x")
        };
        assert!(questions.is_refused(&later), "in another task, too");
        let elsewhere =
            Question { paths: vec!["/p/x".to_owned()], ..question("execute", "rm -r x") };
        for other in [question("execute", "rm -r y"), question("delete", "rm -r x"), elsewhere] {
            assert!(!questions.is_refused(&other), "{other:?}");
        }
        for number in 0..limits::LASTING_REFUSALS {
            questions.refuse_for_good(question("execute", &number.to_string()));
        }
        assert!(!questions.is_refused(&later), "the oldest is asked about again");
    }

    #[test]
    fn equal_answers_of_a_turn_are_recorded_by_the_first_and_by_their_number() {
        let mut questions = OpenQuestions::default();
        for number in 0..1000 {
            let title = format!("read {number}");
            questions.count(question("read", &title), Decision::AllowOnce);
        }
        questions.count(question("edit", "edit"), Decision::AllowOnce);
        questions.count(question("read", "no"), Decision::Reject);
        let at_once: Vec<_> =
            questions.decided.iter().map(|(question, _)| question.title.as_str()).collect();
        assert_eq!(at_once, ["read 0", "edit", "no"]);
        let others: Vec<_> =
            questions.counted.iter().filter_map(|counted| counted.others.clone()).collect();
        assert_eq!(others, [(question("read", "read 999"), 999)]);
    }

    #[test]
    fn kinds_above_the_limit_are_counted_together() {
        let mut questions = OpenQuestions::default();
        for number in 0..1000 {
            questions.count(question(&format!("kind {number}"), ""), Decision::Reject);
        }
        assert_eq!(questions.decided.len(), KINDS);
        let others = questions.counted.iter().filter_map(|counted| counted.others.as_ref());
        let times: u64 = others.map(|(_, times)| times).sum();
        assert_eq!(times, 1000 - KINDS as u64);
    }
}
