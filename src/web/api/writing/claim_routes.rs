//! What a program does with a claim that it has; lanes, which have one owner each; and topics, which it follows.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::why_refused::why_not;
use crate::bus::Bus;
use crate::bus::rules::{ClaimUpdate, Operation, Refusal};
use crate::domain::ids::RequestId;
use crate::domain::member::Label;
use crate::web::api::json_object;
use crate::web::api::read_request::{Given, GivenNothing, Named};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// What the owner of a request does with its claim.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewClaimUpdate {
    #[serde(deserialize_with = "json_object::word")]
    action: ClaimAction,
    /// Of `hand_over`: the next owner.
    to: Option<String>,
    /// Needed by `progress`, and by `complete`, whose answer it is; said to the next owner with `hand_over`, and to the one who asks with
    /// `release` and `fail`. At most 1 MiB.
    content: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClaimAction {
    /// The lease runs anew.
    Renew,
    /// Says how far it is. The lease runs anew.
    Progress,
    /// Offers it to all again.
    Release,
    HandOver,
    /// Answers it.
    Complete,
    /// Gives it up.
    Fail,
}

/// A request after its owner has done something with its claim.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct UpdatedClaim {
    request_id: String,
    /// open, claimed, completed or failed.
    status: &'static str,
    /// Who owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// After how many seconds without a request of this program it is open again.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_seconds: Option<u64>,
}

/// A lane.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct LaneOwner {
    /// As it is addressed: `@word`.
    lane: String,
    /// Who owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

/// A topic.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct FollowedTopic {
    /// As it is addressed: `#word`.
    topic: String,
    /// Whether this program follows it now.
    follows: bool,
}

pub(in crate::web::api) async fn update_claim(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
    Given(new): Given<NewClaimUpdate>,
) -> Result<Json<UpdatedClaim>, Problem> {
    let id = RequestId::parse(&id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let update = new.update()?;
    let me = as_member(&state, &program).await?;
    let mut call = me.call();
    let request = call.update_claim(&id, update).await.map_err(|error| why_not(&error))?;
    call.answered().await;
    let owner = request.owner.filter(|_| !request.status.is_final());
    let is_mine = owner.as_ref().is_some_and(|owner| owner.by == *me.name());
    let lease = request.lease.filter(|_| is_mine);
    Ok(Json(UpdatedClaim {
        request_id: request.id.into(),
        status: request.status.as_str(),
        owner: owner.map(|owner| owner.by.to_string()),
        lease_seconds: lease.map(|lease| lease.ms / 1_000),
    }))
}

impl NewClaimUpdate {
    fn update(self) -> Result<ClaimUpdate, Problem> {
        let wrong = |detail: &str| {
            let title = "The action does not go with the other fields";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-action", title)
                .with_detail(detail))
        };
        if self.to.is_some() && self.action != ClaimAction::HandOver {
            return wrong("`to` goes with `hand_over` alone");
        }
        let content = self.content.map(Bus::body);
        Ok(match (self.action, content, self.to) {
            (ClaimAction::Renew, None, _) => ClaimUpdate::Renew,
            (ClaimAction::Renew, Some(_), _) => {
                return wrong(
                    "`renew` says nothing to anybody: leave `content` out, or use `progress`",
                );
            }
            (ClaimAction::Progress, Some(content), _) => ClaimUpdate::Progress(content),
            (ClaimAction::Progress, None, _) => return wrong("`progress` needs `content`"),
            (ClaimAction::Complete, Some(content), _) => ClaimUpdate::Complete(content),
            (ClaimAction::Complete, None, _) => {
                return wrong("`complete` needs `content`: the answer");
            }
            (ClaimAction::Release, why, _) => ClaimUpdate::Release(why),
            (ClaimAction::Fail, why, _) => ClaimUpdate::Fail(why),
            (ClaimAction::HandOver, content, Some(to)) => ClaimUpdate::HandOver { to, content },
            (ClaimAction::HandOver, _, None) => {
                return wrong("`hand_over` needs `to`: the next owner");
            }
        })
    }
}

/// Makes the program the owner of a lane. Whoever has it already learns the same again.
pub(in crate::web::api) async fn claim_lane(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(lane): Named,
    _: GivenNothing,
) -> Result<Json<LaneOwner>, Problem> {
    let lane = word_of(&lane, '@')?;
    let me = as_member(&state, &program).await?;
    let mut call = me.call();
    call.claim_lane(lane.clone()).await.map_err(|error| why_not(&error))?;
    call.answered().await;
    Ok(Json(LaneOwner { lane: format!("@{lane}"), owner: Some(me.name().to_string()) }))
}

pub(in crate::web::api) async fn release_lane(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(lane): Named,
    _: GivenNothing,
) -> Result<Json<LaneOwner>, Problem> {
    let lane = word_of(&lane, '@')?;
    let me = as_member(&state, &program).await?;
    me.ask(Operation::ReleaseLane(lane.clone())).await.map_err(|error| why_not(&error))?;
    let owner = me.bus().look(|state| {
        let owner = state.lane_owner(lane.as_str());
        owner.map(|owner| owner.name.to_string())
    });
    Ok(Json(LaneOwner { lane: format!("@{lane}"), owner }))
}

pub(in crate::web::api) async fn follow_topic(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(topic): Named,
    _: GivenNothing,
) -> Result<Json<FollowedTopic>, Problem> {
    let topic = word_of(&topic, '#')?;
    let me = as_member(&state, &program).await?;
    me.ask(Operation::FollowTopic(topic.clone())).await.map_err(|error| why_not(&error))?;
    Ok(Json(FollowedTopic { topic: format!("#{topic}"), follows: true }))
}

pub(in crate::web::api) async fn leave_topic(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(topic): Named,
    _: GivenNothing,
) -> Result<Json<FollowedTopic>, Problem> {
    let topic = word_of(&topic, '#')?;
    let me = as_member(&state, &program).await?;
    me.ask(Operation::LeaveTopic(topic.clone())).await.map_err(|error| why_not(&error))?;
    Ok(Json(FollowedTopic { topic: format!("#{topic}"), follows: false }))
}

/// Returns the word of a path, which may stand there with its sign.
fn word_of(text: &str, sign: char) -> Result<Label, Problem> {
    let word = text.trim();
    Label::parse(word.strip_prefix(sign).unwrap_or(word)).map_err(|error| {
        let title = "This is no word";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-word", title)
            .with_detail(error.to_string())
    })
}
