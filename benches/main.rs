//! The benchmarks: one table in markdown, which compares speeds with an anchor that is measured in the same run.
//!
//! `cargo bench` runs all topics, `cargo bench -- wake history` only these. Child processes are this program again, in a role.

mod claims;
mod crowd;
mod history;
mod looking;
mod waiting_process;
mod process_memory;
mod prompts;
mod send;
mod server_order;
mod traffic;
mod workflow_steps;
mod support;
mod wake_other_process;
mod hook_and_watch;
mod writers;

use std::path::Path;

use self::support::child_process::ROLE;
use support::table::{self, Row};
use support::{Outcome, anchor};

/// A topic: its name, and the function that measures it.
type Topic = (&'static str, fn() -> Outcome<Vec<Row>>);

const TOPICS: [Topic; 17] = [
    ("send", send::measure),
    ("wake", wake_other_process::measure),
    ("writers", writers::measure),
    ("server", server_order::measure),
    ("claims", claims::measure),
    ("traffic", traffic::measure),
    ("history", history::measure),
    ("crowd", crowd::measure),
    ("steps", workflow_steps::measure),
    ("idle", waiting_process::measure),
    ("memory", process_memory::measure),
    ("prompts", prompts::measure),
    ("way_back", hook_and_watch::measure),
    ("windows", looking::top::measure),
    ("looking", looking::commands::measure),
    ("web", looking::web::measure),
    ("web", looking::open_pages::measure),
];

fn main() -> Outcome {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let Some((first, rest)) = words.split_first()
        && let Some(role) = first.strip_prefix(ROLE)
    {
        return play(role, rest);
    }
    // Cargo adds an option of its own, `--bench`.
    let chosen: Vec<_> = words.into_iter().filter(|word| !word.starts_with('-')).collect();
    table::print_head()?;
    for (topic, measure) in TOPICS {
        if chosen.is_empty() || chosen.contains(&topic) {
            table::print_rows(&measure()?)?;
        }
    }
    Ok(())
}

/// Runs this process in a role.
fn play(role: &str, arguments: &[&str]) -> Outcome {
    match (role, arguments) {
        ("raw-reader", [path]) => anchor::raw_reader(Path::new(path)),
        ("raw-writer", [path, _, count]) => anchor::raw_writer(Path::new(path), count.parse()?),
        ("receiver", [bus, name]) => wake_other_process::receive(Path::new(bus), name),
        ("writer", [bus, name, count]) => writers::write(Path::new(bus), name, count.parse()?),
        ("counter", [address]) => server_order::count(address),
        ("sleepers", [bus, name]) => server_order::sleep(Path::new(bus), name),
        ("claimer", [bus, name]) => claims::claim(Path::new(bus), name),
        ("relay", [script, noted]) => prompts::relay(script, Path::new(noted)),
        ("member", [bus, name]) => process_memory::stay(Path::new(bus), name),
        _ => Err(format!("no role `{role}` with {} arguments", arguments.len()).into()),
    }
}
