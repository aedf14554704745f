//! A turn that no known task has, read from its transcript: one in which an agent only read its messages, or one of an old task.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::TaskId;
use crate::domain::name::Name;
use crate::domain::time::parse_time;
use crate::team::output_of_transcript;
use crate::view::Moment;

/// A turn that no known task has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnlistedTurn {
    /// The id of its transcript.
    pub turn_id: String,
    /// The agent whose turn it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Moment>,
    /// When it ended; missing while it runs, or if it was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// The whole prompt, with the messages in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_prompt: Option<String>,
    /// What the agent has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Reads a turn; none if there is no such transcript, or a task has it.
pub fn unlisted_turn(bus: &mut Follower, id: &TaskId) -> Result<Option<UnlistedTurn>, LogError> {
    let (state, mut texts) = bus.state_and_texts();
    if state.task(id).is_some() {
        return Ok(None);
    }
    match texts.transcript(id) {
        Ok(transcript) => Ok(Some(of_transcript(id, &transcript))),
        Err(LogError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

fn of_transcript(id: &TaskId, transcript: &str) -> UnlistedTurn {
    let line_of = |kind: &str| {
        let values = transcript.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.into_iter().find(|line| line["kind"] == kind)
    };
    let time = |line: &Value| line["at"].as_str().and_then(parse_time).map(Moment);
    let text = |line: &Value, key: &str| line[key].as_str().map(str::to_owned);
    let (prompt, end) = (line_of("prompt"), line_of("end"));
    let output = output_of_transcript(transcript);
    UnlistedTurn {
        turn_id: id.to_string(),
        // What stands in a transcript may be anything; names are shown as they are.
        agent: prompt
            .as_ref()
            .and_then(|line| text(line, "agent"))
            .filter(|name| Name::parse(name).is_ok()),
        began_at: prompt.as_ref().and_then(time),
        ended_at: end.as_ref().and_then(time),
        whole_prompt: prompt.as_ref().and_then(|line| text(line, "text")),
        output: Some(output).filter(|output| !output.trim().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_answered_in_a_turn_without_a_task_is_read_from_its_transcript() {
        let id = TaskId::from_bits(7);
        let lines = [
            r#"{"at":"2026-02-02T02:40:01.000Z","kind":"prompt","agent":"codex","text":"[ann → you] Is it free?"}"#,
            r#"{"at":"2026-02-02T02:40:02.000Z","kind":"text","text":"It is "}"#,
            r#"{"at":"2026-02-02T02:40:02.000Z","kind":"text","text":"free."}"#,
            r#"{"at":"2026-02-02T02:40:03.000Z","kind":"end","stop_reason":"end_turn"}"#,
        ];
        let turn = of_transcript(&id, &lines.join("\n"));
        assert_eq!(turn.agent.as_deref(), Some("codex"));
        assert_eq!(turn.output.as_deref(), Some("It is free."));
        assert_eq!(turn.whole_prompt.as_deref(), Some("[ann → you] Is it free?"));
        let (began, ended) = (turn.began_at.unwrap(), turn.ended_at.unwrap());
        assert_eq!(began.until(ended), 2_000);
        let odd = r#"{"kind":"prompt","agent":"\u001b[2Jx","text":"t"}"#;
        assert_eq!(of_transcript(&id, odd).agent, None);
        // One that is being written.
        let running = of_transcript(&id, &lines[..2].join("\n"));
        assert_eq!((running.ended_at, running.output.as_deref()), (None, Some("It is ")));
    }
}
