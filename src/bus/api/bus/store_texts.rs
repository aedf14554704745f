//! Long texts on their way to the bus: stored before the event that names them, unless the rules refuse the command anyway.

use std::sync::Arc;

use uuid::Uuid;

use super::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Body;
use crate::bus::rules::{self, Command};
use crate::domain::limits;
use crate::domain::text::content_hash::ContentHash;
use crate::sys::random_ids;

/// A text that is too long for an event, with its future name.
pub(crate) struct LongText {
    id: Uuid,
    text: String,
}

/// Replaces a long text in an event by its future name.
pub(crate) fn take_long_text(body: &mut Body) -> Option<LongText> {
    let Body::Text(text) = body else {
        return None;
    };
    if !is_long(text) {
        return None;
    }
    let (id, text) = (random_ids::blob(), std::mem::take(text));
    let (bytes, sha256) = (text.len() as u64, Some(ContentHash::of(&text)));
    *body = Body::Blob { id, bytes, sha256 };
    Some(LongText { id, text })
}

fn is_long(text: &str) -> bool {
    text.len() > limits::INLINE_BYTES
}

impl Bus {
    /// Makes a text into a body for an operation. A long one is stored with the operation, unless the rules refuse that.
    pub fn body(text: String) -> Body {
        // The rules refuse a text over the limit by its length alone.
        if text.len() > limits::MAX_CONTENT_BYTES {
            return Body::Blob { id: Uuid::nil(), bytes: text.len() as u64, sha256: None };
        }
        Body::Text(text)
    }

    /// Stores a long text at once, for an operation that the rules cannot refuse, such as the output of a task.
    pub async fn long_body(&self, text: String) -> Result<Body, BusError> {
        let mut body = Body::Text(text);
        if let Some(long) = take_long_text(&mut body) {
            self.store(long).await?;
        }
        Ok(body)
    }

    /// Stores the long texts of a command, unless the rules refuse it already. A later refusal, because another process was faster,
    /// leaves texts that no event names; they are removed when they are old.
    pub(crate) async fn with_texts_stored(
        &self,
        mut command: Command,
    ) -> Result<Command, BusError> {
        let mut texts = command.operation.texts_mut().into_iter();
        if !texts.any(|body| matches!(body, Body::Text(text) if is_long(text))) {
            return Ok(command);
        }
        self.refresh()?;
        // Before the texts are replaced: the rules refuse an empty text.
        self.check_not_refused(&command)?;
        let texts = command.operation.texts_mut().into_iter();
        let long: Vec<_> = texts.filter_map(take_long_text).collect();
        for text in long {
            self.store(text).await?;
        }
        Ok(command)
    }

    fn check_not_refused(&self, command: &Command) -> Result<(), BusError> {
        let core = self.core();
        rules::decide(&core.replica.state, core.log.now(), command)?;
        Ok(())
    }

    /// Stores a long text durably.
    pub(crate) async fn store(&self, LongText { id, text }: LongText) -> Result<(), BusError> {
        let durability = Arc::clone(&self.shared.durability);
        let stored = tokio::task::spawn_blocking(move || durability.put_blob(id, &text)).await;
        Ok(stored.map_err(|_| BusError::Closed)??)
    }
}
