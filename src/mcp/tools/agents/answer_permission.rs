//! `answer_permission`: allows or denies an agent's request for permission.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::rules::{Operation, PermissionReply, Refusal};
use crate::bus::{Bus, BusError};
use crate::domain::ids::PermissionId;
use crate::domain::limits;
use crate::domain::member::ProcessMark;
use crate::domain::permission::{Decider, Decision};
use crate::mcp::{Caller, Tool, ToolError};
use crate::sys::process::ancestors::{self, Ancestor};

pub(crate) struct AnswerPermission;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// From the notice, or `get_agent_status`.
    permission_id: String,
    #[schemars(extend("enum" = ["allow_once", "allow_always", "reject", "reject_always"]))]
    decision: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The question.
    permission_id: String,
    /// Whether this call answered it.
    answered: bool,
    /// The answer that counts: `allow_once`, `allow_always`, reject, `reject_always` or cancelled.
    decision: String,
    /// Who gave it: orchestrator, human, deadline, or ended (the turn or the agent ended).
    by: String,
    /// Why this call did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Tool for AnswerPermission {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "answer_permission";
    const DESCRIPTION: &'static str = "Answer an agent's permission question. The first answer \
        counts. With `allow_always` the agent stops asking for such things; with `reject_always` the same \
        question is refused from now on.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let id = PermissionId::parse(&input.permission_id)?;
        let decision = Decision::parse(&input.decision).ok_or_else(|| {
            let shown: String = input.decision.chars().take(limits::SHOWN_NAME_CHARS).collect();
            ToolError::Arguments(format!(
                "decision is {shown:?}; it must be allow_once, allow_always, reject or reject_always"
            ))
        })?;
        if is_below_the_asker(caller.bus(), &id) {
            return Err(Refusal::OwnQuestion { id }.into());
        }
        let ask = Operation::AnswerPermission(id.clone(), PermissionReply::Itself(decision));
        let (answered, decision, by, reason) = match caller.membership().ask(ask).await {
            Ok(_) => (true, decision, Decider::Orchestrator, None),
            Err(BusError::Refused(refusal @ Refusal::PermissionOver { decision, by, .. })) => {
                (false, decision, by, Some(refusal.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Output {
            permission_id: id.to_string(),
            answered,
            decision: decision.as_str().to_owned(),
            by: by.as_str().to_owned(),
            reason,
        })
    }
}

/// Says whether this process descends from the agent that asks. The rules only know the process that started it.
///
/// A process that cannot see that agent among its ancestors joined before the agent existed, and so does not descend from it: otherwise
/// it could not have joined.
fn is_below_the_asker(bus: &Bus, id: &PermissionId) -> bool {
    let mark = |Ancestor { pid, started }| ProcessMark { pid, started: Some(started) };
    let line: Vec<_> = ancestors::ancestors().into_iter().map(mark).collect();
    bus.look(|state| {
        let asker = state.session(state.permission(id)?.question.session)?;
        Some(asker.runs_as_any_of(&line))
    })
    .unwrap_or(false)
}
