//! Reads the output of a task, whole or in parts, even while it runs.

use crate::bus::BusError;
use crate::bus::api::message_text::shown_part;
use crate::bus::rules::Refusal;
use crate::bus::state::Task;
use crate::bus::storage::LogError;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::task::result::{Details, LostTexts};
use crate::team::error::TeamError;
use crate::team::team_handle::Team;
use crate::team::turn::transcript;

/// A part of a task's output.
#[derive(Clone, Debug)]
pub struct TaskOutput {
    /// The current state of the task.
    pub task: Task,
    /// The text from `offset` on.
    pub text: String,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Where the rest begins, if there is one.
    pub next_offset: Option<usize>,
    /// The length of the whole so far.
    pub total: usize,
    /// Which files changed and which calls failed, once it is over.
    pub details: Option<Details>,
    /// Why its output or its details are lost, if they are.
    pub lost: LostTexts,
    /// Whether it runs, but its agent has shown no sign of life for too long.
    pub is_silent: bool,
}

impl TaskOutput {
    /// Returns whether this is the last of the task's output: the member that assigned it needs no notice of its end.
    pub fn is_the_end(&self) -> bool {
        self.task.status.is_final() && self.next_offset.is_none()
    }
}

impl Team {
    pub fn task(&self, id: &TaskId) -> Result<Task, TeamError> {
        self.bus().refresh()?;
        let task = self.bus().find_task(id)?;
        task.ok_or_else(|| Refusal::UnknownTask { id: id.clone() }.into())
    }

    /// Returns a task's position in its agent's queue, where 1 is next; `None` if it is not queued.
    pub fn position(&self, task: &Task) -> Option<usize> {
        self.bus().look(|state| {
            let queue = &state.session(task.session)?.queue;
            queue.iter().position(|queued| *queued == task.id).map(|index| index + 1)
        })
    }

    /// Reads a part of a task's output; for a running task, of its output so far.
    pub async fn output(
        &self,
        id: &TaskId,
        offset: usize,
        max: usize,
    ) -> Result<TaskOutput, TeamError> {
        let task = self.task(id)?;
        let mut lost = LostTexts::default();
        let whole = match task.output {
            Some(body) if body.bytes > 0 => {
                unless_lost(self.bus().text(body), &mut lost.output)?.unwrap_or_default()
            }
            // The task runs, or its agent ended before it could report the output: the transcript has it.
            _ => self.output_so_far(id).await?,
        };
        // The details that come with the first part must fit into the same answer.
        let max = if offset == 0 && task.has_details {
            max.min(limits::ANSWER_BYTES - 2 * limits::LIST_BYTES)
        } else {
            max
        };
        let (offset, text) = shown_part(&whole, offset, max);
        let end = offset + text.len();
        let next_offset = (end < whole.len()).then_some(end);
        let is_silent = !task.status.is_final()
            && self.bus().look(|state| {
                let agent = state.session(task.session);
                agent.is_some_and(|agent| agent.stalled && agent.running.as_ref() == Some(id))
            });
        Ok(TaskOutput {
            details: unless_lost(self.details(&task), &mut lost.details)?.flatten(),
            lost,
            is_silent,
            text: text.to_owned(),
            offset,
            next_offset,
            total: whole.len(),
            task,
        })
    }

    pub(crate) fn details(&self, task: &Task) -> Result<Option<Details>, BusError> {
        let Some(output) = task.output.filter(|_| task.has_details) else {
            return Ok(None);
        };
        let text = self.bus().details(output)?;
        let details = text.and_then(|text| match serde_json::from_str(&text) {
            Ok(details) => Some(details),
            Err(error) => {
                tracing::warn!("cannot parse the details of {}: {error}", task.id);
                None
            }
        });
        Ok(details)
    }

    async fn output_so_far(&self, id: &TaskId) -> Result<String, TeamError> {
        match self.bus().read_transcript(id, transcript::output).await {
            Ok(output) => Ok(output),
            // The task has not begun.
            Err(BusError::Log(LogError::Gone)) => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Keeps why a text is lost, so that the rest of its task is shown without it. Any other failure may be over soon.
fn unless_lost<T>(
    read: Result<T, BusError>,
    lost: &mut Option<String>,
) -> Result<Option<T>, BusError> {
    match read {
        Err(BusError::Log(why)) if why.is_lost_text() => {
            *lost = Some(why.to_string());
            Ok(None)
        }
        read => read.map(Some),
    }
}
