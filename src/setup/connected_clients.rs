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
use super::known_client::{Client, ClientFile, EntryScope, Places, SERVER, Server, SwitchEffect};
use super::local_entry;
use super::switches::{self, EntryLeftOut, PlaceRead};
use super::written_entry;
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
    /// It starts no servers in the directory, because it does not trust that one. The entry itself is all right.
    Untrusted,
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
    let left_out =
        switches::left_out(client, places, started_in.project, &directories, around.values);
    let found = connection_by_entries(client, places, around, &left_out);
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
    left_out: &[EntryLeftOut],
) -> Connection {
    let is_left_out = |file: &Path, scope: EntryScope| {
        let is_local = scope == EntryScope::Local;
        left_out.iter().any(|one| one.file == file && one.is_local == is_local)
    };
    let StartedIn { project, directory, .. } = around.started_in;
    let local = directory.map(|directory| local_entry::find(client, places, directory));
    // It takes precedence over all others. If its file cannot be read, the search below finds that out too.
    if let Some(Ok(Some(local))) = local
        && !is_left_out(&local.file, EntryScope::Local)
    {
        return by_entry(client, local.entry(), around);
    }
    // Only the places of the entries count here, not their content.
    let server = Server { program: SERVER.to_owned() };
    let of_user = (client.for_user)(places, &server).into_iter().filter(has_entry);
    let found = of_user.map(|file| by_file(client, &file, None, around).connection).max();
    let mut found = found.unwrap_or(Connection::NotConnected);
    let read = project.map(|project| {
        switches::places_read_in(client.name, project, directory.unwrap_or(project))
    });
    let mut is_taken = false;
    for PlaceRead { directory, root } in read.into_iter().flatten() {
        let shared = switches::shared_file(client.name, &directory, &server);
        let files = (client.for_project)(&directory, &server).into_iter().chain(shared);
        let used =
            |file: &ClientFile| has_entry(file) && !is_left_out(&file.path, EntryScope::Project);
        for file in files.filter(used) {
            let ByFile { connection, is_taken: takes } =
                by_file(client, &file, Some(&root), around);
            found = found.max(connection);
            is_taken |= takes;
        }
    }
    match found {
        Connection::Connected | Connection::Joins if is_taken => Connection::Broken,
        found => found,
    }
}

/// Says whether setup writes the server's entry into a file, and not only settings beside it.
fn has_entry(file: &ClientFile) -> bool {
    match &file.edits {
        FileEdits::Json(edits) => edits.iter().any(|edit| matches!(edit, JsonEdit::Entry(_))),
        FileEdits::Toml(entries) => !entries.is_empty(),
    }
}

/// What a file says.
struct ByFile {
    connection: Connection,
    /// Whether a project's entry that must not be believed stands where the client looks before the user's own file.
    is_taken: bool,
}

/// Returns the connection by a file.
fn by_file(
    client: &Client,
    file: &ClientFile,
    project: Option<&Path>,
    around: &Around<'_>,
) -> ByFile {
    let alone = |connection| ByFile { connection, is_taken: false };
    let look = || {
        let text = ConfigFile::look(&file.path, project).ok()?.text.unwrap_or_default();
        let written = written_entry::look(&text, &file.edits).ok()?;
        file.check_readable(&text).ok()?;
        Some(written)
    };
    let Some(written) = look() else { return alone(Connection::Unknown) };
    let Some(entry) = &written.entry else { return alone(Connection::NotConnected) };
    // A repository's file may name a program of the repository, or bring one in by another field or by an argument.
    let is_believed = project.is_none_or(|project| {
        let command = entry["command"].as_str().unwrap_or_default();
        let command = expand(command, client.variables, around.values).text;
        let expected = written.expected.as_ref();
        expected.is_none_or(|expected| judge_form(entry, expected).is_ok())
            && judge_program(&command, project, around.own).is_ok()
    });
    match by_entry(client, entry, around) {
        Connection::Connected | Connection::Joins if !is_believed => {
            ByFile { connection: Connection::Broken, is_taken: true }
        }
        // One without a program only changes the user's, or starts nothing.
        Connection::NotConnected => ByFile {
            connection: Connection::NotConnected,
            is_taken: project.is_some() && entry["command"].is_string(),
        },
        found => alone(found),
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
        fs::write(project.path().join(".mcp.json"), entry.replace("/x/cli-team-bridge", "./evil"))
            .unwrap();
        assert_eq!(look()[0], ("Claude Code", broken), "that of the project counts first");
        fs::remove_file(project.path().join(".mcp.json")).unwrap();
        fs::create_dir(home.path().join(".codex")).unwrap();
        fs::write(home.path().join(".codex/config.toml"), "[").unwrap();
        assert_eq!(look(), [("Claude Code", present), ("Codex", Connection::Unknown)]);
    }

    /// Creates a repository `main` with a worktree `topic` beside it, and what is in no repository.
    fn with_worktree() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let base = guard.path().canonicalize().unwrap();
        for folder in ["main/.git/worktrees/topic", "main/sub", "topic/sub", "other/sub"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("main/.git/HEAD"), "").unwrap();
        let own = base.join("main/.git/worktrees/topic");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", base.join("topic/.git").display())).unwrap();
        fs::write(base.join("topic/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        (guard, base)
    }

    #[test]
    fn in_a_linked_worktree_the_entries_of_that_worktree_count() {
        let (_guard, base) = with_worktree();
        fs::create_dir(base.join("home")).unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| base.join("home").into()), false);
        let places = places.unwrap();
        let connections = |directory: &str| {
            let (project, directory) = (base.join("main"), base.join(directory));
            let here = StartedIn {
                project: Some(&project),
                directory: Some(&directory),
                judge_arguments: judge,
            };
            let has = ["droid", "gemini", "/x/cli-team-bridge"];
            let find = |name: &str| has.contains(&name).then(|| "/bin/x".into());
            let all = look(&places, here, Path::new("/own"), find, |_| None);
            let found = ["droid", "gemini"].map(|name| all.iter().find(|one| one.name == name));
            found.map(|one| one.unwrap().connection)
        };
        let write = |place: &str, command: &str| {
            let entry = serde_json::json!({ "command": command, "args": ["orchestrator"] });
            for file in [".factory/mcp.json", ".gemini/settings.json"] {
                let path = base.join(place).join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let all = serde_json::json!({ "mcpServers": { "bridge": entry.clone() } });
                fs::write(path, all.to_string()).unwrap();
            }
        };
        let (absent, present) = (Connection::NotConnected, Connection::Connected);
        write("topic", "/x/cli-team-bridge");
        assert_eq!(connections("topic"), [present, present]);
        assert_eq!(connections("topic/sub"), [present, absent], "Gemini CLI reads none above");
        assert_eq!(connections("main"), [absent, absent]);
        write("home", "/x/cli-team-bridge");
        write("topic", "./evil");
        assert_eq!(connections("topic"), [Connection::Broken; 2]);
        assert_eq!(connections("main"), [present, present]);
    }

    #[test]
    fn an_entry_for_one_project_takes_precedence_there_in_all_worktrees() {
        let (_guard, base) = with_worktree();
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
