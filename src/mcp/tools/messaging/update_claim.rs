//! `update_claim`: gives back what a member holds: a claimed request, or a topic that it follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::rules::{Operation, Refusal};
use crate::domain::ids::RequestId;
use crate::domain::messaging::Group;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct UpdateClaim;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A request you have claimed, or a #topic you follow.
    id: String,
    /// What to do with it.
    action: Action,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Release,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The request or the topic.
    id: String,
    /// open: others may claim the request now. left: you no longer follow the topic.
    status: &'static str,
}

impl Tool for UpdateClaim {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "update_claim";
    const DESCRIPTION: &'static str = "Release a request that you have claimed and will not \
        answer, so that others may claim it, or stop following a topic.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let Input { id, action: Action::Release } = input;
        let (operation, status) = match Group::parse(id.trim()).map_err(Refusal::from)? {
            Some(Group::Topic(topic)) => (Operation::LeaveTopic(topic), "left"),
            Some(Group::Word(_)) => {
                let problem = "id is a request that you have claimed, or a `#topic`: a lane, a role or \
                    a capability lasts as long as your session";
                return Err(ToolError::Arguments(problem.to_owned()));
            }
            None => (Operation::GiveBack(RequestId::parse(&id)?), "open"),
        };
        caller.call.ask(operation).await?;
        Ok(Output { id, status })
    }
}
