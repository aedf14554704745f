//! The dialog in which a person answers a permission question, or approves a step.

use crate::domain::act::Act;
use crate::domain::permission::Decision;
use crate::view::{Board, NeedKind, PermissionRow, PossibleAnswer};

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Subject {
    /// A permission question, by its id.
    Permission(String),
    /// A step of a workflow: the workflow's id, and the step's name.
    Step(String, String),
}

/// The open dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct Answering {
    pub(in crate::cli::commands::top) subject: Subject,
    /// The chosen answer of those that are offered. The first is a no, which a careless Enter gives.
    pub(in crate::cli::commands::top) choice: usize,
    /// The first line that is shown.
    pub(in crate::cli::commands::top) scroll: usize,
}

/// A possible answer: its words, the letter that chooses it, and whether it is the last that a careful person takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct Offer {
    pub(in crate::cli::commands::top) words: &'static str,
    pub(in crate::cli::commands::top) letter: char,
    decision: Decision,
}

const REFUSE: Offer = Offer { words: "Refuse", letter: 'd', decision: Decision::Reject };
const SAY_WHY: Offer =
    Offer { words: "Refuse and say why", letter: 'w', decision: Decision::Reject };
const APPROVE: Offer = Offer { words: "Approve", letter: 'o', decision: Decision::AllowOnce };

impl Offer {
    fn of(PossibleAnswer { words, decision }: PossibleAnswer) -> Self {
        let letter = match decision {
            Decision::Reject | Decision::Cancelled => 'd',
            Decision::RejectAlways => 'n',
            Decision::AllowOnce => 'o',
            Decision::AllowAlways => 'a',
        };
        Self { words, letter, decision }
    }
}

impl Answering {
    pub(super) fn of(subject: Subject) -> Self {
        Self { subject, choice: 0, scroll: 0 }
    }

    /// Returns the possible answers.
    pub(in crate::cli::commands::top) fn offers(&self, board: &Board) -> Vec<Offer> {
        match &self.subject {
            Subject::Step(..) => vec![REFUSE, SAY_WHY, APPROVE],
            Subject::Permission(id) => {
                let question = board.permissions.iter().find(|row| row.permission_id == *id);
                // A question that is gone can still be read, and its dialog closes with the next news.
                let answers = question.map_or_else(Vec::new, PermissionRow::answers);
                let offers: Vec<_> = answers.into_iter().map(Offer::of).collect();
                if offers.is_empty() { vec![REFUSE] } else { offers }
            }
        }
    }

    /// Says whether it is the answer to this question.
    pub(super) fn is_about(&self, row: &PermissionRow) -> bool {
        matches!(&self.subject, Subject::Permission(id) if *id == row.permission_id)
    }

    /// Says whether the question still waits for its answer.
    pub(super) fn is_open(&self, board: &Board) -> bool {
        match &self.subject {
            Subject::Permission(id) => board.permissions.iter().any(|row| row.permission_id == *id),
            Subject::Step(workflow, step) => board.needs_you.iter().any(|need| {
                need.kind == NeedKind::Approval
                    && need.who == *step
                    && need.id.as_ref() == Some(workflow)
            }),
        }
    }

    /// Returns the step for whose refusal the chosen answer wants a reason: its workflow, and its name.
    pub(super) fn wants_reason(&self, board: &Board) -> Option<(String, String)> {
        let offer = *self.offers(board).get(self.choice)?;
        match &self.subject {
            Subject::Step(workflow, step) if offer == SAY_WHY => {
                Some((workflow.clone(), step.clone()))
            }
            _ => None,
        }
    }

    /// Says whether the chosen answer allows what is asked.
    pub(super) fn allows(&self, board: &Board) -> bool {
        let offer = self.offers(board).get(self.choice).copied();
        offer.is_some_and(|offer| !offer.decision.is_rejection())
    }

    /// Returns the act of the chosen answer.
    pub(super) fn act(&self, board: &Board) -> Option<Act> {
        let offer = *self.offers(board).get(self.choice)?;
        Some(match &self.subject {
            Subject::Permission(id) => Act::Answer { id: id.clone(), decision: offer.decision },
            Subject::Step(workflow, step) => Act::Approve {
                workflow: workflow.clone(),
                step: step.clone(),
                given: !offer.decision.is_rejection(),
                reason: None,
            },
        })
    }
}
