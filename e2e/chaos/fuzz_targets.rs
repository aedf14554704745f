//! The targets of `fuzz/`, in the large run: with cargo-fuzz installed, each runs for two minutes and must find nothing.

use std::process::{Command, Stdio};

use cli_team_bridge::sys::random_ids;

use super::random_kills::Row;

/// How long each target runs.
const SECONDS: u64 = 120;

/// Runs all targets, or returns `None` without cargo-fuzz.
pub(super) fn run() -> Option<Row> {
    let targets = fuzz(&["list"]).output().ok()?;
    if !targets.status.success() {
        println!("fuzzing is skipped: run `cargo install cargo-fuzz`");
        return None;
    }
    let targets = String::from_utf8(targets.stdout).unwrap();
    let targets: Vec<_> = targets.lines().collect();
    let seconds = format!("-max_total_time={SECONDS}");
    // The fuzzer accepts seeds of 32 bits only.
    let seed = random_ids::session().0.as_u64_pair().1 >> 33;
    for target in &targets {
        let corpus = tempfile::tempdir().unwrap();
        let kept = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let found = corpus.path().to_str().unwrap();
        let seed = format!("-seed={seed}");
        // The fuzzer writes new inputs to the first folder.
        let arguments = ["run", "--sanitizer", "none", target, found, &kept, "--", &seconds, &seed];
        let ran = fuzz(&arguments).stdout(Stdio::null()).status().unwrap();
        assert!(ran.success(), "`{target}` fails: see fuzz/artifacts/{target}, -seed={seed}");
        println!("{target}: {SECONDS} s");
    }
    Some(Row {
        fault: "a fuzzer writes what others write",
        runs: targets.len(),
        result: format!("each target {SECONDS} s, nothing found"),
    })
}

fn fuzz(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg("fuzz").args(arguments);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    // A fuzzer needs unstable flags.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}
