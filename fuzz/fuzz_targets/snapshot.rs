#![no_main]

use cli_team_bridge::fuzz::read_snapshot;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_snapshot(bytes));
