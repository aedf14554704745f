#![no_main]

use cli_team_bridge::fuzz::write_frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| write_frame(bytes));
