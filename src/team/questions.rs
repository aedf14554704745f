//! What an agent asks for permission: answered by the policy at once, or put on the bus and answered as somebody says there.
//!
//! Every question has one answer: the first on the bus. Whoever gives it, only this bridge tells the agent. A question never
//! outlives its turn, and none hangs: the bus has a deadline for it, and where the bus fails, so has the bridge.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::actor::Actor;
use super::report::Refused;
use super::transcript;
use crate::acp::{
    Answer, FileQuestion, OurTools, PermissionQuestion, ToolCall, ToolCallUpdate, ToolCalls,
    Wanted, choose, is_our_tool,
};
use crate::bus::event::{Event, Question};
use crate::bus::rules::{Ask, Asking, NewQuestion};
use crate::bus::state::{State, Task};
use crate::domain::id::PermissionId;
use crate::domain::limits;
use crate::domain::permission::{Decision, Policy, Verdict, judge};
use crate::domain::tools::{ENDPOINT_TOOLS, SERVER};
use crate::sys::resolve::resolve;

/// How much longer than the bus this bridge waits for the bus's own "no", before it says no itself.
const SLACK: Duration = Duration::from_secs(10);

/// The questions of one agent on their way.
#[derive(Default)]
pub(super) struct Questions {
    /// What the policy has answered, and the bus does not know yet.
    settled: VecDeque<(Question, Decision)>,
    /// What has to be put on the bus.
    fresh: VecDeque<(Question, Asker)>,
    /// What waits for an answer.
    waiting: Vec<Waiting>,
}

struct Waiting {
    id: PermissionId,
    title: String,
    asked: Asker,
    until: Instant,
}

/// What an agent waits for.
pub(super) enum Asker {
    /// To be told whether it may.
    Call(PermissionQuestion),
    /// That a file is written, at this place below the project.
    Write(FileQuestion, PathBuf),
}

impl Questions {
    /// Says whether the agent waits for somebody's answer.
    pub(super) fn are_open(&self) -> bool {
        !self.fresh.is_empty() || !self.waiting.is_empty()
    }

