//! A request for whoever is free, as a row.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::Request;
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;
use crate::view::{Moment, Texts};

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestRow {
    pub request_id: String,
    /// The member that asks.
    pub from: String,
    /// open, claimed, completed or expired.
    pub status: String,
    /// The beginning of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub opened_at: Moment,
    /// The member that has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl RequestRow {
    /// Makes the row of a request.
    pub fn of(request: &Request, texts: &mut dyn Texts) -> Self {
        let owner = request.owner.as_ref().filter(|_| request.status != RequestStatus::Open);
        Self {
            request_id: request.id.to_string(),
            from: request.from.to_string(),
            status: request.status.as_str().to_owned(),
            description: texts.first_words(request.body, limits::PROMPT_CHARS),
            opened_at: Moment(request.opened_ms),
            owner: owner.map(|owner| owner.by.to_string()),
        }
    }
}
