//! `broadcast`: a message to all members.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct Broadcast;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// At most 1 MiB.
    content: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Members whose inboxes have it.
    delivered_to: Vec<String>,
    /// Live members it could not reach: their inbox is full, or they are hung.
    failed: Vec<String>,
    /// Whether you have just sent the same: who had it then does not get it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
}

impl Tool for Broadcast {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "broadcast";
    const DESCRIPTION: &'static str = "Send a message to all live members. It wakes idle agents, \
        so use it sparingly.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        caller.bus().reap_dead_sessions().await?;
        let sent = caller.call.broadcast(input.content).await?;
        let duplicate = sent.as_ref().is_some_and(|sent| sent.is_double).then_some(true);
        let delivered: BTreeSet<_> =
            sent.into_iter().flat_map(|sent| sent.recipients).map(|(name, _)| name).collect();
        let me = caller.membership().name().clone();
        let failed = caller.bus().look(|state| {
            let live = state.live_sessions().into_iter().map(|session| session.name.clone());
            live.filter(|name| *name != me && !delivered.contains(name))
                .map(|name| name.to_string())
                .collect()
        });
        Ok(Output {
            delivered_to: delivered.into_iter().map(|name| name.to_string()).collect(),
            failed,
            duplicate,
        })
    }
}
