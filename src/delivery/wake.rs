//! Wake: a prompt of its own for an idle agent that has mail.

use std::time::Duration;

use tokio::time::Instant;

use super::frame::frame;
use super::reader::Reader;
use crate::bus::Letter;
use crate::bus::state::State;
use crate::domain::name::Name;

/// After words were put before a model, what comes within this is gathered: the first message goes at once, and the many that
/// may follow it go together.
pub const GATHER: Duration = Duration::from_millis(200);

/// What the model is asked to do with them.
fn request(reader: Reader<'_>) -> String {
    let tool = reader.tool("send_message");
    format!("Answer with {tool} if an answer is needed.")
}

/// Returns the place of the newest unread message that is worth a turn, if it is newer than `after`.
///
/// `after` is the newest message of a wake that failed: those messages are offered again only with newer ones, or with a task.
pub fn worth_a_turn(state: &State, name: &Name, after: u64) -> Option<u64> {
    let waking = state
        .unread(name)
        .filter(|message| message.kind.wakes())
        .map(|message| message.seq);
    waking.max().filter(|newest| *newest > after)
}

/// Says when mail may wake an agent, given when it was last woken: at once, unless that was just now.
pub fn due(now: Instant, woken: Option<Instant>) -> Instant {
    woken.map_or(now, |woken| (woken + GATHER).max(now))
}

/// Writes the prompt that wakes.
pub fn wake_prompt<'r>(
    primer: Option<&str>,
    letters: &[Letter],
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let reader = reader.into();
    let mut parts = Vec::new();
    parts.extend(primer.map(str::to_owned));
    parts.push(frame(letters, reader, more));
    parts.push(request(reader));
    parts.join("\n\n")
}
