//! The prompt of a step that waits for approval, as the step would get it now.

use std::sync::Mutex;

use crate::bus::BusError;
use crate::bus::state::{BodyRef, State, Task};
use crate::bus::storage::file::{Follower, StoredTexts};
use crate::domain::ids::{TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::result::Details;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::seen;
use crate::domain::workflow::laid_out;
use crate::sys::mutex::lock;
use crate::workflow::run::input_source::InputSource;
use crate::workflow::run::upcoming_prompt::upcoming_prompt;

/// Returns the prompt of a step as lines, its own words first and then what it is given; none if it cannot be read.
pub fn asking_prompt(bus: &mut Follower, workflow: &str, step: &str) -> Vec<String> {
    let (state, texts) = bus.state_and_texts();
    let found = WorkflowId::parse(workflow).ok().and_then(|id| state.workflow(&id));
    let Some((workflow, step)) = found.zip(Name::parse(step).ok()) else {
        return Vec::new();
    };
    let source = LogInputs { state, texts: Mutex::new(texts) };
    upcoming_prompt(&source, workflow, &step)
        .map(|prompt| lines(&laid_out(&prompt)))
        .unwrap_or_default()
}

/// Returns a text as lines, and how much of it is missing, if it is too long for a window.
fn lines(text: &str) -> Vec<String> {
    let letters = text.chars().count();
    let shown: String = text.chars().take(limits::WINDOW_PROMPT_CHARS).collect();
    let mut lines: Vec<_> = seen(&shown).lines().map(|line| line.replace('\t', "    ")).collect();
    if let Some(more) = letters.checked_sub(limits::WINDOW_PROMPT_CHARS).filter(|more| *more > 0) {
        let more = counted(more, "more character");
        lines.push(format!("… and {more}: the plan and the results of earlier steps have them"));
    }
    lines
}

/// The inputs of steps, as the log has them.
struct LogInputs<'a> {
    state: &'a State,
    /// The lock only makes it shareable: nothing waits for it.
    texts: Mutex<StoredTexts<'a>>,
}

impl InputSource for LogInputs<'_> {
    fn task(&self, id: &TaskId) -> Result<Option<Task>, BusError> {
        Ok(self.state.task(id).cloned())
    }

    fn text(&self, body: BodyRef) -> Result<String, BusError> {
        Ok(lock(&self.texts).text(body)?)
    }

    fn files(&self, task: &Task) -> Result<Vec<String>, BusError> {
        let Some(output) = task.output.filter(|_| task.has_details) else {
            return Ok(Vec::new());
        };
        let details = lock(&self.texts).details(output)?;
        let details = details.and_then(|text| serde_json::from_str::<Details>(&text).ok());
        let files = details.unwrap_or_default().files.into_iter();
        Ok(files.map(|file| file.path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_shown_in_its_own_words_and_says_what_is_missing() {
        assert_eq!(lines("a\u{1b}[2J\n\n\tb"), ["a\u{fffd}[2J", "", "    b"]);
        let long = lines(&"x".repeat(limits::WINDOW_PROMPT_CHARS + 7));
        assert!(long[1].starts_with("… and 7 more characters: "), "{}", long[1]);
    }
}
