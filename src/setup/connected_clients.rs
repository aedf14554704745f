//! Which of the installed clients start the bridge, by an entry or as a plugin. Only reads their files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::brought_entry::{judge_form, judge_program};
use super::clients::CLIENTS;
use super::config_file::ConfigFile;
use super::edits::config_edit::{FileEdits, JsonEdit, runs_bridge};
use super::edits::entry_arguments::{JudgeArguments, wrong_arguments};
use super::known_client::{Client, ClientFile, Places, SERVER, Server};
use super::{local_entry, written_entry};

/// An installed client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledClient {
    /// Its name for people.
    pub title: &'static str,
    pub connection: Connection,
}

/// Whether a client starts the bridge, according to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    Connected,
    NotConnected,
    /// A file that may have the entry cannot be read.
    Unknown,
}

/// The places at which a client that is started now looks for entries.
#[derive(Clone, Copy, Debug)]
pub struct StartedIn<'a> {
    /// The project with its files.
    pub project: Option<&'a Path>,
    /// The directory, links resolved.
    pub directory: Option<&'a Path>,
    /// Says what is wrong with the arguments with which an entry starts the bridge.
    pub judge_arguments: JudgeArguments,
}

/// Examines all installed clients, with the files of the user and of a project. `program` finds a program by its name.
pub fn look(
    places: &Places,
    started_in: StartedIn<'_>,
    own: &Path,
    program: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<InstalledClient> {
    let installed = CLIENTS.iter().filter(|client| client.find(places, &program).is_some());
    installed
        .map(|client| InstalledClient {
            title: client.title,
            connection: connection(client, places, started_in, (own, &program)),
        })
        .collect()
}

fn connection(
    client: &Client,
    places: &Places,
    started_in: StartedIn<'_>,
    (own, program): (&Path, &impl Fn(&str) -> Option<PathBuf>),
) -> Connection {
    if client.has_plugin(places) {
        return Connection::Connected;
    }
    let StartedIn { project, directory, judge_arguments } = started_in;
    let local = directory.map(|directory| local_entry::find(client, places, directory));
    // It takes precedence over all others. If its file cannot be read, the search below finds that out too.
    if let Some(Ok(Some(local))) = local {
        let starts = local.runs_bridge()
            && local.wrong_arguments(judge_arguments).is_none()
            && program(local.command()).is_some();
        return if starts { Connection::Connected } else { Connection::NotConnected };
    }
    // Only the places of the entries count here, not their content.
    let server = Server { program: SERVER.to_owned() };
    let of_user = (client.for_user)(places, &server).into_iter().map(|file| (file, None));
    let of_project = project.map(|project| (client.for_project)(project, &server));
    let of_project = of_project.into_iter().flatten().map(|file| (file, project));
    let files = of_user.chain(of_project).filter(|(file, _)| has_entry(file));
    let found: Vec<_> = files
        .map(|(file, project)| starts_bridge(&file, project, (own, program), judge_arguments))
        .collect();
    if found.contains(&Some(true)) {
        Connection::Connected
    } else if found.contains(&None) {
        Connection::Unknown
    } else {
        Connection::NotConnected
    }
}

/// Says whether setup writes the server's entry into a file, and not only settings beside it.
fn has_entry(file: &ClientFile) -> bool {
    match &file.edits {
        FileEdits::Json(edits) => edits.iter().any(|edit| matches!(edit, JsonEdit::Entry(_))),
        FileEdits::Toml(entries) => !entries.is_empty(),
    }
}

/// Says whether an entry of a file starts the bridge; `None` if the file cannot be read.
fn starts_bridge(
    file: &ClientFile,
    project: Option<&Path>,
    (own, program): (&Path, &impl Fn(&str) -> Option<PathBuf>),
    judge_arguments: JudgeArguments,
) -> Option<bool> {
    let text = ConfigFile::read(&file.path, project).ok()?.text.unwrap_or_default();
    let written = written_entry::look(&text, &file.edits).ok()?;
    file.check_readable(&text).ok()?;
    // A repository's file may name a program of the repository, or bring one in by another field or by an argument.
    let is_believed = |entry: &&Value| {
        let command = entry["command"].as_str().unwrap_or_default();
        project.is_none_or(|project| {
            let expected = written.expected.as_ref();
            expected.is_none_or(|expected| judge_form(entry, expected).is_ok())
                && judge_program(command, project, own).is_ok()
        })
    };
    let starts = |entry: &Value| {
        runs_bridge(entry)
            && wrong_arguments(entry, judge_arguments).is_none()
            && program(entry["command"].as_str().unwrap_or_default()).is_some()
    };
    Some(written.entry.as_ref().filter(is_believed).is_some_and(starts))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Takes no arguments, too.
    fn judge(arguments: &[String]) -> Result<(), String> {
        let is_right = arguments.first().is_none_or(|first| first == "orchestrator");
        if is_right { Ok(()) } else { Err("wrong".to_owned()) }
    }

    #[test]
    fn a_client_is_connected_by_an_entry_of_the_user_or_of_the_project() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| home.path().into()), false);
        let places = places.unwrap();
        let has = |name: &str| {
            ["claude", "codex", "/x/cli-team-bridge"]
                .contains(&name)
                .then(|| PathBuf::from("/bin/x"))
        };
        let look = || {
            let here = StartedIn {
                project: Some(project.path()),
                directory: None,
                judge_arguments: judge,
            };
            let all = look(&places, here, Path::new("/own"), has);
            all.into_iter().map(|client| (client.title, client.connection)).collect::<Vec<_>>()
        };
        let entry = r#"{ "mcpServers": { "bridge": { "command": "/x/cli-team-bridge", "args": ["orchestrator"] } } }"#;

        let (absent, present) = (Connection::NotConnected, Connection::Connected);
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        fs::write(project.path().join(".mcp.json"), entry).unwrap();
        assert_eq!(look(), [("Claude Code", present), ("Codex", absent)]);
        fs::write(project.path().join(".mcp.json"), entry.replace("cli-team-bridge", "x")).unwrap();
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        let arguments = r#""orchestrator", "--config", ".evil.toml""#;
        let widened = entry.replace(r#""orchestrator""#, arguments);
        fs::write(project.path().join(".mcp.json"), widened).unwrap();
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        let gone = entry.replace("/x/", "/gone/");
        fs::write(home.path().join(".claude.json"), gone).unwrap();
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        let wrong = entry.replace("orchestrator", "orchestrate");
        fs::write(home.path().join(".claude.json"), wrong).unwrap();
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        fs::write(home.path().join(".claude.json"), entry).unwrap();
        fs::create_dir(home.path().join(".codex")).unwrap();
        fs::write(home.path().join(".codex/config.toml"), "[").unwrap();
        assert_eq!(look(), [("Claude Code", present), ("Codex", Connection::Unknown)]);
    }

    #[test]
    fn an_entry_for_one_project_takes_precedence_there_in_all_worktrees() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for folder in ["main/.git/worktrees/topic", "main/sub", "topic", "other/sub"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("main/.git/HEAD"), "").unwrap();
        let own = base.join("main/.git/worktrees/topic");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", base.join("topic/.git").display())).unwrap();
        fs::write(base.join("topic/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| base.clone().into()), false);
        let places = places.unwrap();
        let connection = |directory: &str| {
            let directory = base.join(directory);
            let here =
                StartedIn { project: None, directory: Some(&directory), judge_arguments: judge };
            let own = Path::new("/own");
            let has = ["claude", "/x/cli-team-bridge"];
            look(&places, here, own, |name| has.contains(&name).then(|| "/bin/x".into()))[0]
                .connection
        };
        let write = |key: &str, of_project: &str, of_user: &str| {
            let servers = |program: &str| serde_json::json!({ "bridge": { "command": program } });
            let mut all = serde_json::json!({ "mcpServers": servers(of_user), "projects": {} });
            all["projects"][base.join(key).to_str().unwrap()] =
                serde_json::json!({ "mcpServers": servers(of_project) });
            fs::write(base.join(".claude.json"), all.to_string()).unwrap();
        };

        let (absent, present) = (Connection::NotConnected, Connection::Connected);
        write("main", "/x/cli-team-bridge", "x");
        let seen = ["main", "main/sub", "topic", "other"].map(connection);
        assert_eq!(seen, [present, present, present, absent]);
        write("other", "x", "/x/cli-team-bridge");
        assert_eq!(["other", "other/sub", "main"].map(connection), [absent, present, present]);
    }
}
