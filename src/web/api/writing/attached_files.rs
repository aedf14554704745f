//! What a program attaches to a message: a text of its own, or a file of the project.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::why_refused::why_not;
use crate::bus::BusError;
use crate::domain::messaging::Attachment;
use crate::sys::fs::project::{AttachmentFields, GivenAttachments, ProjectFiles};
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// An attachment.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewAttachment {
    /// Missing, it is the name of its file.
    pub(in crate::web::api) name: Option<String>,
    /// code, file, image, document or reference.
    #[serde(rename = "type")]
    pub(in crate::web::api) kind: Option<String>,
    pub(in crate::web::api) mime_type: Option<String>,
    /// Its text. All texts of a message together have at most 64 KiB.
    pub(in crate::web::api) content: Option<String>,
    /// Instead: a file of the project.
    pub(in crate::web::api) path: Option<String>,
}

/// Returns what a message says of its attachments. Files are found below the project, and hashed.
pub(super) async fn attached(
    state: &ServerState,
    all: Vec<NewAttachment>,
) -> Result<Vec<Attachment>, Problem> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let fields = all.into_iter().map(AttachmentFields::from).collect();
    let given = GivenAttachments::parse(fields).map_err(wrong)?;
    if !given.have_files() {
        return Ok(given.without_files());
    }
    let files = ProjectFiles::new(&state.surroundings.place().root);
    let noting = tokio::task::spawn_blocking(move || given.note(&files, None)).await;
    noting.map_err(|_| why_not(&BusError::Closed))?.map_err(wrong)
}

fn wrong(detail: String) -> Problem {
    let title = "An attachment is wrong";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-attachment", title).with_detail(detail)
}

impl From<NewAttachment> for AttachmentFields {
    fn from(NewAttachment { name, kind, mime_type, content, path }: NewAttachment) -> Self {
        Self { name, kind, mime_type, content, path }
    }
}
