//! The texts of a log, for the read model, which knows no disk.

use crate::bus::event::{Body, BodyRef};
use crate::bus::storage::LogError;
use crate::bus::storage::file::StoredTexts;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::text::visible_letters::beginning;
use crate::view::{LongText, Texts};

/// The texts of a log, for the read model: one that cannot be read is missing.
pub struct LogTexts<'a>(pub StoredTexts<'a>);

impl Texts for LogTexts<'_> {
    fn text(&mut self, body: BodyRef) -> Option<String> {
        self.0.text(body).inspect_err(missed).ok()
    }

    fn first_of_request(&mut self, request: BodyRef, most: usize) -> Option<String> {
        let texts = self.0.request(request).inspect_err(missed).ok()?;
        Some(beginning(&texts.description, most))
    }

    fn long_text(&mut self, body: &Body) -> LongText {
        match self.0.text_of(body).inspect_err(missed) {
            Ok(text) => LongText::Whole(text),
            Err(why @ LogError::Gone) => LongText::Missing(why.to_string()),
            Err(why) if why.is_lost_text() => LongText::Changed(why.to_string()),
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
