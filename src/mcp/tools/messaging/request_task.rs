//! `request_task`: work that any team-mate, or any of a group, may claim.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::messaging::RequestStatus;
use crate::domain::wait_times;
use crate::mcp::tool::at_most;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct RequestTask;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What to do.
    description: String,
    /// Helpful background.
    context: Option<String>,
    /// Who alone may claim it, as in `send_message`; default all.
    to: Option<String>,
    /// If unclaimed after this, all are reminded; default 30.
    timeout_seconds: Option<u64>,
    /// If unclaimed after this, it expires; default 900.
    ttl_seconds: Option<u64>,
    /// If its owner is silent for this, it is open again; default 300.
    lease_seconds: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// What to wait for.
    request_id: String,
    /// open; of one that you have asked for before, what it is by now.
    status: &'static str,
    /// Whether you have just opened the same, so that this is that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// A further note.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for RequestTask {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "request_task";
    const DESCRIPTION: &'static str = "Offer work to the whole team; one member claims it and \
        answers you. Then continue, or wait_for_message with the request_id.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let mut notes = Vec::new();
        let mut seconds = |name: &str, given: Option<u64>, default: u64| {
            let most = wait_times::MAX_REQUEST_SECONDS;
            if given == Some(0) {
                let problem = format!("{name} is 0; it must be 1 to {most}");
                return Err(ToolError::Arguments(problem));
            }
            let (seconds, shortened) = at_most(name, given.unwrap_or(default), most);
            notes.extend(shortened);
            Ok(Duration::from_secs(seconds))
        };
        let nudge =
            seconds("timeout_seconds", input.timeout_seconds, wait_times::REQUEST_NUDGE_SECONDS)?;
        let ttl = seconds("ttl_seconds", input.ttl_seconds, wait_times::REQUEST_TTL_SECONDS)?;
        let (shortest, _) = wait_times::LEASE_BOUNDS_SECONDS;
        if input.lease_seconds.is_some_and(|given| given < shortest) {
            let problem = format!("lease_seconds must be at least {shortest}");
            return Err(ToolError::Arguments(problem));
        }
        let lease = seconds("lease_seconds", input.lease_seconds, wait_times::LEASE_SECONDS)?;
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let texts = (input.description, input.context);
        let times = (nudge, ttl, Some(lease));
        let opened = caller.call.open_request_to(input.to, texts, times, None).await?;
        let status = caller.bus().look(|state| state.request(&opened.id).map(|one| one.status));
        Ok(Output {
            request_id: opened.id.into(),
            status: status.unwrap_or(RequestStatus::Open).as_str(),
            duplicate: opened.is_double.then_some(true),
            note,
        })
    }
}
