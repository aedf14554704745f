//! Which of the installed clients start the bridge, by an entry or as a plugin. Only reads their files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::brought_entry::{judge_form, judge_program};
use super::clients::CLIENTS;
use super::config_file::ConfigFile;
use super::edits::config_edit::{FileEdits, JsonEdit, names_bridge, remote_fields_for};
use super::edits::entry_arguments::{JudgeArguments, ServerRole, started_server};
use super::edits::entry_variables::{Expanded, Values, expand};
use super::known_client::{Client, ClientFile, Places, SERVER, Server, SwitchEffect};
use super::local_entry::{self, LocalEntry};
use super::{switches, written_entry};
use crate::sys::process::has_content;

/// An installed client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledClient {
    /// Its name for the command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    pub connection: Connection,
}

/// Whether a client starts the bridge, according to its files. The least that one of them says comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    NotConnected,
    /// It starts the bridge as a peer, which cannot lead.
    Joins,
    /// A file that may have the entry cannot be read, or only the client knows what its entry starts.
    Unknown,
    /// It has an entry for the bridge that cannot start it, must not be believed, or is switched off.
    Broken,
    /// It starts the bridge, and can lead a team.
    Connected,
}

/// The places at which a client that is started now looks for entries.
#[derive(Clone, Copy, Debug)]
pub struct StartedIn<'a> {
    /// The project with its files.
    pub project: Option<&'a Path>,
    /// The directory, links resolved.
    pub directory: Option<&'a Path>,
    /// Says what an entry starts with its arguments, or what is wrong with them.
    pub judge_arguments: JudgeArguments,
}

/// Examines all installed clients, with the files of the user and of a project. `program` finds a program by its name.
pub fn look(
    places: &Places,
    started_in: StartedIn<'_>,
    own: &Path,
    program: impl Fn(&str) -> Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<InstalledClient> {
    let installed = CLIENTS.iter().filter(|client| client.find(places, &program).is_some());
    let value = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    let values = Values { variable: &value, workspace: started_in.project };
    let around = Around { started_in, own, find: &program, values };
    installed
        .map(|client| InstalledClient {
            name: client.name,
            title: client.title,
            connection: connection(client, places, &around),
        })
        .collect()
}

/// What decides whether an entry starts the bridge.
struct Around<'a> {
    started_in: StartedIn<'a>,
    own: &'a Path,
    /// Finds a program by its name.
    find: &'a dyn Fn(&str) -> Option<PathBuf>,
    values: Values<'a>,
}

fn connection(client: &Client, places: &Places, around: &Around<'_>) -> Connection {
    let started_in = around.started_in;
    if client.has_plugin(places) {
        return Connection::Connected;
    }
    let directories = [started_in.directory, started_in.project].into_iter().flatten();
    let directories: Vec<_> = directories.map(Path::to_owned).collect();
    let is_left_out = |local: &LocalEntry| {
        let found =
            switches::left_out(client, places, started_in.project, &directories, around.values);
        found.iter().any(|one| one.is_local && one.file == local.file)
    };
    let found = connection_by_entries(client, places, around, is_left_out);
    let is_off = || {
        let switches =
            switches::find(client, places, started_in.project, &directories, around.values);
        switches.iter().any(|switch| switch.effect == SwitchEffect::Off)
    };
    match found {
        Connection::Connected | Connection::Joins if is_off() => Connection::Broken,
        found => found,
    }
}

/// Returns the connection as the entries have it, whatever may switch them off.
fn connection_by_entries(
    client: &Client,
    places: &Places,
    around: &Around<'_>,
    is_left_out: impl Fn(&LocalEntry) -> bool,
) -> Connection {
    let StartedIn { project, directory, .. } = around.started_in;
    let local = directory.map(|directory| local_entry::find(client, places, directory));
    // It takes precedence over all others. If its file cannot be read, the search below finds that out too.
    if let Some(Ok(Some(local))) = local
        && !is_left_out(&local)
    {
        return by_entry(client, local.entry(), around);
    }
    // Only the places of the entries count here, not their content.
    let server = Server { program: SERVER.to_owned() };
    let of_user = (client.for_user)(places, &server).into_iter().map(|file| (file, None));
    let of_project = project.map(|project| (client.for_project)(project, &server));
    let of_project = of_project.into_iter().flatten().map(|file| (file, project));
    let shared = project.and_then(|project| switches::shared_file(client.name, project, &server));
    let of_project = of_project.chain(shared.map(|file| (file, project)));
    let files = of_user.chain(of_project).filter(|(file, _)| has_entry(file));
    let found = files.map(|(file, project)| by_file(client, &file, project, around));
    found.max().unwrap_or(Connection::NotConnected)
}

/// Says whether setup writes the server's entry into a file, and not only settings beside it.
fn has_entry(file: &ClientFile) -> bool {
    match &file.edits {
        FileEdits::Json(edits) => edits.iter().any(|edit| matches!(edit, JsonEdit::Entry(_))),
        FileEdits::Toml(entries) => !entries.is_empty(),
    }
}

