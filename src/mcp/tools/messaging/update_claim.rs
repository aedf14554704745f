//! `update_claim`: what the owner of a request does with its claim; and the end of owning a lane or following a topic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::bus::rules::{ClaimUpdate, Operation, Refusal};
use crate::domain::ids::RequestId;
use crate::domain::messaging::Group;
use crate::mcp::{Caller, Tool, ToolError};

pub(crate) struct UpdateClaim;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A request or @lane that you own, or a #topic that you follow.
    id: String,
    action: Action,
    /// For `hand_over`: the next owner.
    to: Option<String>,
    /// What you say: the answer of complete, how far you are, why.
    content: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    Renew,
    Progress,
    Release,
    HandOver,
    Complete,
    Fail,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Renew => "renew",
            Self::Progress => "progress",
            Self::Release => "release",
            Self::HandOver => "hand_over",
            Self::Complete => "complete",
            Self::Fail => "fail",
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The request, the lane or the topic.
    id: String,
    /// open, claimed, completed or failed; of a lane: released; of a topic: left.
    status: &'static str,
    /// Who owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// How long it stays yours without a call of these tools; a turn of yours counts as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_seconds: Option<u64>,
}

impl Tool for UpdateClaim {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "update_claim";
    const DESCRIPTION: &'static str = "Of a request that you own: tell its sender how far you are \
        (progress), keep it while you are silent (renew), offer it to all again (release), hand it \
        over, answer it (complete), or give it up (fail). Or release a lane or topic.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        if let Some(group) = Group::parse(input.id.trim()).map_err(Refusal::from)? {
            return leave(caller, group, &input).await;
        }
        let id = RequestId::parse(&input.id)?;
        let update = update(input.action, input.to, input.content)?;
        let request = caller.call.update_claim(&id, update).await?;
        let me = caller.membership().name().clone();
        let owner = request.owner.filter(|_| !request.status.is_final());
        let is_mine = owner.as_ref().is_some_and(|owner| owner.by == me);
        let lease = request.lease.filter(|_| is_mine);
        Ok(Output {
            id: request.id.into(),
            status: request.status.as_str(),
            owner: owner.map(|owner| owner.by.to_string()),
            lease_seconds: lease.map(|lease| lease.ms / 1000),
        })
    }
}

/// Ends following a topic, or owning a lane.
async fn leave(caller: &mut Caller, group: Group, input: &Input) -> Result<Output, ToolError> {
    if input.action != Action::Release || input.to.is_some() || input.content.is_some() {
        let problem =
            "a lane or a topic can only be left: give `release` as action, and nothing else";
        return Err(ToolError::Arguments(problem.to_owned()));
    }
    let id = input.id.clone();
    match group {
        Group::Human => Err(Refusal::ToUser { word: id }.into()),
        Group::Topic(topic) => {
            caller.call.ask(Operation::LeaveTopic(topic)).await?;
            Ok(Output { id, status: "left", owner: None, lease_seconds: None })
        }
        Group::Word(lane) => {
            caller.call.ask(Operation::ReleaseLane(lane.clone())).await?;
            let owner = caller
                .bus()
                .look(|state| state.lane_owner(lane.as_str()).map(|owner| owner.name.to_string()));
            Ok(Output { id, status: "released", owner, lease_seconds: None })
        }
    }
}

fn update(
    action: Action,
    to: Option<String>,
    content: Option<String>,
) -> Result<ClaimUpdate, ToolError> {
    let wrong = |problem: String| Err(ToolError::Arguments(problem));
    let needs = |what: &str| format!("`{}` needs {what}", action.as_str());
    if to.is_some() && action != Action::HandOver {
        return wrong("`to` goes with `hand_over` alone".to_owned());
    }
    let content = content.map(Bus::body);
    Ok(match (action, content, to) {
        (Action::Renew, None, _) => ClaimUpdate::Renew,
        (Action::Renew, Some(_), _) => {
            return wrong(
                "`renew` says nothing to anybody: leave `content` out, or use `progress`"
                    .to_owned(),
            );
        }
        (Action::Progress, Some(content), _) => ClaimUpdate::Progress(content),
        (Action::Complete, Some(content), _) => ClaimUpdate::Complete(content),
        (Action::Progress, None, _) => return wrong(needs("`content`: how far you are")),
        (Action::Complete, None, _) => return wrong(needs("`content`: your answer")),
        (Action::Release, why, _) => ClaimUpdate::Release(why),
        (Action::Fail, why, _) => ClaimUpdate::Fail(why),
        (Action::HandOver, content, Some(to)) => ClaimUpdate::HandOver { to, content },
        (Action::HandOver, _, None) => return wrong(needs("`to`: the next owner")),
    })
}
