//! The questions of one agent until each has its answer: being looked at, on their way to the bus, waiting there.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::look_at_paths::{PathExaminer, PathsFound, Survey};
use crate::acp::{
    AnswerKind, FileQuestion, PermissionQuestion, Places, ToolCallUpdate, Touched, choose,
};
use crate::bus::event::Question;
use crate::bus::state::State;
use crate::domain::ids::{CommandId, PermissionId};
use crate::domain::permission::Decision;

/// Kinds of questions that are counted apart: more than ACP knows.
const KINDS: usize = 16;

#[derive(Default)]
pub(crate) struct OpenQuestions {
    /// The places that calls of the session have named, in this turn and before.
    pub(super) places: Places,
    /// The looks at the disk on which answers depend.
    looks: PathExaminer,
    /// Requests that wait for such a look. Dropped, one is answered `cancelled`.
    pub(super) looking: JoinSet<ExaminedRequest>,
    /// Answers of the policy that the bus does not know yet.
    pub(super) decided: VecDeque<(Question, Decision)>,
    /// Answers of the policy in this turn, by kind.
    pub(super) counted: Vec<Counted>,
    /// Questions that are not on the bus yet, in their order.
    pub(super) unposted: VecDeque<Unposted>,
    pub(super) waiting: Vec<Waiting>,
    /// Files that are being read and written for the agent.
    pub(super) files: JoinSet<()>,
}

/// What the policy answers to one kind of question in a turn. The first stands on the bus at once, the others in one event when
/// the turn ends: an agent may ask thousands of times a second.
pub(super) struct Counted {
    kind: String,
    pub(super) decision: Decision,
    /// The last of the others, and how many they are.
    pub(super) others: Option<(Question, u64)>,
}

/// A question that is on the bus and waits for its answer.
pub(crate) struct Waiting {
    pub(crate) id: PermissionId,
    pub(crate) title: String,
    pub(crate) asked: Asker,
    pub(crate) until: Instant,
}

/// What an agent wants, and what a look at its places has found, unless that took too long.
pub(crate) struct ExaminedRequest {
    pub(super) wanted: Wanting,
    pub(super) found: Option<PathsFound>,
}

/// What an agent wants that depends on where its paths lead.
pub(crate) enum Wanting {
    /// To make this call, at all the places that it names.
    Call(PermissionQuestion, Question, Touched),
    File(FileQuestion),
}

/// What an agent waits for.
pub(crate) enum Asker {
    /// To learn whether it may make the call.
    Call(PermissionQuestion),
    /// That a file is written, at this place below the project.
    Write(FileQuestion, PathBuf),
}

/// A question that is not on the bus yet. All tries to put it there carry one command id, so it stands there once also where the
/// outcome of a try is unknown.
pub(crate) struct Unposted {
    pub(super) command: CommandId,
    pub(super) question: Question,
    pub(super) asked: Asker,
    /// The place of the newest question on the bus before the first try.
    pub(super) behind: u64,
    /// How often it was tried in vain, and before when it is not tried again.
    pub(super) tries: u32,
    pub(super) again: Option<Instant>,
    /// When it is answered with no instead.
    pub(super) until: Instant,
}

impl OpenQuestions {
    /// Says whether the agent waits for an answer.
    pub(crate) fn are_open(&self) -> bool {
        !self.unposted.is_empty() || !self.waiting.is_empty() || !self.looking.is_empty()
    }

    /// Takes in what the agent says of a call.
    pub(crate) fn note(&mut self, call: &ToolCallUpdate) {
        self.places.see(call);
    }

    /// Forgets the calls, as another session begins.
    pub(crate) fn forget_calls(&mut self) {
        self.places = Places::default();
    }

    /// Returns the next request whose places have been looked at. Cancel-safe.
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

    /// Looks at places on the disk, beside all else; [`OpenQuestions::looked`] returns what was found.
    pub(super) fn look(&mut self, wanted: Wanting, survey: Survey) {
        let looks = self.looks.clone();
        self.looking.spawn(async move {
            let found = looks.take(survey).await;
            ExaminedRequest { wanted, found }
        });
    }

    /// Notes what the policy has answered.
    pub(super) fn count(&mut self, question: Question, decision: Decision) {
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
        self.decided.push_back((question, decision));
    }

    /// Returns when this bridge itself says no to a question, or tries again to put one on the bus.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let again = self.unposted.front().and_then(|first| first.again);
        let waiting = self.waiting.iter().map(|waiting| waiting.until);
        waiting.chain(again).min()
    }

    /// Takes the next question that is to be put on the bus now.
    pub(super) fn take_unposted(&mut self, now: Instant) -> Option<Unposted> {
        let is_early = |first: &Unposted| first.again.is_some_and(|again| now < again);
        self.unposted.pop_front_if(|first| !is_early(first))
    }

    /// Takes the questions whose answer is known: by the bus, or because it is overdue.
    pub(super) fn take_answered(
        &mut self,
        state: &State,
        now: Instant,
    ) -> Vec<(Waiting, Decision)> {
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

impl Asker {
    /// Returns what may be answered.
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
            .filter_map(|(wanted, decision)| choose(options, wanted).map(|_| decision))
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
    fn kinds_that_an_agent_makes_up_are_counted_together() {
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
