//! `setup` where the user has written the bridge's entry, as README and `claude mcp add` write it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::setup_and_undo::{IDLE, copy_program, json, setup, stage, write};
use crate::support::Stage;
use crate::support::home_files::{everything, same};

const OWN: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

/// Builds a home in which the bridge and these programs are on `PATH`.
fn stage_with_bridge(programs: &[(&str, &str)]) -> Stage {
    let stage = stage(programs);
    symlink(OWN, stage.home().join("bin/cli-team-bridge")).unwrap();
    stage
}

async fn doctor(stage: &Stage) -> String {
    stage.ended(&["doctor", "--no-start"], None).await.1
}

#[tokio::test]
async fn an_entry_of_the_user_for_the_bridge_is_taken_over_and_put_back() {
    for (command, arguments) in [
        ("cli-team-bridge", json!(["orchestrator"])),
        ("OTHER", json!(["orchestrator"])),
        ("${NOPE:-cli-team-bridge}", json!(["orchestrator"])),
        ("/gone/cli-team-bridge", json!(["orchestrator", "--adopt"])),
    ] {
        let stage = stage_with_bridge(&[("claude", IDLE)]);
        let other = stage.home().join("other/cli-team-bridge");
        copy_program(&other);
        let command = command.replace("OTHER", other.to_str().unwrap());
        let entry = json!({ "type": "stdio", "command": command, "args": arguments, "env": { "KEY": "SECRET" } });
        let written = json!({ "numStartups": 3, "mcpServers": { "bridge": entry } }).to_string();
        write(&stage, ".claude.json", &written);
        let before = everything(&stage);
        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(is_done && !said.contains("SECRET"), "{said}");
        let link = stage.home().join("bin/cli-team-bridge");
        let link = link.to_str().unwrap();
        for line in [
            format!("  - mcpServers.bridge.command: \"{command}\""),
            format!("  + mcpServers.bridge.command: \"{link}\""),
        ] {
            assert!(said.contains(&line), "{line}: {said}");
        }
        let file = stage.home().join(".claude.json");
        let mut expected = json(&file);
        assert_eq!(expected["mcpServers"]["bridge"]["command"], link);
        expected["mcpServers"]["bridge"]["command"] = json!(command);
        assert_eq!(
            expected.to_string(),
            serde_json::from_str::<serde_json::Value>(&written).unwrap().to_string()
        );
        let found = doctor(&stage).await;
        assert!(!found.contains("setup --client"), "{found}");

        let done = everything(&stage);
        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(is_done && said.contains("already set up"), "{said}");
        same(&done, &everything(&stage));
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        assert!(is_done, "{said}");
        same(&before, &everything(&stage));

        // Claude Code writes this file at every start, so the original cannot be restored.
        assert!(setup(&stage, &["--yes"]).await.0);
        let changed =
            fs::read_to_string(&file).unwrap().replace("\"numStartups\":3", "\"numStartups\":4");
        fs::write(&file, &changed).unwrap();
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        let shown = format!("  + mcpServers.bridge.command: \"{command}\"");
        assert!(is_done && said.contains(&shown) && !said.contains("SECRET"), "{said}");
        let now = fs::read_to_string(&file).unwrap();
        assert_eq!(now, written.replace("\"numStartups\":3", "\"numStartups\":4"));
    }
}

#[tokio::test]
async fn an_entry_of_the_user_in_toml_is_put_back_after_the_program_has_moved() {
    let stage = stage_with_bridge(&[("codex", IDLE)]);
    let written = "# mine\n[mcp_servers.bridge] # b\nargs = [\"orchestrator\"]\ncommand = \"cli-team-bridge\" # c\n";
    write(&stage, ".codex/config.toml", written);
    let file = stage.home().join(".codex/config.toml");
    assert!(setup(&stage, &["--yes"]).await.0);
    let link = stage.home().join("bin/cli-team-bridge");
    let with = |program: &str| written.replace("\"cli-team-bridge\"", &format!("{program:?}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), with(link.to_str().unwrap()));
    fs::remove_file(&link).unwrap();
    let mine = |text: &str| format!("{text}[mine]\na = 1\n");
    fs::write(&file, mine(&with(link.to_str().unwrap()))).unwrap();
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), mine(&with(OWN)));
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), mine(written));
}

#[tokio::test]
async fn a_peer_of_the_user_stays_and_setup_says_what_it_is() {
    let stage = stage_with_bridge(&[("claude", IDLE)]);
    let entry = json!({ "command": "cli-team-bridge", "args": ["peer", "--name", "second"] });
    write(&stage, ".claude.json", &json!({ "mcpServers": { "bridge": entry } }).to_string());
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    let why =
        "`mcpServers.bridge` starts this program as a peer, which joins a team and leads none";
    assert!(!is_done && said.contains(why), "{said}");
    same(&before, &everything(&stage));
}

/// A path of this machine would be of no use to the others who have the repository.
#[tokio::test]
async fn a_projects_entry_that_names_no_path_stays_where_that_finds_the_program() {
    let stage = stage_with_bridge(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let path = project.to_str().unwrap();
    let entry = json!({ "command": "cli-team-bridge", "args": ["orchestrator"] });
    let shared = json!({ "mcpServers": { "bridge": entry } }).to_string();
    fs::write(project.join(".mcp.json"), &shared).unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(project.join(".mcp.json")).unwrap(), shared);
    let settings = json(&project.join(".claude/settings.local.json"));
    assert_eq!(settings["enabledMcpjsonServers"], json!(["bridge"]), "{settings}");

    // One that names another copy, or one of the project, names setup's program from now on.
    fs::write(project.join(".mcp.json"), shared.replace("cli-team", "./cli-team")).unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(is_done, "{said}");
    let link = stage.home().join("bin/cli-team-bridge");
    let command = &json(&project.join(".mcp.json"))["mcpServers"]["bridge"]["command"];
    assert_eq!(command, link.to_str().unwrap());
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--project", path]).await;
    assert!(is_done && !project.join(".claude/settings.local.json").exists(), "{said}");
    let now = fs::read_to_string(project.join(".mcp.json")).unwrap();
    assert_eq!(now, shared.replace("cli-team", "./cli-team"));
}
