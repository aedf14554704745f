//! Handles questions for permission: the policy answers one at once, or it goes to the bus and is answered there.
//!
//! Every question has one answer: the first on the bus. Whichever process gives it, only this bridge passes it to the agent. A
//! question never outlives its turn, and none hangs: the bus has a deadline for it, and so has the bridge in case the bus fails.

use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::effective_policy;
use super::look_at_paths::Survey;
use super::open_questions::{
    Asker, ExaminedRequest, OpenQuestions, PathRequest, Unposted, Waiting,
};
use super::shown_paths::shown_paths;
use crate::acp::{
    AcpSessionId, Answer, AnswerKind, OurTools, PermissionQuestion, ToolCall, ToolCalls, Touched,
    is_our_tool,
};
use crate::bus::event::Question;
use crate::bus::rules::Operation;
use crate::domain::ids::PermissionId;
use crate::domain::limits;
use crate::domain::member::Tools;
use crate::domain::permission::{Decision, Ground, Verdict, asked_title, depends_on_places, judge};
use crate::domain::text::counted::counted_as;
use crate::domain::tool_names::{ENDPOINT_TOOLS, SERVER};
use crate::sys::random_ids;
use crate::team::agent::context::AgentContext;
use crate::team::results::collect::Refused;
use crate::team::turn::transcript;
use crate::team::turn::turn_record::Turn;

impl OpenQuestions {
    /// Handles a question that the agent asks in its session: answers it by the policy, or keeps it until it is answered.
    pub(crate) fn consider(
        &mut self,
        agent: &AgentContext,
        session: &AcpSessionId,
        turn: &mut Option<Turn>,
        asked: PermissionQuestion,
    ) {
        let cancelled = turn
            .as_ref()
            .is_some_and(|turn| turn.cancelled.is_some() || turn.interrupted.is_some());
        if asked.request().session != *session || cancelled {
            // Dropping it answers `cancelled`: its purpose is over.
            return;
        }
        let update = asked.request().tool_call.clone();
        let ours = OurTools { server: SERVER, tools: &ENDPOINT_TOOLS };
        let earlier = turn.as_ref().and_then(|turn| turn.calls.get(&update.id));
        let is_ours = is_our_tool(asked.request(), earlier, ours) && has_our_tools(agent);
        self.note(&update);
        let known = self.places.of(&update.id).cloned();
        let call = match turn {
            Some(turn) => turn.calls.see(update).clone(),
            None => ToolCalls::default().see(update).clone(),
        };
        // The turn's record knows whether part of the call was forgotten.
        let mut touched = known.unwrap_or_default();
        touched.add(call.touched().clone());
        let question = question_of_call(agent, turn.as_ref(), &call, &touched);
        let policy = effective_policy::of_turn(agent, turn.as_ref());
        if is_ours {
            self.decide(agent, turn, (asked, question), Verdict::Allow);
        } else if depends_on_places(policy) && touched.all().next().is_some() {
            let survey = survey(agent, touched.all().map(AsRef::as_ref));
            self.look(PathRequest::Call(asked, question, touched), survey);
        } else {
            let verdict = judge(policy, &question.kind, &[], &Ground::default());
            self.decide(agent, turn, (asked, question), verdict);
        }
    }

    /// Continues with a request whose paths have been examined.
    pub(crate) fn consider_examined(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        examined: ExaminedRequest,
    ) {
        match examined.request {
            PathRequest::Call(asked, mut question, touched) => {
                let found = examined.found.as_ref();
                question.paths = shown_paths(agent, &question.kind, &touched, found);
                let verdict = found.map_or(Verdict::Ask, |found| {
                    // A word that only may be a path never makes a call allowed.
                    let places =
                        if touched.paths().is_empty() { &[] } else { found.places.as_slice() };
                    judge(
                        effective_policy::of_turn(agent, turn.as_ref()),
                        &question.kind,
                        places,
                        &found.ground,
                    )
                });
                self.decide(agent, turn, (asked, question), verdict);
            }
            PathRequest::File(asked) => self.decide_file(agent, turn, asked, examined.found),
        }
    }

