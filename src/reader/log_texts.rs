//! The texts of a log, for the read model, which knows no disk.

use crate::bus::event::BodyRef;
use crate::bus::storage::LogError;
use crate::bus::storage::file::StoredTexts;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::view::{LongText, Texts};

/// The texts of a log, for the read model: one that cannot be read is missing.
pub struct LogTexts<'a>(pub StoredTexts<'a>);

impl Texts for LogTexts<'_> {
    fn text(&mut self, body: BodyRef) -> Option<String> {
        self.0.text(body).inspect_err(missed).ok()
    }

    fn long_text(&mut self, id: uuid::Uuid) -> Option<String> {
        self.0.long_text(id).inspect_err(missed).ok()
    }

    fn whole_long_text(&mut self, id: uuid::Uuid) -> LongText {
        match self.0.long_text(id).inspect_err(missed) {
            Ok(text) => LongText::Whole(text),
            Err(LogError::Gone) => LongText::Missing,
            Err(_) => LongText::Unreadable,
        }
    }

    fn last_of_transcript(&mut self, task: &TaskId) -> Option<String> {
        self.0.last_of_transcript(task, limits::LIVE_BYTES).inspect_err(missed).ok()
    }
}

fn missed(error: &LogError) {
    tracing::debug!(%error, "cannot read a text of the log");
}
