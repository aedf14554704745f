#![no_main]

use cli_team_bridge::fuzz::count_client_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| count_client_file(bytes));
