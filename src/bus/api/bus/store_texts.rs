//! Long texts on their way to the bus: stored before the event that names them, and not at all when the rules say no anyway.

use std::sync::Arc;

use uuid::Uuid;

use super::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Body;
use crate::bus::rules::{self, Command};
use crate::domain::limits;
use crate::sys::random_ids;

/// A text that is too long for an event, with the name that it gets.
pub(crate) struct Long {
    id: Uuid,
    text: String,
}

/// Puts the name that a long text will have into its place.
pub(crate) fn set_aside(body: &mut Body) -> Option<Long> {
    let Body::Text(text) = body else {
        return None;
    };
    if !is_long(text) {
        return None;
    }
    let (id, text) = (random_ids::blob(), std::mem::take(text));
    let bytes = text.len() as u64;
    *body = Body::Blob { id, bytes };
    Some(Long { id, text })
}

fn is_long(text: &str) -> bool {
    text.len() > limits::INLINE_BYTES
}

impl Bus {
    /// Makes a text ready to be asked for with: a long one is stored when it is, and when it is not refused.
    pub fn body(text: String) -> Body {
        // Over the limit the rules refuse it by its length alone.
        if text.len() > limits::MAX_CONTENT_BYTES {
            return Body::Blob { id: Uuid::nil(), bytes: text.len() as u64 };
        }
        Body::Text(text)
    }

    /// Stores a text that is long at once: for what nobody refuses, as the output of a task.
    pub async fn long_body(&self, text: String) -> Result<Body, BusError> {
        let mut body = Body::Text(text);
        if let Some(long) = set_aside(&mut body) {
            self.store(long).await?;
        }
        Ok(body)
    }

    /// Stores the long texts of a command, unless the rules refuse it already. A refusal that comes later, because somebody was
    /// faster, leaves texts that no event names; they are swept up when they are old.
    pub(crate) async fn with_texts_stored(
        &self,
        mut command: Command,
    ) -> Result<Command, BusError> {
        let mut texts = command.operation.texts_mut().into_iter();
        if !texts.any(|body| matches!(body, Body::Text(text) if is_long(text))) {
            return Ok(command);
        }
        self.refresh()?;
        // With the texts in their places: that one is empty is seen only there.
        self.look_whether_refused(&command)?;
        let texts = command.operation.texts_mut().into_iter();
        let long: Vec<_> = texts.filter_map(set_aside).collect();
        for text in long {
            self.store(text).await?;
        }
        Ok(command)
    }

    fn look_whether_refused(&self, command: &Command) -> Result<(), BusError> {
        let core = self.core();
        rules::decide(&core.replica.state, core.log.now(), command)?;
        Ok(())
    }

    /// Stores a long text durably.
    pub(crate) async fn store(&self, Long { id, text }: Long) -> Result<(), BusError> {
        let durability = Arc::clone(&self.shared.durability);
        let stored = tokio::task::spawn_blocking(move || durability.put_blob(id, &text)).await;
        Ok(stored.map_err(|_| BusError::Closed)??)
    }
}