    fn decide(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        (asked, question): (PermissionQuestion, Question),
        verdict: Verdict,
    ) {
        let decision = match verdict {
            Verdict::Allow => Decision::AllowOnce,
            Verdict::Reject => Decision::Reject,
            Verdict::Ask if self.is_refused(&question) => Decision::Reject,
            Verdict::Ask => return self.post(agent, question, Asker::Call(asked)),
        };
        self.answer_by_policy(agent, turn, (question, Asker::Call(asked)), decision);
    }

    /// Queues a question for the bus, until it is answered there.
    pub(super) fn post(&mut self, agent: &AgentContext, question: Question, asked: Asker) {
        self.unposted.push_back(Unposted {
            command: random_ids::command(),
            question,
            asked,
            behind: 0,
            tries: 0,
            again: None,
            until: Instant::now() + time_limit(agent),
        });
    }

    /// Answers a question by the policy, and queues the answer for the bus.
    pub(super) fn answer_by_policy(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        (question, asked): (Question, Asker),
        decision: Decision,
    ) {
        let answered = self.answer(agent, turn, (&question.title, asked), decision);
        self.count(question, answered);
    }

    /// Records the policy's answers in a turn that has ended, all equal ones in one event.
    pub(crate) async fn record_repeated(&mut self, agent: &AgentContext) {
        self.record_decided(agent).await;
        for counted in std::mem::take(&mut self.counted) {
            if let Some((question, times)) = counted.others {
                let times = (times > 1).then_some(times);
                let question = Box::new(question);
                agent.write(Operation::RecordPermission(question, counted.decision, times)).await;
            }
        }
    }

    async fn record_decided(&mut self, agent: &AgentContext) {
        while let Some((question, decision)) = self.decided.pop_front() {
            agent.write(Operation::RecordPermission(Box::new(question), decision, None)).await;
        }
    }

    /// Puts the questions on the bus, and passes their answers to the agent.
    pub(crate) async fn tend(&mut self, agent: &AgentContext, turn: &mut Option<Turn>) {
        self.record_decided(agent).await;
        while let Some(unposted) = self.take_unposted(Instant::now()) {
            if let Some(unposted) = self.put(agent, turn, unposted).await {
                self.unposted.push_front(unposted);
            }
        }
        if self.waiting.is_empty() {
            return;
        }
        let answered = agent.bus().look(|state| self.take_answered(state, Instant::now()));
        for (waiting, decision) in answered {
            let Waiting { question, asked, .. } = waiting;
            self.answer(agent, turn, (&question.title, asked), decision);
            if decision == Decision::RejectAlways {
                self.refuse_for_good(question);
            }
        }
    }

    /// Ends all questions with the answer `cancelled`. Returns those on the bus, which need no other answer any more.
    pub(crate) fn drop_all(&mut self) -> Vec<PermissionId> {
        self.unposted.clear();
        // Aborting the look drops its request; the blocking part ends by itself.
        self.looking = JoinSet::new();
        std::mem::take(&mut self.waiting).into_iter().map(|waiting| waiting.id).collect()
    }

    /// Passes a decision to the agent, or carries it out. Returns the answer that the agent got.
    pub(super) fn answer(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        (title, asked): (&str, Asker),
        decision: Decision,
    ) -> Decision {
        let call = match &asked {
            Asker::Call(asked) => Some(asked.request().tool_call.id.clone()),
            Asker::Write(..) => None,
        };
        let answered = match asked {
            Asker::Call(asked) => answer_call(asked, decision),
            Asker::Write(asked, inner) => {
                match decision {
                    Decision::AllowOnce | Decision::AllowAlways => {
                        self.access_file(agent, asked, inner);
                    }
                    Decision::Reject | Decision::RejectAlways => {
                        asked.answer(Err("this was not allowed".into()));
                    }
                    // Dropping it refuses it.
                    Decision::Cancelled => drop(asked),
                }
                decision
            }
        };
        if let Some(turn) = turn {
            let line = transcript::of_permission(agent.wall_ms(), title, answered.as_str());
            agent.transcribe(&turn.transcript, line);
            // From now on the agent has to continue.
            turn.heard = Instant::now();
            turn.part_words();
            if answered.is_rejection() {
                turn.collected.refuse(Refused { call, title: title.to_owned() });
            }
        }
        answered
    }
}

