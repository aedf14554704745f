//! What killed setups leave, and two setups at once.

use std::fs;

use super::setup_and_undo::{IDLE, copy_program, setup, setup_by, stage, write};
use crate::support::Terminal;
use crate::support::home_files::{everything, same};

/// The id of a temporary file.
const ID: &str = "0190c42e-59cf-7d2a-8f5c-9d3c1b7a2e61";

#[tokio::test]
async fn remove_leaves_a_file_alone_that_a_killed_setup_had_not_written_yet() {
    let stage = stage(&[]);
    let before = [
        (".codex/config.toml", "# mine\nmodel = \"x\"\n[tui]\na = 1"),
        (".gemini/settings.json", "{\"mine\" :1 , \"mcpServers\":{}}"),
    ];
    for (file, text) in before {
        write(&stage, file, text);
    }
    let files = everything(&stage);
    let clients = ["--client", "codex", "--client", "gemini", "--client", "cursor", "--yes"];
    assert!(setup(&stage, &clients).await.0);
    // The record is there, and the file not: a copy of it is beside it.
    for (file, text) in before {
        write(&stage, file, text);
        let (folder, name) = file.split_once('/').unwrap();
        write(&stage, &format!("{folder}/.{name}.{ID}.tmp"), text);
    }
    fs::remove_file(stage.home().join(".cursor/mcp.json")).unwrap();
    write(&stage, &format!(".cursor/.mcp.json.{ID}.tmp"), "{}");
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(said.matches("it has none of setup's changes").count(), 3, "{said}");
    assert_eq!(said.matches("Nothing to undo in").count(), 3, "{said}");
    assert!(!said.contains("Undone"), "{said}");
    same(&files, &everything(&stage));
}

#[tokio::test]
async fn a_directory_goes_that_a_killed_setup_made_for_a_file_it_did_not_write() {
    let stage = stage(&[("cursor", IDLE)]);
    let before = everything(&stage);
    assert!(setup(&stage, &["--yes"]).await.0);
    fs::remove_file(stage.home().join(".cursor/mcp.json")).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
}

#[tokio::test]
async fn what_a_killed_doctor_left_in_the_state_directory_is_removed() {
    let stage = stage(&[("cursor", IDLE)]);
    let left = format!(".local/state/cli-team-bridge/.cli-team-bridge.{ID}.tmp");
    for arguments in [&["--yes"][..], &["--remove", "--yes"]] {
        write(&stage, &left, "");
        private(&stage.home().join(".local/state/cli-team-bridge"));
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(is_done && !stage.home().join(&left).exists(), "{said}");
    }
    assert!(!stage.home().join(".local/state/cli-team-bridge").exists());
}

/// Makes a directory as setup would.
fn private(directory: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_lock_on_the_home_directory_is_no_concern_of_setup() {
    let stage = stage(&[("cursor", IDLE)]);
    let home = fs::File::open(stage.home()).unwrap();
    home.lock().unwrap();
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
}

#[tokio::test]
async fn two_setups_at_once_are_refused() {
    let stage = stage(&[("cursor", IDLE)]);
    let before = everything(&stage);
    let mut first = Terminal::run_with(&stage, &["setup"], (100, 140));
    first.until_shows("Set up Cursor this way? [y/N]").await;
    for arguments in [&["--yes"][..], &["--remove", "--yes"]] {
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(!is_done && said.contains("another setup is running"), "{said}");
    }
    let (is_done, said) = setup(&stage, &["--dry-run"]).await;
    assert!(is_done, "a trial writes nothing: {said}");
    first.press("n\n");
    assert_eq!(first.ended("No client was set up.").await, Some(0));
    same(&before, &everything(&stage));
    assert!(setup(&stage, &["--yes"]).await.0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn where_setup_cannot_keep_its_records_it_names_the_directory_and_changes_nothing() {
    // Not even root can make directories here.
    let stage = stage(&[("cursor", IDLE)]).with_variable("XDG_STATE_HOME", "/proc/none");
    let before = everything(&stage);
    for arguments in [&["--yes"][..], &["--remove", "--yes"]] {
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(!is_done && !said.contains("another setup is running"), "{said}");
        let why = "error: the directory for setup's records and copies cannot be used: `/proc/none";
        assert!(said.contains(why) && said.contains("hint: make it usable"), "{said}");
        same(&before, &everything(&stage));
    }
}

#[tokio::test]
async fn without_a_home_directory_nothing_is_made_and_doctor_says_why() {
    let stage = stage(&[("cursor", IDLE)]);
    let none = stage.home().join("none");
    let stage = stage.with_variable("HOME", none.to_str().unwrap());
    let why = format!("the home directory {none:?} does not exist");
    for arguments in [&["--yes"][..], &["--remove", "--yes"], &["--dry-run"]] {
        let (is_done, said) = setup(&stage, arguments).await;
        assert!(!is_done && said.contains(&why), "{said}");
        assert!(said.contains("hint: set HOME to your home directory"), "{said}");
    }
    let (_, report) = stage.ended(&["doctor", "--no-start"], None).await;
    let why = format!("the home directory {} does not exist", none.display());
    assert!(report.contains(&why) && report.contains("set HOME to your home"), "{report}");
    assert!(!none.exists());
}

/// A hook is a line of a shell, and some clients expand variables in a command.
#[tokio::test]
async fn a_program_with_a_line_break_or_a_variable_in_its_path_is_refused() {
    for (folder, why) in [("a\nb", "a line break"), ("b${HOME}", "a `$`"), ("$x", "a `$`")] {
        let stage = stage(&[("cursor", IDLE)]);
        let program = stage.home().join(folder).join("cli-team-bridge");
        copy_program(&program);
        let before = everything(&stage);
        let (is_done, said) = setup_by(&program, &stage, &["--yes"]);
        let why = format!("the path of this program has {why}");
        assert!(!is_done && said.contains(&why), "{said}");
        same(&before, &everything(&stage));
    }
}

#[tokio::test]
async fn a_command_with_arguments_is_shown_without_them() {
    let stage = stage(&[("cursor", IDLE), ("zed", IDLE)]);
    let entry = |command: &str| {
        let arguments = r#"["orchestrator","--adopt"]"#;
        format!("{{\"bridge\":{{\"command\":\"{command}\",\"args\":{arguments}}}}}")
    };
    write(
        &stage,
        ".cursor/mcp.json",
        &format!("{{\"mcpServers\":{}}}", entry("npx -y x --key SEKRET")),
    );
    let ours = "KEY=SEKRET /x/cli-team-bridge";
    write(&stage, ".config/zed/settings.json", &format!("{{\"context_servers\":{}}}", entry(ours)));
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(!is_done && said.contains("setup did not write it: `npx …`"), "{said}");
    assert!(said.contains("starts another program: `npx …`"), "the doctor's report: {said}");
    assert!(said.contains("- context_servers.bridge.command: \"KEY=… …\""), "{said}");
    assert!(!said.contains("SEKRET"), "{said}");
}
