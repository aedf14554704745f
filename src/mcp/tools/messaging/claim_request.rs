//! `claim_request`: takes offered work, or a lane, if no other member was faster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::rules::Refusal;
use crate::bus::state::Request;
use crate::bus::{BusError, Claimed, RequestTexts};
use crate::domain::ids::RequestId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::time::iso8601;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct ClaimRequest;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The `request_id` of a request.
    request_id: Option<String>,
    /// Or a lane: you then get what is sent to @lane, alone.
    lane: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Whether you have it now.
    claimed: bool,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestView>,
    /// The lane, as it is addressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    /// Why you do not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RequestView {
    /// Its id, for `reply_to` of your answer.
    request_id: String,
    /// The requester, to whom you answer.
    from: String,
    /// What to do.
    description: String,
    /// Helpful background.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// open, claimed, completed, expired or failed.
    status: &'static str,
    /// Who claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_by: Option<String>,
    /// When it was opened, in UTC.
    timestamp: String,
    /// If the texts are cut: the message that has the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    /// Where the rest begins in that message: `check_messages` with `id` and `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Tool for ClaimRequest {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "claim_request";
    const DESCRIPTION: &'static str = "Claim a team-mate's request before you work on it, or a lane; \
        only one member gets it. When done, answer its sender with send_message, with the request_id as \
        reply_to.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let id = match (input.request_id, input.lane) {
            (Some(id), None) => RequestId::parse(&id)?,
            (None, Some(lane)) => return claim_lane(caller, &lane).await,
            _ => {
                let problem = "give either `request_id` or `lane`";
                return Err(ToolError::Arguments(problem.to_owned()));
            }
        };
        let (claimed, request, reason) = match caller.call.claim(id).await? {
            Claimed::Won(request) => (true, request, None),
            Claimed::Lost { request, reason } => (false, request, Some(reason)),
        };
        let texts = caller.bus().request_texts(request.body)?;
        Ok(Output {
            claimed,
            request: Some(view(request, &texts, caller.membership().text_room())),
            lane: None,
            reason,
        })
    }
}

/// Claims a lane. Losing is a value, as it is for a request.
async fn claim_lane(caller: &mut Caller, lane: &str) -> Result<Output, ToolError> {
    let word = lane.trim();
    let word = word.strip_prefix('@').unwrap_or(word);
    let lane = Label::parse(word)
        .map_err(|error| ToolError::Arguments(format!("`lane` of `claim_request`: {error}")))?;
    let address = Some(format!("@{lane}"));
    let output = |claimed, reason| Output { claimed, request: None, lane: address, reason };
    match caller.call.claim_lane(lane).await {
        Ok(()) => Ok(output(true, None)),
        Err(BusError::Refused(lost @ Refusal::LaneTaken { .. })) => {
            Ok(output(false, Some(lost.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}

fn view(request: Request, texts: &RequestTexts, room: usize) -> RequestView {
    let shown = texts.head(limits::HEAD_BYTES.min(room));
    RequestView {
        request_id: request.id.into(),
        from: request.from.to_string(),
        description: shown.description,
        context: shown.context,
        status: request.status.as_str(),
        claimed_by: request.owner.map(|owner| owner.by.to_string()),
        timestamp: iso8601(request.opened_ms),
        message_id: shown.next_offset.map(|_| request.message.into()),
        next_offset: shown.next_offset,
    }
}
