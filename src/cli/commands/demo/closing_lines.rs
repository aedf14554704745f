//! The closing lines of the demo and their totals: the messages sent and their fate, how fast an idle agent answered, and how many
//! processes are left. A lost message or a process that still runs fails the demo.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::bus::Bus;
use crate::bus::event::{Entry, Event};
use crate::bus::state::{Delivery, State};
use crate::bus::storage::{LogError, LogPosition};
use crate::cli::{Failure, open_bus, output};
use crate::domain::env_vars;
use crate::domain::text::counted::{counted, counted_as, noun};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::process::marked;
use crate::team::run_mark;

pub(super) struct Count {
    events: usize,
    /// Deliveries: messages times addressees.
    sent: usize,
    seen: usize,
    /// Deliveries that were withdrawn because they were no longer needed, or returned when their reader ended.
    settled: usize,
    /// Deliveries that were neither seen nor settled.
    lost: usize,
    /// The marks in the environments of the agents' processes.
    marks: Vec<String>,
}

/// Counts the events and deliveries on the bus in a directory.
pub(super) fn of(directory: &Path) -> Result<Count, Failure> {
    let bus = open_bus::open_own_bus(directory)?;
    let entries = entries(&bus)?;
    let mut count = bus.look(of_state);
    for event in entries.iter().flat_map(|entry| &entry.events) {
        count.events += 1;
        if let Event::MemberStarting(starting) = event {
            count.marks.push(run_mark(directory, starting.session));
        }
    }
    Ok(count)
}

/// Prints the closing lines. Fails if a process is left or a message was lost.
pub(super) fn print(
    count: &Count,
    woken: Duration,
    kept: Option<&Path>,
    began: Instant,
) -> Result<(), Failure> {
    output::say("");
    output::say(&count.sentence());
    output::say(&format!(
        "A message woke an idle agent; its answer arrived after {} ms.",
        woken.as_millis()
    ));
    if let Some(project) = kept {
        output::say(&format!("Kept: {}", project.shown()));
    }
    print_left(std::slice::from_ref(count), began)
}

/// Prints how many processes are left, and how long it took. Fails if a process is left or a message was lost.
pub(super) fn print_left(counts: &[Count], began: Instant) -> Result<(), Failure> {
    let left: usize = counts.iter().map(Count::processes_left).sum();
    let lost: usize = counts.iter().map(|count| count.lost).max().unwrap_or_default();
    let processes = counted_as(left, "process", "processes");
    output::say(&format!("{processes} left. Took {:.1} s.", began.elapsed().as_secs_f64()));
    if left > 0 {
        let are = noun(left, "is", "are");
        return Err(format!("{processes} of the team {are} still running").into());
    }
    if lost > 0 {
        let lost = counted_as(lost, "message was", "messages were");
        return Err(format!("{lost} lost").into());
    }
    Ok(())
}

/// Reads the whole log.
pub(super) fn entries(bus: &Bus) -> Result<Vec<Entry>, Failure> {
    let mut place: LogPosition = bus.oldest()?;
    let mut all = Vec::new();
    loop {
        let (lines, next) = match bus.read_after(place, 1000) {
            Ok(read) => read,
            Err(crate::bus::BusError::Log(LogError::Gone)) => return Ok(all),
            Err(error) => return Err(error.into()),
        };
        if lines.is_empty() {
            return Ok(all);
        }
        all.extend(lines.into_iter().map(|(_, entry)| entry));
        place = next;
    }
}

fn of_state(state: &State) -> Count {
    let mut count = Count { events: 0, sent: 0, seen: 0, settled: 0, lost: 0, marks: Vec::new() };
    // Who comes and goes is read with other things, or not at all.
    let messages = state.messages().filter(|message| !message.is_presence());
    for delivery in
        messages.flat_map(|message| message.deliveries.iter().map(|(_, delivery)| delivery))
    {
        count.sent += 1;
        match delivery {
            Delivery::Seen | Delivery::Acknowledged(_) => count.seen += 1,
            Delivery::Superseded | Delivery::Expired => count.settled += 1,
            Delivery::Unread { .. } | Delivery::InFlight { .. } => count.lost += 1,
        }
    }
    count
}

impl Count {
    /// Returns the totals in a sentence.
    fn sentence(&self) -> String {
        format!(
            "{} on the bus: {} read by their recipient's model, {} withdrawn or \
             returned to their sender, {} lost. {} in the log.",
            counted_as(self.sent, "delivery", "deliveries"),
            self.seen,
            self.settled,
            self.lost,
            counted(self.events, "event")
        )
    }

    /// Counts the processes that carry the mark of one of the demo's agents.
    fn processes_left(&self) -> usize {
        let left = |mark: &String| marked(env_vars::RUN, mark).len();
        self.marks.iter().map(left).sum()
    }
}
