//! What happened in an exchange beside its messages: the steps of requests, disagreements, awaited answers, and threads.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::text::listed::listed;
use crate::view::{Moment, by_whom};

/// A step of an exchange that is no message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceStep {
    /// The seq of its event.
    pub seq: u64,
    pub at: Moment,
    pub kind: TraceStepKind,
    /// The request, the message or the first message of the thread that it is about.
    pub about: String,
    /// Who does it; missing for what the bridge does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whom it concerns: for whom a request is open, to whom it is handed over, who disagrees, or who has to decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// The message that does it: the answer to a request, or the decision of a disagreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The round of a disagreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Why, or how, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceStepKind {
    /// A request is open.
    Opened,
    /// The members were reminded of an unclaimed request.
    Nudged,
    Claimed,
    /// The lease of a claim runs anew.
    Renewed,
    /// The silent owner was reminded of its lease.
    OwnerReminded,
    HandedOver,
    /// The owner has released the request.
    Released,
    /// The request is open again without its owner's will.
    Lapsed,
    Completed,
    Failed,
    /// The request ended without an answer.
    Ended,
    /// Two members disagree.
    Disagreement,
    /// A further round of a disagreement.
    Round,
    /// A member is asked to decide a disagreement.
    Arbiter,
    /// The user is asked to decide a disagreement.
    Human,
    /// A disagreement ended by agreement.
    Agreed,
    /// A disagreement was decided.
    Decided,
    /// A disagreement ended without a decision.
    Undecided,
    /// Those who owe an answer were reminded.
    AnswerDue,
    /// An answer is awaited no longer.
    Unanswered,
    /// Nobody who fits the address came in time.
    Unclaimed,
    ThreadResolved,
}

impl TraceStep {
    /// Returns what happened as a sentence without its subject's id.
    pub fn in_words(&self) -> String {
        let by = by_whom(self.by.as_deref().unwrap_or("the bridge"));
        let to = self.to.join(", ");
        let with = self.message_id.as_ref().map(|id| format!(" with {id}")).unwrap_or_default();
        match self.kind {
            TraceStepKind::Opened => format!("opened by {by}, for {to}"),
            TraceStepKind::Nudged => "nobody has it, and a reminder goes out".to_owned(),
            TraceStepKind::Claimed => format!("claimed by {by}"),
            TraceStepKind::Renewed => "its lease runs on, from its owner's last sign".to_owned(),
            TraceStepKind::OwnerReminded => "its owner is silent and was reminded".to_owned(),
            TraceStepKind::HandedOver => format!("handed over by {by} to {to}"),
            TraceStepKind::Released => "released, and open again".to_owned(),
            TraceStepKind::Lapsed => {
                let why = self.why.as_deref().unwrap_or("its owner was lost");
                format!("lapsed, and open again: {why}")
            }
            TraceStepKind::Completed => format!("completed by {by}{with}"),
            TraceStepKind::Failed => "failed".to_owned(),
            TraceStepKind::Ended => "ended without an answer".to_owned(),
            TraceStepKind::Disagreement => format!("{} disagree", listed(&self.to, "and")),
            TraceStepKind::Round => {
                format!("round {} of the disagreement", self.round.unwrap_or_default())
            }
            TraceStepKind::Arbiter => format!("{to} is asked to decide the disagreement"),
            TraceStepKind::Human => "the user is asked to decide the disagreement".to_owned(),
            TraceStepKind::Agreed => format!("the disagreement ends: {by} agrees{with}"),
            TraceStepKind::Decided => format!("the disagreement is decided by {by}{with}"),
            TraceStepKind::Undecided => "nobody has decided the disagreement in time".to_owned(),
            TraceStepKind::AnswerDue => "its answer is due, and a reminder goes out".to_owned(),
            TraceStepKind::Unanswered => "stays without an answer".to_owned(),
            TraceStepKind::Unclaimed => "waits for nobody any more".to_owned(),
            TraceStepKind::ThreadResolved => {
                let how = self.why.as_deref().unwrap_or_default();
                format!("its thread is resolved by {by}: {}", serde_json::Value::from(how))
            }
        }
    }
}
