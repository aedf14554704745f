//! Files of an agent compared with what is committed, also in repositories that name programs to run.

use std::fs;

use super::*;
use crate::team::results::git_query::tests::Hostile;

/// Compares files of the repository `project`.
async fn diffs(place: &Hostile, paths: &[&str]) -> Vec<FileDiff> {
    let project = place.path("project");
    file_diffs(DiffsWanted {
        cwd: project.clone(),
        project,
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        environment: place.environment(),
    })
    .await
}

/// Returns the lines that are added or removed.
fn changed(diff: &FileDiff) -> Vec<&str> {
    let lines = diff.diff.as_ref().expect("git has compared it").lines();
    lines.filter(|line| line.starts_with(['+', '-'])).collect()
}

fn why(diff: &FileDiff) -> &str {
    diff.diff.as_ref().expect_err("there is nothing to show")
}

#[tokio::test]
async fn a_changed_a_new_and_a_removed_file_differ_and_others_say_why_not() {
    let place = Hostile::new();
    place.repository("project");
    let project = place.path("project");
    fs::write(project.join("old"), "gone\n").unwrap();
    fs::write(project.join("same"), "same\n").unwrap();
    fs::write(project.join(".gitignore"), "secret\n").unwrap();
    place.git("project", &["add", "."]);
    place.git("project", &["commit", "-qm", "second"]);
    fs::write(project.join("file"), "two\n").unwrap();
    fs::remove_file(project.join("old")).unwrap();
    fs::create_dir(project.join("new dir")).unwrap();
    fs::write(project.join("new dir/[a]*"), "first\nsecond").unwrap();
    fs::write(project.join("secret"), "key\n").unwrap();
    fs::write(project.join("binary"), b"a\0b").unwrap();
    fs::write(project.join("added"), "staged\n").unwrap();
    place.git("project", &["add", "added"]);
    std::os::unix::fs::symlink("/etc/passwd", project.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", project.join("elsewhere")).unwrap();
    let names = [
        "file",
        "old",
        "new dir/[a]*",
        "added",
        "same",
        "secret",
        "binary",
        "link",
        "elsewhere/passwd",
        "/etc/passwd",
        "../outside",
        "missing",
    ];
    let diffs = diffs(&place, &names).await;
    assert_eq!(diffs.iter().map(|diff| diff.path.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(changed(&diffs[0]), ["--- a/file", "+++ b/file", "-one", "+two"]);
    assert_eq!(changed(&diffs[1]), ["--- a/old", "+++ /dev/null", "-gone"]);
    assert_eq!(changed(&diffs[2]), ["+first", "+second"]);
    assert_eq!(changed(&diffs[3]), ["--- /dev/null", "+++ b/added", "+staged"]);
    for unchanged in [&diffs[4], &diffs[5], &diffs[8], &diffs[11]] {
        assert_eq!(why(unchanged), "it is as it is committed, or git ignores it", "{unchanged:?}");
    }
    assert_eq!(why(&diffs[6]), "it is no text, or longer than 4 MiB");
    assert!(why(&diffs[7]).starts_with("it is new, and cannot be read: "), "{:?}", diffs[7]);
    for outside in &diffs[9..11] {
        assert!(outside.diff.is_err(), "{outside:?}");
    }
}

#[tokio::test]
async fn a_comparison_runs_nothing_that_a_repository_names() {
    let place = Hostile::new();
    place.repository("project");
    let project = place.path("project");
    for name in ["a.odd", "b.slow"] {
        fs::write(project.join(name), "one").unwrap();
    }
    place.git("project", &["add", "."]);
    place.git("project", &["commit", "-qm", "second"]);
    place.arm("project");
    let command = place.trap("driver");
    place.git("project", &["config", "diff.evil.command", &command]);
    place.git("project", &["config", "diff.orderFile", "/dev/zero"]);
    fs::write(project.join(".gitattributes"), "* diff=evil filter=evil\n").unwrap();
    for name in ["file", "a.odd", "b.slow"] {
        fs::write(project.join(name), "two").unwrap();
    }
    let diffs = diffs(&place, &["file", "a.odd", "b.slow", ".gitattributes"]).await;
    assert_eq!(place.ran(), "");
    for diff in &diffs[..3] {
        assert_eq!(changed(diff).last(), Some(&"+two"), "{diff:?}");
    }
    assert_eq!(changed(&diffs[3]), ["+* diff=evil filter=evil"]);
    // The traps work: git as its user runs it springs them, but for the one that would hold it for ever.
    let _ = std::process::Command::new("git")
        .args(["-c", "filter.evil.required=false", "diff", "-O/dev/null", "--", "file"])
        .current_dir(&project)
        .env_clear()
        .envs(place.environment())
        .output();
    assert!(place.ran().contains("driver"), "{}", place.ran());
}

#[tokio::test]
async fn a_huge_file_is_cut_and_many_files_are_not_all_compared() {
    let place = Hostile::new();
    place.repository("project");
    let project = place.path("project");
    fs::write(project.join("long"), "a line\n".repeat(200_000)).unwrap();
    fs::write(project.join("wide"), "x".repeat(1_000_000)).unwrap();
    fs::write(project.join("file"), "another line\n".repeat(50_000)).unwrap();
    let huge = fs::File::create(project.join("huge")).unwrap();
    huge.set_len(limits::DIFF_FILE_BYTES + 1).unwrap();
    let cut = diffs(&place, &["long", "wide", "file", "huge"]).await;
    for diff in &cut[..3] {
        let text = diff.diff.as_ref().unwrap();
        assert!(
            diff.is_cut && text.len() <= limits::DIFF_BYTES + limits::DIFF_LINES,
            "{}",
            diff.path
        );
        assert!(text.lines().count() <= limits::DIFF_LINES, "{}", diff.path);
    }
    assert!(cut[3].diff.is_err(), "{:?}", cut[3]);
    let names: Vec<_> = (0..limits::DIFF_FILES + 2).map(|number| format!("f{number}")).collect();
    for name in &names {
        fs::write(project.join(name), "x\n").unwrap();
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let many = diffs(&place, &names).await;
    let shown = many.iter().filter(|diff| diff.diff.is_ok()).count();
    assert_eq!((many.len(), shown), (names.len(), limits::DIFF_FILES));
    assert_eq!(why(many.last().unwrap()), "not compared: a page compares 30 files");
}

#[tokio::test]
async fn without_a_repository_or_a_commit_there_is_still_an_answer() {
    let place = Hostile::new();
    fs::create_dir(place.path("project")).unwrap();
    assert_eq!(diffs(&place, &["file"]).await, []);
    place.git("project", &["init", "-q"]);
    fs::write(place.path("project/file"), "one\n").unwrap();
    let first = diffs(&place, &["file"]).await;
    assert_eq!(changed(&first[0]), ["+one"]);
    place.git("project", &["add", "."]);
    let added = diffs(&place, &["file"]).await;
    assert_eq!(changed(&added[0]).last(), Some(&"+one"));
}
