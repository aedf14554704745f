//! What `doctor` says of entries, client by client, as the real programs take them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::doctor_report::{check, examined, stage};

const NOT_EXPANDED: &str = "does not expand `";

/// What stands before the name of the program in a command, the level of the finding, and what is said.
type Form = (&'static str, &'static str, &'static str);

/// Each client with its file, and forms in its command.
const FORMS: [(&str, &str, [Form; 4]); 8] = [
    (
        "claude-code",
        ".claude.json",
        [
            ("${BIN}", "ok", ""),
            ("${NONE:-/gone}", "problem", "does not exist"),
            ("$BIN", "problem", NOT_EXPANDED),
            ("${NONE}", "unknown", "`${NONE}` is not set here"),
        ],
    ),
    (
        "gemini",
        ".gemini/settings.json",
        [
            ("$BIN", "ok", ""),
            ("${NONE:-/gone}", "problem", "does not exist"),
            ("${BIN:-/gone}", "ok", ""),
            ("~", "problem", NOT_EXPANDED),
        ],
    ),
    (
        "qwen",
        ".qwen/settings.json",
        [
            ("$BIN", "ok", ""),
            ("${BIN}", "ok", ""),
            ("${BIN:-/gone}", "problem", NOT_EXPANDED),
            ("$NONE", "unknown", "is not set here"),
        ],
    ),
    (
        "codex",
        ".codex/config.toml",
        [
            ("$BIN", "problem", NOT_EXPANDED),
            ("${BIN}", "problem", NOT_EXPANDED),
            ("${BIN:-/gone}", "problem", NOT_EXPANDED),
            ("~", "problem", NOT_EXPANDED),
        ],
    ),
    (
        "droid",
        ".factory/mcp.json",
        [
            ("$BIN", "problem", NOT_EXPANDED),
            ("${BIN}", "problem", NOT_EXPANDED),
            ("${env:BIN}", "problem", NOT_EXPANDED),
            ("~", "problem", NOT_EXPANDED),
        ],
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        [
            ("${env:BIN}", "ok", ""),
            ("$BIN", "unknown", "only Cursor knows"),
            ("${userHome}", "problem", "does not exist"),
            ("${input:a}", "unknown", "only Cursor knows what `${input:a}`"),
        ],
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        [
            ("${env:BIN}", "ok", ""),
            ("${env:NONE}", "unknown", "is not set here"),
            ("${workspaceFolder}", "problem", "does not exist"),
            ("~", "unknown", "only VS Code knows"),
        ],
    ),
    (
        "zed",
        ".config/zed/settings.json",
        [
            ("$BIN", "unknown", "only Zed knows"),
            ("${BIN}", "unknown", "only Zed knows"),
            ("~", "unknown", "only Zed knows"),
            ("/gone", "problem", "does not exist"),
        ],
    ),
];

/// The binary stands in a directory that `BIN` names; each client is given the forms that it was seen to expand, and not to.
#[tokio::test]
async fn a_command_with_variables_is_judged_as_its_client_expands_it() {
    let own = Path::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    let stage = stage().with_variable("BIN", own.parent().unwrap().to_str().unwrap());
    let (program, home) = ("cli-team-bridge", stage.home().to_owned());
    let json = |servers: &str, command: &str| {
        let mut all = json!({});
        all[servers] = json!({ "bridge": { "command": command, "args": ["orchestrator"] } });
        all.to_string()
    };
    let toml = |command: &str| {
        format!("[mcp_servers.bridge]\ncommand = '{command}'\nargs = ['orchestrator']\n")
    };
    for (client, file, forms) in FORMS {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        for (form, level, says) in forms {
            let command = format!("{form}/{program}");
            let text = match client {
                "codex" => toml(&command),
                "vscode" => json("servers", &command),
                "zed" => json("context_servers", &command),
                _ => json("mcpServers", &command),
            };
            fs::write(&path, text).unwrap();
            let (_, report) = examined(&stage, &["--no-start"]).await;
            check(&report, (client, "entry"), level, says, "");
        }
    }
}

/// The clients with their files in the home directory and in a project.
const FILES: [(&str, &str, &str); 4] = [
    ("claude-code", ".claude.json", ".mcp.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
    ("droid", ".factory/mcp.json", ".factory/mcp.json"),
];

fn entry(command: &str) -> String {
    let entry = json!({ "command": command, "args": ["orchestrator"] });
    json!({ "mcpServers": { "bridge": entry } }).to_string()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Each of them was seen to follow such a link.
#[tokio::test]
async fn an_entry_behind_a_link_in_a_project_is_judged_and_setup_does_not_mend_it() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    for (client, of_user, of_project) in FILES {
        let (target, link) = (stage.home().join("elsewhere"), stage.project().join(of_project));
        let name = link.file_name().unwrap();
        // Claude Code's file is itself a link, of the others the directory is one.
        let target = if client == "claude-code" {
            symlink(target.join(name), &link).unwrap();
            target.join(name)
        } else {
            symlink(&target, link.parent().unwrap()).unwrap();
            fs::create_dir_all(stage.home().join(of_user).parent().unwrap()).unwrap();
            target.join(name)
        };
        write(&target, &entry(own));
        let (_, report) = examined(&stage, &["--no-start"]).await;
        check(&report, (client, "entry"), "ok", own, "");
        write(&target, &entry("/gone/cli-team-bridge"));
        let (_, report) = examined(&stage, &["--no-start"]).await;
        let remedy = "put a real file and real directories in place of the links in ";
        check(&report, (client, "entry"), "problem", "which does not exist", remedy);
    }
}

/// Gemini CLI does not start then; the others were seen to start the bridge from the user's file.
#[tokio::test]
async fn a_projects_file_that_does_not_parse_is_a_note_where_its_client_goes_on() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    for (client, of_user, of_project) in FILES {
        write(&stage.home().join(of_user), &entry(own));
        write(&stage.project().join(of_project), "{");
        let (_, report) = examined(&stage, &["--no-start"]).await;
        check(&report, (client, "entry"), "ok", own, "");
        let (level, says) = match client {
            "gemini" => ("problem", "cannot use "),
            _ => ("note", "uses nothing of "),
        };
        check(&report, (client, "file"), level, says, "correct ");
    }
}

/// Whether each client starts the bridge with such a field, as Claude Code 2.1.329, Codex 0.166, Gemini CLI 0.61, Qwen Code 0.24 and Droid 0.215
/// were seen to do it. With a limit that ends each call at once, it is of no use.
#[tokio::test]
async fn a_field_of_an_entry_keeps_the_bridge_off_in_the_clients_that_it_does_in() {
    let stage = stage();
    fs::create_dir_all(stage.home().join(".claude")).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let (yes, no) = (true, false);
    // There is no `null` in TOML.
    for (field, value, expected) in [
        ("x", json!(1), [yes, yes, yes, yes, yes]),
        ("type", json!("stdio"), [yes, yes, yes, yes, yes]),
        ("type", json!("local"), [no, yes, yes, yes, yes]),
        ("type", json!("http"), [no, yes, yes, yes, no]),
        ("type", json!("sse"), [no, yes, yes, yes, no]),
        ("type", json!(5), [no, yes, yes, yes, yes]),
        ("transport", json!("stdio"), [yes, yes, yes, yes, yes]),
        ("transport", json!("http"), [yes, yes, yes, yes, yes]),
        ("timeout", json!("150000"), [no, yes, yes, yes, yes]),
        ("timeout", json!("x"), [no, yes, no, no, yes]),
        ("timeout", json!(0), [no, yes, no, no, yes]),
        ("timeout", json!(-5), [no, yes, no, no, yes]),
        ("timeout", json!(1500.5), [no, yes, yes, yes, yes]),
        ("timeout", json!(2_147_483_648_u32), [yes, yes, no, no, yes]),
        ("tool_timeout_sec", json!("150"), [yes, no, yes, yes, yes]),
        ("tool_timeout_sec", json!(150.5), [yes, yes, yes, yes, yes]),
        ("cwd", json!("/nonexistent"), [yes, no, no, no, yes]),
        ("env", json!({ "A": 1 }), [no, no, no, yes, no]),
        ("disabled", json!(true), [yes, yes, yes, yes, no]),
        ("disabled", json!("false"), [yes, yes, yes, yes, no]),
        ("disabled", json!(0), [yes, yes, yes, yes, yes]),
        ("enabled", json!(false), [yes, no, yes, yes, yes]),
        ("args", json!("orchestrator"), [no, no, no, no, no]),
        ("args", json!(["orchestrator", 5]), [no, no, no, no, no]),
        ("excludeTools", json!("list_agents"), [yes, yes, yes, yes, yes]),
    ] {
        let mut entry = json!({ "command": own, "args": ["orchestrator"] });
        entry[field] = value.clone();
        let fields = entry.as_object().unwrap().iter().map(|(key, value)| match value {
            serde_json::Value::Object(_) => format!("{key} = {{ A = 1 }}\n"),
            value => format!("{key} = {value}\n"),
        });
        let toml = format!("[mcp_servers.bridge]\n{}", fields.collect::<String>());
        write(&stage.home().join(".codex/config.toml"), &toml);
        let all = json!({ "mcpServers": { "bridge": entry } }).to_string();
        for (_, of_user, _) in FILES {
            write(&stage.home().join(of_user), &all);
        }
        let (_, report) = examined(&stage, &["--no-start"]).await;
        let is_started = ["claude-code", "codex", "gemini", "qwen", "droid"].map(|client| {
            let findings = report["findings"].as_array().unwrap().iter();
            let mut findings = findings.filter(|one| one["name"] == client);
            let is_ok = findings.clone().any(|one| one["check"] == "entry" && one["level"] == "ok");
            is_ok && findings.all(|one| one["level"] != "problem")
        });
        assert_eq!(is_started, expected, "{field}: {value}: {report:#}");
    }
}

/// As `qwen mcp list` shows it: Qwen Code takes what Claude Code has in a project.
#[tokio::test]
async fn qwen_code_has_the_bridge_from_the_file_that_it_shares_with_others() {
    let stage = stage();
    fs::create_dir_all(stage.home().join(".qwen")).unwrap();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let shared = stage.project().join(".mcp.json");
    write(&shared, &entry(own));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("qwen", "entry"), "ok", ".mcp.json starts `", "");
    check(&report, ("qwen", "switched off"), "note", "asks you before", "qwen mcp approve");
    fs::remove_file(&shared).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("qwen", "entry"), "note", "does not know the bridge", "setup --client qwen");
}
