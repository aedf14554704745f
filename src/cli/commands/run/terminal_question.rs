//! The questions to the person at the terminal while a workflow runs: whether a step may begin, and whether an agent may do
//! something.

use std::collections::BTreeSet;

use crate::bus::rules::{Approval, Operation, PermissionReply};
use crate::bus::state::{Permission, State, StepRun, Workflow};
use crate::domain::ids::{PermissionId, SessionId};
use crate::domain::name::Name;
use crate::domain::permission::Decision;
use crate::domain::text::visible_letters::beginning;
use crate::domain::workflow::{StepOf, StepStatus, laid_out};

/// How many characters of an agent's name in a plan are shown: more than a name has.
const SHOWN: usize = 200;

/// How many characters of a step's prompt are shown: enough for its author's words and the beginning of what earlier steps said.
const PROMPT_SHOWN: usize = 1_000;

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// A step that needs approval.
    Step(Name),
    /// A request of an agent for permission.
    Permission(PermissionId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TerminalQuestion {
    pub(crate) subject: Subject,
    /// The facts behind the question, in a line that may be long.
    pub(crate) about: Option<String>,
    /// The question itself, which leaves room to type.
    pub(crate) text: String,
    /// Whether the answer may be "always".
    has_always: bool,
}

impl TerminalQuestion {
    fn of_step(step: &Name) -> Self {
        Self {
            subject: Subject::Step(step.clone()),
            about: None,
            text: format!("Start `{step}`? [y/N]"),
            has_always: false,
        }
    }

    /// Adds what a step would do, with the prompt that it would get.
    pub(crate) fn with_prompt(self, step: &StepRun, prompt: &str) -> Self {
        let (name, agent) = (&step.plan.name, beginning(step.planned_agent(), SHOWN));
        let prompt = beginning(&laid_out(prompt), PROMPT_SHOWN);
        Self { about: Some(format!("{name} gives {agent} this task: {prompt}")), ..self }
    }

    fn of_permission(permission: &Permission) -> Self {
        let has_always = permission.offers.contains(&Decision::AllowAlways);
        let agent = &permission.question.agent;
        let answers = if has_always { "[y/N, a = always]" } else { "[y/N]" };
        Self {
            subject: Subject::Permission(permission.id.clone()),
            about: Some(about(permission)),
            text: format!("Allow `{agent}` to do this? {answers}"),
            has_always,
        }
    }

    /// Returns the question to ask again after an answer that is neither yes nor no.
    pub(crate) fn again(self) -> Self {
        let words = if self.has_always {
            "Type y for yes, n for no, or a for always."
        } else {
            "Type y for yes, or n for no."
        };
        Self { about: Some(words.to_owned()), ..self }
    }

    /// Returns the operation for a typed answer; `None` if it is neither yes nor no. An empty answer is no.
    pub(crate) fn ask(&self, workflow: &Workflow, typed: &str) -> Option<Operation> {
        let word = typed.trim().to_lowercase();
        let yes = matches!(word.as_str(), "y" | "yes");
        let always = self.has_always && matches!(word.as_str(), "a" | "always");
        if !yes && !always && !matches!(word.as_str(), "" | "n" | "no") {
            return None;
        }
        Some(match &self.subject {
            Subject::Step(step) => {
                let step = StepOf { workflow: workflow.id.clone(), step: step.clone() };
                let approval = if yes { Approval::Given } else { Approval::Refused(None) };
                Operation::ApproveStep(step, approval)
            }
            Subject::Permission(id) => {
                let decision = match (yes, always) {
                    (true, _) => Decision::AllowOnce,
                    (_, true) => Decision::AllowAlways,
                    _ => Decision::Reject,
                };
                Operation::AnswerPermission(id.clone(), PermissionReply::Human(decision))
            }
        })
    }
}

/// Describes the agent and its request.
fn about(permission: &Permission) -> String {
    let question = &permission.question;
    let (agent, kind) = (&question.agent, question.exact_kind());
    format!("{agent} asks for permission ({kind}): {}", question.exact_words())
}

/// Returns the next new question of the steps and agents that a session leads.
pub(crate) fn next(
    workflow: &Workflow,
    state: &State,
    led_by: SessionId,
    asked: &BTreeSet<Subject>,
) -> Option<TerminalQuestion> {
    let is_new = |question: &TerminalQuestion| !asked.contains(&question.subject);
    let of_agents = permissions(state, led_by).map(TerminalQuestion::of_permission);
    let mut of_agents = of_agents.filter(is_new);
    // A permission request times out, a step's approval does not.
    of_agents.next().or_else(|| {
        let steps = workflow.steps.iter();
        let asking = steps.filter(|step| step.status == StepStatus::Asking);
        let mut of_steps = asking.map(|step| TerminalQuestion::of_step(&step.plan.name));
        of_steps.find(is_new)
    })
}

/// Returns the open questions of the agents that a session leads.
fn permissions(state: &State, led_by: SessionId) -> impl Iterator<Item = &Permission> {
    let open = state.open_permissions().into_iter();
    open.filter(move |permission| {
        let agent = state.session(permission.question.session);
        agent.is_some_and(|agent| agent.owner == Some(led_by))
    })
}

/// Returns a line for each new question of an agent, for a run without a person at the terminal.
pub(crate) fn unheard(
    state: &State,
    led_by: SessionId,
    reported: &mut BTreeSet<Subject>,
) -> Vec<String> {
    let new = permissions(state, led_by)
        .filter(|permission| reported.insert(Subject::Permission(permission.id.clone())));
    new.map(|permission| {
        let seconds = permission.timeout_ms / 1000;
        format!(
            "{}. There is no terminal to ask at. Answer with `cli-team-bridge allow {id}` or `deny \
                {id}`, or from an orchestrator with answer_permission; otherwise it is rejected \
                after {seconds} s",
            about(permission),
            id = permission.id,
        )
    })
    .collect()
}

/// Returns whether an answer still counts.
pub(crate) fn is_open(subject: &Subject, workflow: &Workflow, state: &State) -> bool {
    match subject {
        Subject::Step(step) => {
            let step = workflow.step(step);
            step.is_some_and(|step| step.status == StepStatus::Asking)
        }
        Subject::Permission(id) => {
            let mut open = state.open_permissions().into_iter();
            open.any(|permission| permission.id == *id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::Question as Asked;
    use crate::domain::ids::{TaskId, WorkflowId};
    use crate::domain::workflow::WorkflowStatus;

    fn workflow() -> Workflow {
        Workflow {
            id: WorkflowId::from_bits(1),
            name: "test".into(),
            by: Name::parse("run").unwrap(),
            owner: None,
            status: WorkflowStatus::Running,
            cancel_asked: false,
            steps: Vec::new(),
            prompts: crate::bus::state::BodyRef {
                place: crate::bus::storage::LogPosition::default(),
                index: 0,
                bytes: 0,
            },
            plan_file: None,
            is_trial: false,
            created_ms: 0,
            ended_ms: None,
            interrupted_ms: None,
        }
    }

    fn permission(offers: &[Decision]) -> Permission {
        Permission {
            id: PermissionId::from_bits(1),
            seq: 1,
            question: Asked {
                session: SessionId(uuid::Uuid::nil()),
                agent: Name::parse("codex").unwrap(),
                task: Some(TaskId::from_bits(1)),
                kind: "execute".into(),
                title: "rm\u{1b}[2J -r\nx y".into(),
                paths: vec!["y".into(), "/z".into()],
            },
            offers: offers.to_vec(),
            asked_ms: 0,
            timeout_ms: 120_000,
            notice: None,
            answer: None,
        }
    }

    #[test]
    fn only_yes_approves_only_no_rejects_and_always_counts_only_if_offered() {
        let decision =
            |question: &TerminalQuestion, typed: &str| match question.ask(&workflow(), typed)? {
                Operation::AnswerPermission(_, PermissionReply::Human(decision)) => Some(decision),
                other => panic!("{other:?}"),
            };
        let once =
            TerminalQuestion::of_permission(&permission(&[Decision::AllowOnce, Decision::Reject]));
        let always = TerminalQuestion::of_permission(&permission(&[
            Decision::AllowOnce,
            Decision::AllowAlways,
            Decision::Reject,
        ]));
        assert_eq!(once.text, "Allow `codex` to do this? [y/N]");
        assert_eq!(decision(&once, " Yes\n"), Some(Decision::AllowOnce));
        assert_eq!(decision(&always, "a\n"), Some(Decision::AllowAlways));
        for no in ["\n", "", "n\n", "No\n"] {
            assert_eq!(decision(&always, no), Some(Decision::Reject));
        }
        for unclear in ["a\n", "?\n", "yep\n"] {
            assert_eq!(decision(&once, unclear), None);
        }
        let name = Name::parse("commit").unwrap();
        let step = TerminalQuestion::of_step(&name);
        let operation = |typed| step.ask(&workflow(), typed);
        assert!(matches!(operation("y"), Some(Operation::ApproveStep(_, Approval::Given))));
        assert!(matches!(operation("n"), Some(Operation::ApproveStep(_, Approval::Refused(None)))));
        assert!(operation("a").is_none());
    }

    #[test]
    fn a_request_is_one_line_with_all_its_paths() {
        assert_eq!(
            about(&permission(&[])),
            r#"codex asks for permission (execute): "rm\u{1b}[2J -r\nx y", at ["y", "/z"]"#
        );
    }
}
