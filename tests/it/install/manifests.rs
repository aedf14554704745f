//! The plugin's manifests, the skill and the release workflow: they name this version, and existing programs and tools.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn plugin() -> PathBuf {
    root().join("packaging/plugin")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_manifest_has_this_name_and_version() {
    for file in [".claude-plugin/plugin.json", "plugin.json", "gemini-extension.json"] {
        let manifest = json(&plugin().join(file));
        assert_eq!(manifest["name"], env!("CARGO_PKG_NAME"), "{file}");
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{file}");
    }
    let marketplace = json(&root().join(".claude-plugin/marketplace.json"));
    let listed = &marketplace["plugins"][0];
    assert_eq!(listed["name"], env!("CARGO_PKG_NAME"));
    assert_eq!(root().join(listed["source"].as_str().unwrap()).canonicalize().unwrap(), plugin());
}

#[test]
fn the_readme_and_cargo_name_one_repository() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("git clone {}\n", env!("CARGO_PKG_REPOSITORY"))));
}

/// Collects the arguments after the plugin's start script, from all commands of a manifest.
fn arguments(manifest: &Value, found: &mut Vec<Vec<String>>) {
    match manifest {
        Value::Object(fields) => {
            let words = |value: &Value| -> Vec<String> {
                value.as_str().unwrap().split(' ').map(str::to_owned).collect()
            };
            if let Some(command) = fields.get("command").filter(|command| command.is_string()) {
                let mut all = words(command);
                let more = fields.get("args").and_then(Value::as_array);
                all.extend(more.into_iter().flatten().flat_map(words));
                let start = all.iter().position(|word| word.trim_matches('"').ends_with("/start"));
                found.push(all.split_off(start.expect("the plugin's own script is run") + 1));
            }
            fields.values().for_each(|value| arguments(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| arguments(item, found)),
        _ => {}
    }
}

/// Runs the plugin's start script in a home directory.
fn start(home: &Path, arguments: &[String]) -> Output {
    let mut start = Command::new("sh");
    start.arg(plugin().join("start")).args(arguments);
    start.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home).stdin(Stdio::null());
    start.output().unwrap()
}

#[test]
fn every_command_of_the_plugin_is_one_of_the_program() {
    let home = tempfile::tempdir().unwrap();
    let installed = home.path().join(".local/bin");
    std::fs::create_dir_all(&installed).unwrap();
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    std::os::unix::fs::symlink(program, installed.join("cli-team-bridge")).unwrap();
    let mut found = Vec::new();
    for file in [".claude-plugin/plugin.json", "mcp.json", "gemini-extension.json"] {
        arguments(&json(&plugin().join(file)), &mut found);
    }
    assert_eq!(found.len(), 7, "three servers, three hooks, one monitor: {found:?}");
    for mut words in found {
        words.push("--help".into());
        let output = start(home.path(), &words);
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{words:?}: {output:?}");
        assert!(help.contains(&format!("Usage: cli-team-bridge {}", words[0])), "{help}");
    }
}

#[test]
fn without_the_program_the_server_says_how_to_install_it_and_hooks_are_silent() {
    let home = tempfile::tempdir().unwrap();
    let output = start(home.path(), &["orchestrator".into()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("npm install -g cli-team-bridge"));
    for silent in ["hook", "watch"] {
        let output = start(home.path(), &[silent.into()]);
        assert!(output.status.success() && output.stderr.is_empty(), "{silent}: {output:?}");
    }
}

#[test]
fn the_skill_names_existing_tools() {
    let skill = plugin().join("skills/lead-a-team/SKILL.md");
    let text = std::fs::read_to_string(&skill).unwrap();
    assert!(text.starts_with("---\nname: lead-a-team\ndescription: "), "{text}");
    let mut files = Vec::new();
    for room in std::fs::read_dir(root().join("src/mcp/tools")).unwrap() {
        let room = room.unwrap().path();
        if room.is_dir() {
            files.extend(std::fs::read_dir(room).unwrap().map(|file| file.unwrap().file_name()));
        }
    }
    let is_tool = |name: &str| files.iter().any(|file| *file == *format!("{name}.rs"));
    let quoted = text.split('`').skip(1).step_by(2);
    let tools: Vec<_> = quoted.filter(|word| word.contains('_') && *word != "reply_to").collect();
    assert!(tools.contains(&"assign_task"), "{tools:?}");
    for tool in tools {
        assert!(is_tool(tool), "{tool}");
    }
}

#[test]
fn the_release_runs_only_pinned_actions() {
    let workflow = root().join(".github/workflows/release.yml");
    let text = std::fs::read_to_string(workflow).unwrap();
    let actions: Vec<_> = text.lines().filter_map(|line| line.split_once("uses: ")).collect();
    assert!(actions.len() > 3, "{actions:?}");
    for (_, action) in actions {
        let (_, pin) = action.split_once('@').unwrap();
        let (commit, version) = pin.split_once(" # v").expect(action);
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_commit && !version.is_empty(), "{action}");
    }
}
