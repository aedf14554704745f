//! What the window shows besides the board: the live words of a task, a whole task, the call behind a permission question, and
//! the prompt of a step that waits for approval.

use std::sync::Arc;

use crate::bus::storage::file::Follower;
use crate::cli::commands::look::task_lines;
use crate::cli::commands::top::news::{News, Wanted};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::text::visible_letters::seen;
use crate::reader::{asking_prompt, no_such_task, whole_task};
use crate::view::{LiveLine, Moment, call_in_full, live_lines};

/// Reads what is wanted, and says whether the news have changed.
pub(super) fn read(bus: &mut Follower, wanted: &Wanted, news: &mut News) -> bool {
    let live = wanted.live.as_ref().map(|id| (id.clone(), live(bus, id)));
    let task = wanted.task.as_ref().map(|id| (id.clone(), task(bus, id)));
    let known = news.call.take();
    let call = wanted.call.as_ref().map(|(id, task, title)| match &known {
        // A question never changes.
        Some((of, lines)) if of == id => (id.clone(), Arc::clone(lines)),
        _ => (id.clone(), Arc::new(call(bus, task, title))),
    });
    let known_prompt = news.prompt.take();
    let prompt = wanted.step.as_ref().map(|step| match &known_prompt {
        // While the step waits, its inputs stay.
        Some((of, lines)) if of == step => (step.clone(), Arc::clone(lines)),
        _ => (step.clone(), Arc::new(asking_prompt(bus, &step.workflow, &step.step))),
    });
    let has_changed =
        news.live != live || news.task != task || known != call || known_prompt != prompt;
    (news.live, news.task, news.call, news.prompt) = (live, task, call, prompt);
    has_changed
}

fn live(bus: &mut Follower, id: &str) -> Arc<Vec<LiveLine>> {
    let text = transcript(bus, id, limits::LIVE_BYTES);
    Arc::new(live_lines(&text, limits::LIVE_LINES))
}

fn call(bus: &mut Follower, task: &str, title: &str) -> Vec<String> {
    call_in_full(&transcript(bus, task, limits::CALL_BYTES), title)
}

/// Reads the end of a transcript; empty if there is none.
fn transcript(bus: &mut Follower, task: &str, most: u64) -> String {
    let Ok(id) = TaskId::parse(task) else { return String::new() };
    let (_, texts) = bus.state_and_texts();
    let read = texts.last_of_transcript(&id, most);
    read.inspect_err(|error| tracing::debug!(%error, "cannot read a transcript"))
        .unwrap_or_default()
}

fn task(bus: &mut Follower, id: &str) -> Arc<Vec<String>> {
    let now = Moment(bus.now().wall_ms);
    let read = TaskId::parse(id).ok().map(|id| (whole_task(bus, &id), id));
    let lines = match read {
        Some((Some(task), _)) => task_lines::of(&task, now),
        Some((None, id)) => vec![no_such_task(&id)],
        None => Vec::new(),
    };
    let lines = lines.iter().flat_map(|line| {
        let lines: Vec<_> = seen(line).lines().map(|line| line.replace('\t', "    ")).collect();
        if lines.is_empty() { vec![String::new()] } else { lines }
    });
    Arc::new(lines.collect())
}
