//! A permission question that waits for its answer, as a row.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::Permission;
use crate::domain::limits;
use crate::domain::text::exactly::exactly;
use crate::domain::text::visible_letters::{beginning, seen};
use crate::view::Moment;

/// A permission question without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PermissionRow {
    pub permission_id: String,
    /// The agent that asks, and waits.
    pub agent: String,
    /// The task at which it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The kind of tool: read, edit, delete, move, search, execute, think, fetch or other.
    pub kind: String,
    /// What it is to do, in the agent's words.
    pub title: String,
    /// The same between quotes, with every line end and hidden letter written out, for a window in which a person decides.
    #[serde(skip)]
    pub exact_title: String,
    /// The paths concerned, with `\u{fffd}` for each hidden letter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The same as `exact_title` is of the title.
    #[serde(skip)]
    pub exact_paths: Vec<String>,
    /// The title and the paths in one line, exactly.
    #[serde(skip)]
    pub exact_words: String,
    /// The possible answers: `allow_once`, `allow_always`, `reject`.
    pub offers: Vec<String>,
    pub asked_at: Moment,
    /// When it will be rejected without an answer.
    pub expires_at: Moment,
}

impl PermissionRow {
    /// Makes the row of a question.
    pub fn of(permission: &Permission) -> Self {
        let question = &permission.question;
        let offers = permission.offers.iter();
        let timeout = i64::try_from(permission.timeout_ms).unwrap_or(i64::MAX);
        Self {
            permission_id: permission.id.to_string(),
            agent: question.agent.to_string(),
            task_id: question.task.as_ref().map(ToString::to_string),
            kind: beginning(&question.kind, limits::QUESTION_CHARS),
            title: beginning(&question.title, limits::QUESTION_TITLE_CHARS),
            exact_title: exactly(&question.title),
            paths: question.further_paths().map(|path| seen(path)).collect(),
            exact_paths: question.further_paths().map(|path| exactly(path)).collect(),
            exact_words: question.exact_words(),
            offers: offers.map(|offer| offer.as_str().to_owned()).collect(),
            asked_at: Moment(permission.asked_ms),
            expires_at: Moment(permission.asked_ms.saturating_add(timeout)),
        }
    }
}
