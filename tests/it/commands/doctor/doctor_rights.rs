//! The rights of others: to the bus and to the state directory, and to what is above them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;

use super::doctor_report::{check, examined, finding, stage};

/// Returns the mode of a file or directory.
fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn rights_of_others_are_named_and_taken_away_only_on_request() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    assert_eq!(lead.start_and_wait("ann", "x").await, "done");
    lead.close().await;
    let records = stage.home().join(".local/state/cli-team-bridge");
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let is_rights = |finding: &&Value| finding["check"] == "rights";
    let all = report["findings"].as_array().unwrap();
    assert!(!all.iter().any(|one| is_rights(&one) && one["level"] != "ok"), "{report:#}");

    let log = fs::read_dir(stage.bus().join("log")).unwrap().next().unwrap().unwrap().path();
    let record = records.join("buses");
    let record = fs::read_dir(&record).unwrap().next().unwrap().unwrap().path();
    let outside = stage.home().join("outside");
    fs::write(&outside, "").unwrap();
    symlink(&outside, stage.bus().join("tasks/link")).unwrap();
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&outside, 0o666);
    let opened = [(stage.bus(), 0o755), (log, 0o644), (records, 0o777), (record, 0o664)];
    for (path, mode) in &opened[..2] {
        open(path, *mode);
    }
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    check(&report, ("bus", "rights"), "problem", "others may read 2 parts", "doctor --fix");
    check(&report, ("bridge", "rights"), "ok", "only you", "");
    for (path, mode) in &opened[2..] {
        open(path, *mode);
    }
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bridge", "rights"), "problem", "others may write to 2 parts", "doctor --fix");
    for (path, was) in &opened {
        assert_eq!(mode(path), *was, "without --fix nothing is changed: {}", path.display());
    }
    let (_, report) = examined(&stage, &["--no-start", "--fix"]).await;
    for subject in ["bus", "bridge"] {
        assert_eq!(finding(&report, subject, "rights")["fix"], "done", "{report:#}");
    }
    for ((path, _), expected) in opened.iter().zip([0o700, 0o600, 0o700, 0o600]) {
        assert_eq!(mode(path), expected, "{}", path.display());
    }
    assert_eq!(mode(&outside), 0o666, "a link is not followed");
    check(&report, ("bus", "log"), "ok", "no damage", "");
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let all = report["findings"].as_array().unwrap();
    assert!(!all.iter().any(|one| is_rights(&one) && one["level"] != "ok"), "{report:#}");

    let twice = stage.bus().join("tasks/twice");
    fs::write(&twice, "").unwrap();
    open(&twice, 0o644);
    fs::hard_link(&twice, stage.home().join("again")).unwrap();
    let (_, report) = examined(&stage, &["--no-start", "--fix"]).await;
    check(&report, ("bus", "rights"), "unknown", "1 file with further names", "ls -lR");
    assert_eq!(mode(&twice), 0o644);
}

/// Whoever may write to a directory above the bus may move it away, and put another one in its place.
#[tokio::test]
async fn a_directory_above_that_others_may_change_is_named() {
    let stage = stage();
    stage.orchestrator().await.close().await;
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let claude = stage.project().join(".claude");
    let around = stage.home().join(".local/state");
    for path in [stage.project(), &claude, &around] {
        open(path, 0o777);
    }
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let (project, claude_named) = (stage.project().display(), claude.display());
    let says = format!("others may write to {project}, {claude_named}, and so may put another");
    let remedy = format!("chmod go-w {project} {claude_named}`");
    check(&report, ("bus", "rights"), "problem", &says, &remedy);
    let says = format!("others may write to {}, and so may put another", around.display());
    check(&report, ("bridge", "rights"), "problem", &says, "chmod go-w");
    let all = report["findings"].as_array().unwrap();
    assert!(!all.iter().any(|one| one["says"].as_str().unwrap().starts_with("only you")));
    // Taking these rights away may not be what other users of the project expect.
    let (_, _) = examined(&stage, &["--no-start", "--fix"]).await;
    assert_eq!(mode(&claude), 0o777);

    // In a sticky directory, others cannot move what is not theirs.
    for path in [stage.project(), &claude, &around] {
        open(path, 0o1777);
    }
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("bus", "rights"), "ok", "only you", "");
    check(&report, ("bridge", "rights"), "ok", "only you", "");
}