/// Returns how long a question waits for its answer.
pub(super) fn time_limit(agent: &AgentContext) -> Duration {
    Duration::from_secs(agent.profile.permission_seconds.value)
}

/// Returns what to examine for these paths. One path above the limit has the same effect as all.
pub(super) fn survey<'p>(agent: &AgentContext, paths: impl Iterator<Item = &'p Path>) -> Survey {
    Survey {
        root: agent.identity.root.clone(),
        bus: agent.launch.bus_dir.clone(),
        cwd: agent.identity.cwd.clone(),
        also: agent.profile.guarded.clone(),
        paths: paths.take(limits::LOOKED_PATHS + 1).map(Path::to_path_buf).collect(),
    }
}

/// Returns whether the agent has our own tools. One that started another server under our name, and not ours, has not.
fn has_our_tools(agent: &AgentContext) -> bool {
    agent.bus().look(|state| {
        let live = state.session(agent.session());
        live.is_some_and(|live| live.tools == Tools::Ready)
    })
}

fn question_of_call(
    agent: &AgentContext,
    turn: Option<&Turn>,
    call: &ToolCall,
    touched: &Touched,
) -> Question {
    let title = if call.title().is_empty() { call.id() } else { call.title() };
    let title = asked_title(call.name(), title);
    Question {
        kind: on_bus(agent, touched.kind()),
        ..question(agent, turn, &title, touched.paths().iter().map(String::as_str))
    }
}

/// Makes a question without a kind.
pub(super) fn question<'p>(
    agent: &AgentContext,
    turn: Option<&Turn>,
    title: &str,
    paths: impl Iterator<Item = &'p str>,
) -> Question {
    Question {
        session: agent.session(),
        agent: agent.name().clone(),
        task: turn.and_then(|turn| turn.task.clone()),
        kind: String::new(),
        title: title_on_bus(agent, title),
        paths: paths.take(limits::QUESTION_PATHS).map(|path| on_bus(agent, path)).collect(),
    }
}

/// Returns a text of the agent's as it goes on the bus: cut, and without secrets.
fn on_bus(agent: &AgentContext, text: &str) -> String {
    agent.secrets.hidden(text).clipped(limits::QUESTION_CHARS)
}

/// Returns the title of a question as it goes on the bus. Whoever decides is told what is missing.
fn title_on_bus(agent: &AgentContext, title: &str) -> String {
    let title = agent.secrets.hidden(title);
    let (head, is_cut) = title.head(limits::QUESTION_TITLE_CHARS);
    if !is_cut {
        return head.to_owned();
    }
    let missing = title.as_ref().chars().count() - limits::QUESTION_TITLE_CHARS;
    let missing = counted_as(missing, "character is", "characters are");
    format!("{head}… [cut: {missing} not shown]")
}

/// Passes a decision to the agent; a decision that it does not offer becomes `cancelled`.
fn answer_call(asked: PermissionQuestion, decision: Decision) -> Decision {
    let kind = match decision {
        Decision::AllowOnce => AnswerKind::AllowOnce,
        Decision::AllowAlways => AnswerKind::AllowAlways,
        Decision::Reject => AnswerKind::Reject,
        Decision::RejectAlways => AnswerKind::RejectAlways,
        Decision::Cancelled => {
            asked.answer(Answer::Cancelled);
            return decision;
        }
    };
    match asked.answer_by_kind(kind) {
        Answer::Option(_) => decision,
        Answer::Cancelled => Decision::Cancelled,
    }
}