    /// Returns when this bridge itself says no to a question.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.until).min()
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
    pub(super) fn consider(&mut self, asked: PermissionQuestion) {
        let cancelled = self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.cancelled.is_some() || turn.interrupted.is_some());
        if asked.request().session != self.acp.id || cancelled {
            // Dropped, it is answered `cancelled`: what it was for is over.
            return;
        }
        let told = asked.request().tool_call.clone();
        let ours = OurTools {
            server: SERVER,
            tools: &ENDPOINT_TOOLS,
        };
        let earlier = self.turn.as_ref().and_then(|turn| turn.calls.get(&told.id));
        let is_ours = is_our_tool(asked.request(), earlier, ours);
        let call = match &mut self.turn {
            Some(turn) => turn.calls.see(told).clone(),
            None => ToolCalls::default().see(told).clone(),
        };
        let question = self.question(&call);
        let verdict = if is_ours {
            Verdict::Allow
        } else {
            self.verdict(&call)
        };
        let decision = match verdict {
            Verdict::Allow => Decision::AllowOnce,
            Verdict::Reject => Decision::Reject,
            Verdict::Ask => return self.ask_somebody(question, Asker::Call(asked)),
        };
        self.settle_question(question, Asker::Call(asked), decision);
    }

    /// Keeps a question until somebody has answered it.
    pub(super) fn ask_somebody(&mut self, question: Question, asked: Asker) {
        self.questions.fresh.push_back((question, asked));
    }

    /// Answers a question as the policy says, and keeps that for the bus.
    pub(super) fn settle_question(&mut self, question: Question, asked: Asker, decision: Decision) {
        let told = self.tell(&question.title, asked, decision);
        self.questions.settled.push_back((question, told));
    }

    /// Brings the questions on: to the bus, and their answers from there to the agent.
    pub(super) async fn tend_questions(&mut self) {
        while let Some((question, decision)) = self.questions.settled.pop_front() {
            self.write(Ask::RecordPermission(Box::new(question), decision))
                .await;
        }
        while let Some((question, asked)) = self.questions.fresh.pop_front() {
            self.put(question, asked).await;
        }
        if self.questions.waiting.is_empty() {
            return;
        }
        let bus = self.seat.bus().clone();
        let questions = &mut self.questions;
        let answered = bus.look(|state| questions.take_answered(state, Instant::now()));
        for (waiting, decision) in answered {
            self.tell(&waiting.title, waiting.asked, decision);
        }
    }

    /// Puts a question on the bus. What nobody can be asked is answered with no.
    async fn put(&mut self, question: Question, asked: Asker) {
        let title = question.title.clone();
        let limit = Duration::from_secs(self.profile.permission_seconds.value);
        let offers = asked.offers();
        let new = NewQuestion {
            question,
            offers,
            timeout_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            to: if self.human.is_reachable() {
                Asking::Human
            } else {
                Asking::Orchestrator
            },
        };
        let receipt = self.write(Ask::AskPermission(Box::new(new))).await;
        let id = receipt
            .iter()
            .flat_map(|receipt| &receipt.events)
            .find_map(|event| match event {
                Event::PermissionAsked(asked) => Some(asked.id.clone()),
                _ => None,
            });
        if let Some(id) = id {
            self.questions.waiting.push(Waiting {
                id,
                title,
                asked,
                until: Instant::now() + limit + SLACK,
            });
        } else {
            self.tell(&title, asked, Decision::Reject);
        }
    }

    /// Ends all questions: the agent is told that they are cancelled, and nobody needs to answer them any more.
    pub(super) async fn drop_questions(&mut self) {
        self.questions.fresh.clear();
        let waiting = std::mem::take(&mut self.questions.waiting);
        if waiting.is_empty() {
            return;
        }
        let ids = waiting.iter().map(|waiting| waiting.id.clone()).collect();
        // Dropped, each is answered `cancelled`.
        drop(waiting);
        let session = self.identity.session;
        self.write(Ask::EndPermissions { session, ids }).await;
    }

    /// Says what the policy of the task, else of the profile, makes of a call.
    fn verdict(&self, call: &ToolCall) -> Verdict {
        judge(
            self.policy(),
            call.kind(),
            &self.places(call.known()),
            &self.launch.project,
        )
    }

    pub(super) fn policy(&self) -> Policy {
        let task = self.turn.as_ref().and_then(|turn| turn.task.as_ref());
        let of_task = task.and_then(|id| {
            let bus = self.seat.bus();
            bus.look(|state| state.task(id).map(|task| self.policy_of(task)))
        });
        of_task.unwrap_or(self.profile.permissions.value)
    }

    /// Returns the policy that holds in a task.
    pub(super) fn policy_of(&self, task: &Task) -> Policy {
        task.permissions.unwrap_or(self.profile.permissions.value)
    }

    /// Finds out where the paths of a call really lead.
    fn places(&self, call: &ToolCallUpdate) -> Vec<Option<PathBuf>> {
        let paths = call.locations.iter().flatten();
        paths
            .map(|path| resolve(&self.identity.cwd, path.as_ref()))
            .collect()
    }

    fn question(&self, call: &ToolCall) -> Question {
        let title = if call.title().is_empty() {
            call.id()
        } else {
            call.title()
        };
        let paths = call.known().locations.iter().flatten();
        Question {
            kind: clipped(call.kind()),
            ..self.question_of(title, paths.map(String::as_str))
        }
    }

    pub(super) fn question_of<'p>(
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
            paths: paths
                .take(limits::QUESTION_PATHS)
                .map(|path| self.told(path))
                .collect(),
        }
    }

    /// Returns what goes on the bus of a text of the agent's.
    fn told(&self, text: &str) -> String {
        clipped(&self.secrets.hidden(text.to_owned()))
    }

    /// Tells the agent what was decided, or does it; returns what it was told.
    fn tell(&mut self, title: &str, asked: Asker, decision: Decision) -> Decision {
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
    fn offers(&self) -> Vec<Decision> {
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

/// Cuts a text to what goes on the bus, visibly.
fn clipped(text: &str) -> String {
    let mut head: String = text.chars().take(limits::QUESTION_CHARS).collect();
    if head.len() < text.len() {
        head.push('…');
    }
    head
}
