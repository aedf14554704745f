//! Calls that wait: for the next message that fits, and for the answer to a message that was just sent. Such a call holds no thread, has a
//! place among so many, and ends when its program goes or the server ends. What it returns is unread until it is acknowledged: nobody sees
//! whether the answer arrives.

use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::unread_message::UnreadMessage;
use super::why_refused::why_not;
use crate::bus::rules::{Refusal, known_member};
use crate::bus::{BusError, LoadedMessage, Membership, WaitFor, Waited};
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::messaging::Address;
use crate::domain::wait_times;
use crate::web::api::check_caller::check_key_again;
use crate::web::api::events::place_of_stream;
use crate::web::api::read_request::GivenOrNot;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// What to wait for: any message, unless it says more.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewWait {
    /// Only from this member.
    from: Option<String>,
    /// Only about this request.
    request_id: Option<String>,
    /// Only an answer to this message of the program.
    reply_to: Option<String>,
    /// 0 to 120; 30 if it is missing. 0 looks once.
    timeout_seconds: Option<u64>,
}

/// How a wait has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct EndedWait {
    /// The most urgent, then oldest, unread message that fits. It is unread until it is acknowledged.
    pub(super) message: Option<UnreadMessage>,
    /// Whether none came in time.
    pub(super) timed_out: bool,
    /// Why there is none, if for another reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

impl EndedWait {
    fn without_message(note: impl Into<String>) -> Self {
        Self { message: None, timed_out: false, note: Some(note.into()) }
    }
}

pub(in crate::web::api) async fn wait(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    GivenOrNot(new): GivenOrNot<NewWait>,
) -> Result<Json<EndedWait>, Problem> {
    let new = new.unwrap_or_default();
    let seconds = new.timeout_seconds.unwrap_or(wait_times::WAIT_SECONDS);
    let limit = seconds_to_wait("timeout_seconds", seconds, 0)?;
    let me = as_member(&state, &program).await?;
    let what = what_to_wait_for(&me, new).map_err(|error| why_not(&error))?;
    let ended = waited(&state, &me, what, limit).await?;
    if let Err(BusError::Refused(Refusal::Left)) = ended {
        // The member has left because its key was revoked meanwhile, or for another reason.
        check_key_again(&state, &program).await?;
    }
    Ok(Json(ended.map_err(|error| why_not(&error))?))
}

/// Checks how long a message waits for its answer, and whether one member answers it, before it is sent.
pub(super) fn time_for_answer(to: &str, seconds: Option<u64>) -> Result<Option<Duration>, Problem> {
    let Some(seconds) = seconds else { return Ok(None) };
    let limit = seconds_to_wait("wait_seconds", seconds, 1)?;
    if Address::parse(to).is_ok_and(|address| address.is_several()) {
        let title = "Only the answer of one member can be waited for";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-wait", title).with_hint(
            "leave `wait_seconds` out, and wait with `/api/v1/wait`, the id as `reply_to`",
        ));
    }
    Ok(Some(limit))
}

/// Waits for the answer to a message. That is sent, so a wait that fails is no error.
pub(super) async fn answer_to(
    state: &ServerState,
    me: &Membership,
    id: MessageId,
    limit: Duration,
) -> EndedWait {
    let what = WaitFor { reply_to: Some(id), ..WaitFor::default() };
    match waited(state, me, what, limit).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => {
            EndedWait::without_message(format!("sent, but not waited: {}", why_not(&error).said()))
        }
        Err(problem) => {
            EndedWait::without_message(format!("sent, but not waited: {}", problem.said()))
        }
    }
}

fn seconds_to_wait(name: &str, seconds: u64, least: u64) -> Result<Duration, Problem> {
    let most = wait_times::MAX_WAIT_SECONDS;
    if (least..=most).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    let title = "A time is out of its range";
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-time", title)
        .with_detail(format!("`{name}` is {least} to {most}")))
}

fn what_to_wait_for(me: &Membership, new: NewWait) -> Result<WaitFor, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let from = new.from.map(|from| bus.look(|state| known_member(state, &from).cloned()));
    let request =
        new.request_id.map(|id| RequestId::parse(&id)).transpose().map_err(Refusal::from)?;
    if let Some(id) = &request
        && me.known_request(id).is_none()
    {
        return Err(Refusal::UnknownRequest { id: id.clone() }.into());
    }
    let reply_to = new.reply_to.map(|id| MessageId::parse(&id)).transpose();
    Ok(WaitFor { from: from.transpose()?, request, reply_to: reply_to.map_err(Refusal::from)? })
}

/// Waits. The outer error is one of this server. If this future is dropped, because the program has gone, its wait ends.
async fn waited(
    state: &ServerState,
    me: &Membership,
    what: WaitFor,
    limit: Duration,
) -> Result<Result<EndedWait, BusError>, Problem> {
    let _place = place_of_stream(state)?;
    let mut call = me.call();
    let waiting = call.wait(what, limit);
    let waited = tokio::select! {
        biased;
        () = state.ending.cancelled() => return Ok(Ok(EndedWait::without_message("the server ends"))),
        waited = waiting => match waited {
            Ok(waited) => waited,
            Err(error) => return Ok(Err(error)),
        },
    };
    let ended = ended(me, waited).await;
    if ended.as_ref().is_ok_and(|ended| ended.message.is_some()) {
        // It is unread again before the program has it, so that the program may acknowledge it at once.
        if let Err(error) = call.requeue().await {
            return Ok(Err(error));
        }
    } else {
        call.answered().await;
    }
    Ok(ended)
}

async fn ended(me: &Membership, waited: Waited) -> Result<EndedWait, BusError> {
    Ok(match waited {
        Waited::Message(loaded) | Waited::AlsoInTurn(loaded) => {
            let message = Some(whole(me, *loaded).await?);
            EndedWait { message, timed_out: false, note: None }
        }
        Waited::TimedOut => EndedWait { message: None, timed_out: true, note: None },
        Waited::NoAnswer(why) => EndedWait::without_message(why.to_string()),
        Waited::Ended | Waited::InTurn => {
            EndedWait::without_message("another wait of this program has ended it")
        }
    })
}

/// Reads the whole text of a message, of which a wait has a part that fits an answer of tools.
async fn whole(me: &Membership, loaded: LoadedMessage) -> Result<UnreadMessage, BusError> {
    let reading = me.clone();
    let read = tokio::task::spawn_blocking(move || {
        reading.bus().load_message(loaded.header, reading.name(), 0, usize::MAX)
    });
    let loaded = read.await.map_err(|_| BusError::Closed)??;
    Ok(UnreadMessage::of(loaded, me.name()))
}
