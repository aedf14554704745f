//! Stored texts: in the event that names them, or beside the log if they are long.

use super::{Log, LogError};
use crate::bus::event::{Body, BodyRef, Event, RequestOpened};
use crate::domain::text::content_hash::ContentHash;

/// The separator between the description and the context of a request, where both are shown as one text.
pub(crate) const CONTEXT_HEADING: &str = "\n\nContext: ";

/// The two texts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTexts {
    pub description: String,
    /// The knowledge so far.
    pub context: Option<String>,
}

impl RequestTexts {
    /// Returns both as one text, the text of the request's message.
    pub fn whole(self) -> String {
        match self.context {
            Some(context) => self.description + CONTEXT_HEADING + &context,
            None => self.description,
        }
    }
}

/// Reads the text of the event that a reference names.
pub(crate) fn read_text(log: &mut dyn Log, body: BodyRef) -> Result<String, LogError> {
    match log.event_at(body.place, body.index)? {
        Event::RequestOpened(opened) => Ok(texts_of(log, opened)?.whole()),
        event => match event.bodies().first() {
            Some(text) => read_body(log, (*text).clone()),
            None => Err(LogError::Gone),
        },
    }
}

/// Reads both texts of a request.
pub(crate) fn read_request(log: &mut dyn Log, body: BodyRef) -> Result<RequestTexts, LogError> {
    match log.event_at(body.place, body.index)? {
        Event::RequestOpened(opened) => texts_of(log, opened),
        _ => Err(LogError::Gone),
    }
}

/// Reads the details of a task's end, which stand in the same event as its output.
pub(crate) fn read_details(log: &mut dyn Log, output: BodyRef) -> Result<Option<String>, LogError> {
    match log.event_at(output.place, output.index)? {
        Event::TaskFinished(finished) => {
            let details = finished.report.details;
            details.map(|details| read_body(log, details)).transpose()
        }
        _ => Err(LogError::Gone),
    }
}

fn texts_of(log: &mut dyn Log, opened: RequestOpened) -> Result<RequestTexts, LogError> {
    Ok(RequestTexts {
        description: read_body(log, opened.description)?,
        context: opened.context.map(|context| read_body(log, context)).transpose()?,
    })
}

/// Reads a text of an event.
pub(crate) fn read_body(log: &mut dyn Log, body: Body) -> Result<String, LogError> {
    match body {
        Body::Text(text) => Ok(text),
        Body::Blob { id, bytes, sha256 } => {
            let text = log.get_blob(id)?;
            check_text(&text, bytes, sha256.as_ref())?;
            Ok(text)
        }
    }
}

/// Refuses a long text that is not as it was stored: its length and its hash are in the log. Older versions have stored no hash.
pub(crate) fn check_text(
    text: &str,
    stored: u64,
    sha256: Option<&ContentHash>,
) -> Result<(), LogError> {
    let found = text.len() as u64;
    if found != stored {
        return Err(LogError::DamagedText { found, stored });
    }
    match sha256 {
        Some(stored) if *stored != ContentHash::of(text) => Err(LogError::ChangedText),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::storage::in_memory::{MemoryLog, Store};
    use crate::sys::clock;
    use crate::sys::random_ids;

    #[test]
    fn a_text_that_is_not_as_long_as_stored_is_damaged() {
        let mut log = Store::new(std::sync::Arc::new(clock::now)).log();
        let id = random_ids::blob();
        log.durability().put_blob(id, "cut").unwrap();
        let read =
            |log: &mut MemoryLog, bytes| read_body(log, Body::Blob { id, bytes, sha256: None });
        assert_eq!(read(&mut log, 3).unwrap(), "cut");
        let damaged = read(&mut log, 9).unwrap_err();
        assert!(matches!(damaged, LogError::DamagedText { found: 3, stored: 9 }), "{damaged}");
    }

    #[test]
    fn a_text_with_another_hash_than_stored_is_damaged_though_it_is_as_long() {
        let mut log = Store::new(std::sync::Arc::new(clock::now)).log();
        let id = random_ids::blob();
        log.durability().put_blob(id, "pay 100").unwrap();
        let mut read = |stored: &str| {
            let sha256 = Some(ContentHash::of(stored));
            read_body(&mut log, Body::Blob { id, bytes: 7, sha256 })
        };
        assert_eq!(read("pay 100").unwrap(), "pay 100");
        let changed = read("pay 010").unwrap_err();
        assert!(matches!(changed, LogError::ChangedText) && changed.is_lost_text(), "{changed}");
    }
}