/// Returns the connection by a file.
fn by_file(
    client: &Client,
    file: &ClientFile,
    project: Option<&Path>,
    around: &Around<'_>,
) -> Connection {
    let look = || {
        let text = ConfigFile::look(&file.path, project).ok()?.text.unwrap_or_default();
        let written = written_entry::look(&text, &file.edits).ok()?;
        file.check_readable(&text).ok()?;
        Some(written)
    };
    let Some(written) = look() else { return Connection::Unknown };
    let Some(entry) = &written.entry else { return Connection::NotConnected };
    // A repository's file may name a program of the repository, or bring one in by another field or by an argument.
    let is_believed = project.is_none_or(|project| {
        let command = entry["command"].as_str().unwrap_or_default();
        let command = expand(command, client.variables, around.values).text;
        let expected = written.expected.as_ref();
        expected.is_none_or(|expected| judge_form(entry, expected).is_ok())
            && judge_program(&command, project, around.own).is_ok()
    });
    match by_entry(client, entry, around) {
        Connection::Connected | Connection::Joins if !is_believed => Connection::Broken,
        found => found,
    }
}

/// Returns the connection by an entry.
fn by_entry(client: &Client, entry: &Value, around: &Around<'_>) -> Connection {
    let command = entry["command"].as_str().unwrap_or_default();
    let Expanded { text: command, left } = expand(command, client.variables, around.values);
    let mut entry = entry.clone();
    entry["command"] = command.as_str().into();
    let is_found = (around.find)(&command).is_some_and(|path| has_content(&path));
    if !is_found && left.is_some_and(|left| !left.is_as_written()) {
        return Connection::Unknown;
    } else if !names_bridge(&entry) {
        return Connection::NotConnected;
    }
    let is_directory = |named: &Path| match around.started_in.directory {
        Some(here) => here.join(named).is_dir(),
        None => named.is_dir(),
    };
    match started_server(&entry, around.started_in.judge_arguments) {
        Ok(server)
            if remote_fields_for(client.name, &entry).is_empty()
                && is_found
                && server.missing_project(is_directory).is_none() =>
        {
            match server.role {
                ServerRole::Orchestrator => Connection::Connected,
                ServerRole::Peer => Connection::Joins,
            }
        }
        _ => Connection::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::edits::entry_arguments::StartedServer;

    /// Takes no arguments, too.
    fn judge(arguments: &[String]) -> Result<StartedServer, String> {
        let role = match arguments.first().map(String::as_str) {
            None | Some("orchestrator") => ServerRole::Orchestrator,
            Some("peer") => ServerRole::Peer,
            Some(_) => return Err("wrong".to_owned()),
        };
        let named = arguments.iter().position(|argument| argument == "--project");
        let project = named.and_then(|at| arguments.get(at + 1)).map(PathBuf::from);
        Ok(StartedServer { role, project })
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
        let variable = |name: &str| (name == "BIN").then(|| "/x".into());
        let look = || {
            let here = StartedIn {
                project: Some(project.path()),
                directory: None,
                judge_arguments: judge,
            };
            let all = look(&places, here, Path::new("/own"), has, variable);
            all.into_iter().map(|client| (client.title, client.connection)).collect::<Vec<_>>()
        };
        let entry = r#"{ "mcpServers": { "bridge": { "command": "/x/cli-team-bridge", "args": ["orchestrator"] } } }"#;

        let (absent, present) = (Connection::NotConnected, Connection::Connected);
        let broken = Connection::Broken;
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        fs::write(project.path().join(".mcp.json"), entry).unwrap();
        assert_eq!(look(), [("Claude Code", present), ("Codex", absent)]);
        fs::write(project.path().join(".mcp.json"), entry.replace("cli-team-bridge", "x")).unwrap();
        assert_eq!(look(), [("Claude Code", absent), ("Codex", absent)]);
        let arguments = r#""orchestrator", "--config", ".evil.toml""#;
        let widened = entry.replace(r#""orchestrator""#, arguments);
        fs::write(project.path().join(".mcp.json"), widened).unwrap();
        assert_eq!(look(), [("Claude Code", broken), ("Codex", absent)]);
        fs::remove_file(project.path().join(".mcp.json")).unwrap();
        let here = project.path().to_str().unwrap();
        for (one, other, expected) in [
            ("/x/", "/gone/", broken),
            (r#""orchestrator""#, r#""orchestrate""#, broken),
            (r#""orchestrator""#, r#""orchestrator", "--project", "/gone""#, broken),
            (r#""orchestrator""#, &format!(r#""orchestrator", "--project", "{here}""#), present),
            (r#""orchestrator""#, r#""peer""#, Connection::Joins),
            (r#""args""#, r#""url": "https://x", "args""#, broken),
            ("/x/", "${BIN}/", present),
            ("/x/", "$BIN/", broken),
            ("/x/", "${NONE}/", Connection::Unknown),
        ] {
            fs::write(home.path().join(".claude.json"), entry.replace(one, other)).unwrap();
            assert_eq!(look(), [("Claude Code", expected), ("Codex", absent)], "{other}");
        }
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
            look(&places, here, own, |name| has.contains(&name).then(|| "/bin/x".into()), |_| None)
                [0]
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
