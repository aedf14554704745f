//! The targets of `fuzz/`, in the large run: where cargo-fuzz is there, each runs for two minutes, and finds nothing.

use std::process::{Command, Stdio};

use cli_team_bridge::sys::random_ids;

use super::random_kills::Row;

/// So long each target runs.
const SECONDS: u64 = 120;

/// Runs all targets; none where there is no cargo-fuzz.
pub(super) fn run() -> Option<Row> {
    let targets = fuzz(&["list"]).output().ok()?;
    if !targets.status.success() {
        println!("fuzzing is skipped: `cargo install cargo-fuzz` brings what it takes");
        return None;
    }
    let targets = String::from_utf8(targets.stdout).unwrap();
    let targets: Vec<_> = targets.lines().collect();
    let seconds = format!("-max_total_time={SECONDS}");
    // Not all bits: the fuzzer takes 32 of them.
    let seed = random_ids::session().0.as_u64_pair().1 >> 33;
    for target in &targets {
        let corpus = tempfile::tempdir().unwrap();
        let kept = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let found = corpus.path().to_str().unwrap();
        let seed = format!("-seed={seed}");
        // What it finds on its way goes to the first folder.
        let words = ["run", "--sanitizer", "none", target, found, &kept, "--", &seconds, &seed];
        let ran = fuzz(&words).stdout(Stdio::null()).status().unwrap();
        assert!(ran.success(), "`{target}` fails: see fuzz/artifacts/{target}, -seed={seed}");
        println!("{target}: {SECONDS} s");
    }
    Some(Row {
        fault: "a fuzzer writes what others write",
        runs: targets.len(),
        result: format!("each target {SECONDS} s, nothing found"),
    })
}

fn fuzz(words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg("fuzz").args(words);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    // The flags that a fuzzer needs are not stable.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}
