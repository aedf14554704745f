//! Starts, kills and ends agents and bridges many times at random, and proves that no process is left.
//!
//! Every process carries a mark in its environment, and the proof is that no process in `/proc` has it. The default run is small.
//! `BRIDGE_CHAOS=large` runs 1,000 cycles and kills 200 bridges; `BRIDGE_CHAOS_CYCLES` and `BRIDGE_CHAOS_KILLS` set other numbers.
//! `BRIDGE_CHAOS_SEED` repeats the random choices of a run, but not its timing. Prints a table.

#![expect(clippy::print_stdout, reason = "it prints its results")]
#![cfg_attr(target_os = "linux", expect(clippy::unwrap_used, reason = "a failure is a panic"))]

#[cfg(target_os = "linux")]
#[path = "../../tests/it/support/misbehaving_agents.rs"]
#[expect(dead_code, reason = "it is shared with tests that use more of it")]
mod wild;

#[cfg(target_os = "linux")]
#[path = "../../tests/it/support/chance.rs"]
mod chance;

#[cfg(target_os = "linux")]
mod fuzz_targets;

#[cfg(target_os = "linux")]
mod shortages;

#[cfg(target_os = "linux")]
mod random_kills;

#[cfg(target_os = "linux")]
fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(random_kills::run());
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the proof needs /proc");
}
