//! `setup` and `doctor` where a client's directory is closed or is no directory, and where a file's group cannot be kept. Root is stopped by
//! no mode, so root plays this as another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;

use super::setup_and_undo::{IDLE, stage, write};
use crate::support::Stage;
use crate::support::home_files::{everything, same};

/// Another user, and a group that this one is not in.
const OTHER: u32 = 65_534;
const FOREIGN_GROUP: u32 = 64_321;

/// Gives everything in a directory to a user with a group of the same number.
fn give(directory: &Path, user: u32) {
    chown(directory, Some(user), Some(user)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            give(&path, user);
        } else {
            chown(&path, Some(user), Some(user)).unwrap();
        }
    }
}

/// Gives the stage to a user whom modes stop.
fn give_away(stage: &Stage) {
    if geteuid().is_root() {
        give(stage.home().parent().unwrap(), OTHER);
    }
}

/// Runs the binary as that user in the project, and returns whether it succeeded, and its words without line breaks.
fn run(stage: &Stage, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    command.args(arguments).env_clear().envs(stage.environment()).current_dir(stage.project());
    if geteuid().is_root() {
        command.uid(OTHER).gid(OTHER);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let words: Vec<_> = said.split_whitespace().collect();
    (output.status.success(), words.join(" "))
}

#[test]
fn a_closed_directory_is_named_with_what_opens_it() {
    let stage = stage(&[("zed", IDLE), ("cursor", IDLE)]);
    write(&stage, ".config/zed/settings.json", "{}");
    give_away(&stage);
    let closed = stage.home().join(".config");
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let (is_done, said) = run(&stage, &["setup", "--yes", "--client", "zed"]);
    let (_, report) = run(&stage, &["doctor", "--no-start"]);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let named = format!("you may not look into the directory {}", closed.display());
    for said in [&said, &report] {
        let words = said.replace('`', "");
        assert!(words.contains(&named) && words.contains("(chmod u+rwx"), "{said}");
        assert!(!said.contains("broken link"), "{said}");
    }
    assert!(!is_done);
    assert_eq!(fs::read_to_string(closed.join("zed/settings.json")).unwrap(), "{}");
}

#[test]
fn a_file_in_the_place_of_a_clients_directory_is_named() {
    let clients = [
        ("gemini", ".gemini"),
        ("qwen", ".qwen"),
        ("codex", ".codex"),
        ("cursor", ".cursor"),
        ("droid", ".factory"),
        ("zed", ".config/zed"),
    ];
    let stage = stage(&clients.map(|(name, _)| (name, IDLE)));
    for (_, directory) in clients {
        write(&stage, directory, "mine");
    }
    give_away(&stage);
    let before = everything(&stage);
    let (is_done, said) = run(&stage, &["setup", "--yes"]);
    let (_, report) = run(&stage, &["doctor", "--no-start"]);
    assert!(!is_done && !said.contains("Wrote"), "{said}");
    for (_, directory) in clients {
        let place = stage.home().join(directory);
        let says = format!("{} is no directory, so no file can be in it", place.display());
        assert!(said.contains(&says) && report.contains(&says), "{says}: {said} {report}");
        assert!(report.contains(&format!("move {} away", place.display())), "{report}");
    }
    let mut after = everything(&stage);
    after.retain(|path, _| before.contains_key(path));
    same(&before, &after);
}

#[test]
fn a_group_is_kept_or_the_client_is_left_alone() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE)]);
    let text = "{\"numStartups\" :3}";
    for (file, text) in
        [(".claude.json", text), (".claude/settings.json", "{ }"), (".codex/config.toml", "a=1")]
    {
        write(&stage, file, text);
    }
    give_away(&stage);
    let at = |file: &str| stage.home().join(file);
    fs::set_permissions(at(".codex/config.toml"), Permissions::from_mode(0o664)).unwrap();
    let of = |file: &str| {
        let found = fs::metadata(at(file)).unwrap();
        (found.uid(), found.gid(), found.mode(), fs::read_to_string(at(file)).unwrap())
    };
    if geteuid().is_root() {
        chown(at(".claude/settings.json"), None, Some(FOREIGN_GROUP)).unwrap();
        let (is_done, said) = run(&stage, &["setup", "--yes", "--client", "claude-code"]);
        assert!(!is_done && said.contains("a group that you are not in"), "{said}");
        assert!(said.contains("(`chgrp`)") && !said.contains("Wrote"), "{said}");
        assert_eq!(of(".claude.json").3, text, "nothing of the client is written");
        // Root may give it any group, and is in none of these.
        give(stage.home(), 0);
        chown(at(".codex/config.toml"), None, Some(FOREIGN_GROUP)).unwrap();
    }
    let before = of(".codex/config.toml");
    let undo = ["setup", "--remove", "--yes"];
    for (arguments, is_there) in
        [(&["setup", "--yes", "--client", "codex"][..], true), (&undo, false)]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
            .args(arguments)
            .env_clear()
            .envs(stage.environment())
            .current_dir(stage.project())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let now = of(".codex/config.toml");
        assert_eq!((now.0, now.1, now.2), (before.0, before.1, before.2));
        assert_eq!(now.3.contains("mcp_servers"), is_there);
    }
    assert_eq!(of(".codex/config.toml"), before);
}
