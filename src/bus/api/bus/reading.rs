//! Reading stored data: texts, entries of the log, and transcripts.

use std::sync::Arc;

use super::Bus;
use crate::bus::error::BusError;
use crate::bus::event::{BodyRef, Entry, Event, LogPosition, MessageSent};
use crate::bus::storage::stored_text::{RequestTexts, read_details, read_request, read_text};
use crate::bus::storage::{Log, LogError};
use crate::domain::ids::TaskId;
use crate::domain::text::visible_letters;

impl Bus {
    /// Reads the text behind a header: of a message, a request, or a task's prompt or output.
    pub fn text(&self, body: BodyRef) -> Result<String, BusError> {
        self.with_log(|log| read_text(log, body))
    }

    /// Reads the event of a message.
    pub(crate) fn sent_event(&self, body: BodyRef) -> Result<MessageSent, BusError> {
        self.with_log(|log| match log.event_at(body.place, body.index)? {
            Event::MessageSent(sent) => Ok(sent),
            _ => Err(LogError::Gone),
        })
    }

    /// Reads the beginning of a text as one line of at most `most` characters; none if the bus no longer has the text.
    pub fn beginning(&self, body: BodyRef, most: usize) -> Result<Option<String>, BusError> {
        match self.text(body) {
            Err(BusError::Log(LogError::Gone)) => Ok(None),
            read => Ok(Some(visible_letters::beginning(&read?, most))),
        }
    }

    /// Reads the details of a task's end, which stand in the same event as its output.
    pub fn details(&self, output: BodyRef) -> Result<Option<String>, BusError> {
        self.with_log(|log| read_details(log, output))
    }

    /// Reads the two texts of a request.
    pub fn request_texts(&self, body: BodyRef) -> Result<RequestTexts, BusError> {
        self.with_log(|log| read_request(log, body))
    }

    /// Reads entries from a position on.
    pub fn read_after(
        &self,
        position: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), BusError> {
        self.with_log(|log| log.read_after(position, max))
    }

    /// Returns the position of the oldest entry.
    pub fn oldest(&self) -> Result<LogPosition, BusError> {
        self.with_log(|log| log.oldest())
    }

    /// Returns the parts of the log that may contain a text, oldest first. Other threads may use the bus between two parts.
    pub(crate) fn parts_with(&self, text: &str) -> Result<Vec<LogPosition>, BusError> {
        self.parts_from(LogPosition::default(), text)
    }

    /// Returns those of them that a position is in, or that come after it.
    pub(crate) fn parts_from(
        &self,
        from: LogPosition,
        text: &str,
    ) -> Result<Vec<LogPosition>, BusError> {
        let mut found = Vec::new();
        let mut parts = self.with_log(|log| log.parts())?;
        parts.retain(|part| part.segment >= from.segment);
        for part in parts {
            if self.with_log(|log| log.may_hold(part, text))? {
                found.push(part);
            }
        }
        Ok(found)
    }

    /// Adds a line to a transcript. A failure is only logged: nothing depends on transcripts.
    pub fn transcript(&self, task: &TaskId, line: &str) {
        if let Err(error) = self.core().log.transcript(task, line) {
            tracing::warn!("failed to write the transcript of {task}: {error}");
        }
    }

    /// Reads a transcript and processes it on another thread, without holding a lock: both may take long.
    pub async fn read_transcript<T: Send + 'static>(
        &self,
        task: &TaskId,
        read: impl FnOnce(&str) -> T + Send + 'static,
    ) -> Result<T, BusError> {
        let (durability, task) = (Arc::clone(&self.shared.durability), task.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let text = durability.read_transcript(&task)?;
            Ok::<_, LogError>(read(&text))
        });
        Ok(reading.await.map_err(|_| BusError::Closed)??)
    }

    /// Runs something on the log, on the calling thread: it uses files for microseconds and never syncs.
    fn with_log<T>(
        &self,
        work: impl FnOnce(&mut dyn Log) -> Result<T, LogError>,
    ) -> Result<T, BusError> {
        Ok(work(self.core().log.as_mut())?)
    }
}
