//! Starts, kills and ends agents and bridges again and again, by chance, and proves that nothing is left.
//!
//! The proof is a mark in the environment, looked for in all of `/proc`. A small run by default; `BRIDGE_CHAOS=large` is 1,000
//! cycles and 200 killed bridges, `BRIDGE_CHAOS_CYCLES` and `BRIDGE_CHAOS_KILLS` are any other numbers. `BRIDGE_CHAOS_SEED` repeats
//! what a run has chosen; its moments it cannot repeat. Prints a table.

#![expect(clippy::print_stdout, reason = "what was done is printed")]
#![cfg_attr(target_os = "linux", expect(clippy::unwrap_used, reason = "a failure is a panic"))]

#[cfg(target_os = "linux")]
#[path = "../../tests/it/support/misbehaving_agents.rs"]
#[expect(dead_code, reason = "it is shared with tests that use more of it")]
mod wild;

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
    println!("skipped: there is no /proc to prove anything by");
}
