//! Completions and manual pages, each read by the program that it is for, if that program is installed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs this binary, and returns what it printed.
fn printed(arguments: &[&str]) -> String {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    let output = bridge.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the commands that the help lists, in its two groups.
fn commands() -> BTreeSet<String> {
    let help = printed(&["--help"]);
    let mut found = BTreeSet::new();
    for group in ["\nFor you:\n", "\nFor clients and agents:\n"] {
        let (_, listed) = help.split_once(group).expect(group);
        let (listed, _) = listed.split_once("\n\n").unwrap();
        found.extend(listed.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()));
    }
    found
}

/// Lets a shell parse a script without running it; skips a missing shell, and prints that.
fn check_syntax(shell: &str, script: &Path) {
    match Command::new(shell).arg("-n").arg(script).output() {
        Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
        Err(error) => println!("{shell} is skipped: {error}"),
    }
}

#[test]
fn each_shell_reads_its_completions_and_bash_completes_with_them() {
    let place = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.path().join(shell);
        std::fs::write(&script, printed(&["completions", shell])).unwrap();
        check_syntax(shell, &script);
    }
    let script = place.path().join("bash");
    check_completion(&script, &["orch"], "orchestrator");
    check_completion(&script, &["messages", "--dec"], "--decided");
    check_completion(&script, &["bus", "prune", "--old"], "--older-than");
    check_completion(&script, &["tasks", "--status", "canc"], "cancelled");
}

/// Lets bash complete the last of these words; skips a missing bash, and prints that.
fn check_completion(script: &Path, words: &[&str], expected: &str) {
    let ask = "source \"$0\"; set_up=$(complete -p cli-team-bridge); complete=${set_up#*-F }; \
               COMP_WORDS=(cli-team-bridge \"$@\"); COMP_CWORD=$#; \
               \"${complete%% *}\" cli-team-bridge \"${COMP_WORDS[$#]}\" \"${COMP_WORDS[$#-1]}\"; \
               echo \"${COMPREPLY[*]}\"";
    match Command::new("bash").args(["-c", ask]).arg(script).args(words).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, format!("{expected}\n"), "{words:?}: {output:?}");
        }
        Err(error) => println!("bash is skipped: {error}"),
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("man/man1");
    printed(&["man", directory.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let commands = commands();
    assert!(commands.contains("orchestrator"), "{commands:?}");
    for command in &commands {
        let text = page(&format!("cli-team-bridge-{command}.1"));
        let version = env!("CARGO_PKG_VERSION");
        let title = format!(".TH cli-team-bridge-{command} 1  \"cli-team-bridge {version}\"");
        assert!(text.contains(&title), "{text}");
        assert!(!text.contains(".SH EXTRA"), "{text}");
    }
    assert!(page("cli-team-bridge-messages.1").contains("\n.SH EXAMPLES\n"));
    let main = page("cli-team-bridge.1");
    assert_eq!(printed(&["man"]).trim_end(), main.trim_end());
    let status = page("cli-team-bridge-status.1");
    assert_eq!(printed(&["man", "status"]).trim_end(), status.trim_end());
    assert!(main.contains("cli\\-team\\-bridge\\-orchestrator(1)"), "{main}");
}

#[test]
fn a_directory_for_pages_that_cannot_be_written_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    let output = bridge.arg("man").arg(file.join("man1")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains(&format!("`{}/man1`", file.display())), "{stderr}");
}

#[test]
fn a_command_without_a_page_is_named_and_makes_no_directory() {
    let place = tempfile::tempdir().unwrap();
    let man = |asked: &str| {
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
        bridge.args(["man", asked]).current_dir(place.path()).output().unwrap()
    };
    let refused = man("satus");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr.contains("there is no command `satus`"), "{stderr}");
    assert!(stderr.contains("`status`") && stderr.contains("./satus"), "{stderr}");
    assert!(!place.path().join("satus").exists());
    assert!(man("./satus").status.success());
    assert!(place.path().join("satus/cli-team-bridge.1").exists());
}
