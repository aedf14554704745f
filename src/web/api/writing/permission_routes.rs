//! Answers of programs to the permission questions of agents, as their user gives them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::act::Act;
use crate::domain::ids::PermissionId;
use crate::domain::permission::Decision;
use crate::web::acts::{ActEnd, ActError};
use crate::web::api::check_caller::check_key_again;
use crate::web::api::json_object;
use crate::web::api::read_answers::no_answer;
use crate::web::api::read_request::{Given, Named};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// An answer to a permission question.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct PermissionAnswer {
    #[serde(deserialize_with = "json_object::word")]
    decision: Answer,
}

/// What an agent is told. A question offers some of these.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    AllowOnce,
    AllowAlways,
    Reject,
    RejectAlways,
}

/// What came of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct AnsweredPermission {
    permission_id: String,
    /// `done`; `pending` if it takes effect later; `silent` if the bridge of the agent does not respond.
    outcome: &'static str,
    /// The same in a sentence.
    words: String,
}

pub(in crate::web::api) async fn answer_permission(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
    Given(answer): Given<PermissionAnswer>,
) -> Result<Json<AnsweredPermission>, Problem> {
    check_key_again(&state, &program).await?;
    let asked = PermissionId::parse(&id).ok();
    let is_known = match asked {
        Some(asked) => {
            let known = state.reader.ask(move |bus| bus.state().permission(&asked).is_some());
            known.await.map_err(no_answer)?
        }
        None => false,
    };
    if !is_known {
        let title = "There is no such question, or it was answered too long ago";
        return Err(Problem::new(StatusCode::NOT_FOUND, "no-such-permission", title)
            .with_hint("`/api/v1/permissions` lists the open ones"));
    }
    let decision = match answer.decision {
        Answer::AllowOnce => Decision::AllowOnce,
        Answer::AllowAlways => Decision::AllowAlways,
        Answer::Reject => Decision::Reject,
        Answer::RejectAlways => Decision::RejectAlways,
    };
    let (surroundings, act) =
        (Arc::clone(&state.surroundings), Act::Answer { id: id.clone(), decision });
    let acting = tokio::task::spawn_blocking(move || surroundings.act(act)).await;
    let failed = || ActError { words: "the act has failed".to_owned(), hint: None };
    let done = acting.unwrap_or_else(|_| Err(failed())).map_err(|error| {
        let problem = Problem::new(StatusCode::CONFLICT, "not-done", "Nothing was done");
        let problem = problem.with_detail(error.words);
        match error.hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    })?;
    let outcome = match done.end {
        ActEnd::Done => "done",
        ActEnd::Pending => "pending",
        ActEnd::Silent => "silent",
    };
    Ok(Json(AnsweredPermission { permission_id: id, outcome, words: done.words }))
}
