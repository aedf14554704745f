//! Examines the installed clients that can lead a team: whether each starts this program, from which of its files, and with which
//! settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::judge_client::{self, ExaminedClient, ExaminedFile, Programs, Scope, Unreadable};
use super::judge_switches;
use crate::config::Config;
use crate::doctor::finding::{Finding, Level, Subject};
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::brought_entry::judge_program;
use crate::setup::clients::CLIENTS;
use crate::setup::config_file::{ConfigFile, ConfigFileError, too_much};
use crate::setup::edits::config_edit::{EditError, names_bridge};
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::setup::edits::entry_variables::{self, Values};
use crate::setup::installed_agents::lost_logins;
use crate::setup::known_client::{Client, ClientFile, FolderTrust, Places, Server};
use crate::setup::stable_program::{StablePath, called_path};
use crate::setup::switches::{self, PlaceRead};
use crate::setup::written_entry;
use crate::sys::process::{find_program, has_content};

/// Where a client may be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartedIn<'a> {
    /// The project with its files, if there is one.
    pub(crate) project: Option<&'a Path>,
    /// The directories, links resolved.
    pub(crate) directories: &'a [PathBuf],
}

impl StartedIn<'_> {
    /// Returns the places of the project's files that a client reads in one of these directories, that of the project first.
    fn places_read(&self, client: &Client, project: &Path) -> Vec<PlaceRead> {
        switches::places_read(client.name, project, self.directories)
    }

    /// Says whether there is a directory, from one of these.
    fn has_directory(&self, named: &Path) -> bool {
        let mut places = self.directories.iter();
        named.is_dir() && named.is_absolute() || places.any(|place| place.join(named).is_dir())
    }
}

/// Returns what keeps installed clients from starting the bridge here, each with its remedy: problems of entries, and directories that a
/// client does not trust. Blocks while it reads their files.
pub(crate) fn hindrances(
    environment: &[(OsString, OsString)],
    own_binary: &Path,
    judge_arguments: JudgeArguments,
    started_in: StartedIn<'_>,
) -> Vec<Finding> {
    let mut findings =
        examine(environment, own_binary, judge_arguments, started_in, Known::default());
    findings.retain(|one| match one.check {
        "entry" | judge_switches::CHECK => one.level == Level::Problem,
        "trust" => [Level::Note, Level::Problem].contains(&one.level),
        _ => false,
    });
    findings
}

/// What is known beside the files of the clients.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// The configuration, if it is to be judged whether its agents have their logins below the clients, too.
    pub(crate) config: Option<&'a Config>,
    /// The files of settings of which a client says itself that it uses nothing.
    pub(crate) unused: &'a [PathBuf],
}

/// Examines all installed clients. Blocks while it reads their files.
pub(crate) fn examine(
    environment: &[(OsString, OsString)],
    own_binary: &Path,
    judge_arguments: JudgeArguments,
    started_in: StartedIn<'_>,
    known: Known<'_>,
) -> Vec<Finding> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(places) = Places::read(variable, cfg!(target_os = "macos")) else {
        return Vec::new();
    };
    let places = places.without(known.unused);
    let search = variable("PATH");
    let find = |program: &str| find_program(Path::new(program), search.as_deref());
    let value = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    let mut findings = Vec::new();
    for client in &CLIENTS {
        if client.find(&places, find).is_none() {
            continue;
        }
        let read_files = |program: &str| {
            let server = Server { program: program.to_owned() };
            let mut files =
                read_all(client.name, (client.for_user)(&places, &server), &Scope::User, None);
            files.extend(read_local(client, &places, started_in.directories, &server));
            if let Some(project) = started_in.project {
                for PlaceRead { directory, root } in started_in.places_read(client, project) {
                    let of_project = (client.for_project)(&directory, &server);
                    files.extend(read_all(client.name, of_project, &Scope::Project, Some(&root)));
                }
                files.extend(read_shared(client, started_in, project, &server, &files));
            }
            files
        };
        let values = Values { variable: &value, workspace: started_in.project };
        let expand = |text: &str| entry_variables::expand(text, client.variables, values);
        let mut files = read_files(&own_binary.to_string_lossy());
        // Permissions and hooks must name the program that the entry starts, which may be another copy of this one.
        let is_executable = |program: &str| find(program).is_some_and(|path| has_content(&path));
        if let Some(command) = command(&files, |command| expand(command).text, is_executable) {
            files = read_files(&command);
        }
        let has_plugin = client.has_plugin(&places);
        let elsewhere = read_in_root_alone(client, started_in, &files);
        // Where no project can be, as in the home directory, nothing is to be trusted for the bridge's sake.
        let untrusted = match started_in.project {
            Some(_) => untrusted(client, &places, started_in.directories),
            None => Vec::new(),
        };
        let lost_logins = known.config.map(|config| {
            let is_passed = |name: &str| is_passed(client, name, &files);
            lost_logins((config, &places, own_binary), find, variable, is_passed)
        });
        let examined = ExaminedClient {
            name: client.name,
            title: client.title,
            has_plugin,
            untrusted,
            lost_logins: lost_logins.unwrap_or_default(),
            files,
        };
        let places_read = started_in.project.map(|project| started_in.places_read(client, project));
        let judge_program = |command: &str| {
            let mut roots = places_read.iter().flatten().map(|place| &place.root);
            roots.try_for_each(|root| judge_program(command, root, own_binary))
        };
        let called = called_path(own_binary, search.as_deref());
        let own = StablePath::of(own_binary, &called, &places.home);
        let is_directory = |named: &Path| started_in.has_directory(named);
        let programs = Programs {
            is_executable: &is_executable,
            judge_brought: &judge_program,
            judge_arguments,
            expand: &expand,
            is_directory: &is_directory,
            own: &own.path().shown().to_string(),
        };
        let mut judged = judge_client::judge(&examined, &programs);
        judged.extend(elsewhere.filter(|_| !has_plugin));
        judged
            .extend(places.relative_place(client.name).map(|found| relative_place(client, found)));
        let (project, directories) = (started_in.project, started_in.directories);
        let left_out = switches::left_out(client, &places, project, directories, values);
        let switches = switches::find(client, &places, project, directories, values);
        judge_switches::add(&mut judged, client.name, &left_out, &switches);
        findings.extend(judged);
    }
    findings
}

/// Says whether a client passes a variable on to the bridge. What one of its files passes on is taken to be passed on.
fn is_passed(client: &Client, name: &str, files: &[ExaminedFile]) -> bool {
    let written = files.iter().filter_map(|file| file.written.as_ref().ok());
    let entries: Vec<_> = written.filter_map(|written| written.entry.as_ref()).collect();
    let settings = files.iter().filter_map(|file| switches::settings_in(client.name, &file.path));
    let settings: Vec<_> = settings.collect();
    switches::passes_variable(client.name, name, (&entries, &settings))
}

/// Says that a client reads other files than the examined ones.
fn relative_place(client: &Client, (variable, path): (&str, &Path)) -> Finding {
    let says = format!(
        "{variable} is a relative path ({}): {} reads other files in each directory in which it is started, and neither `setup` nor \
         `doctor` looks at them",
        path.shown(),
        client.title
    );
    let subject = Subject::Client(client.name.to_owned());
    Finding::problem(&subject, "file", says, format!("set {variable} to an absolute path"))
}

/// Says of a session below the project's directory, or in another worktree, that the client does not read the only entry there.
fn read_in_root_alone(
    client: &Client,
    started_in: StartedIn<'_>,
    files: &[ExaminedFile],
) -> Option<Finding> {
    let project = started_in.project?;
    let has_entry = |file: &&ExaminedFile| file.written.as_ref().is_ok_and(|it| it.entry.is_some());
    let mut with_entry = files.iter().filter(has_entry);
    let (only, None) = (with_entry.next()?, with_entry.next()) else { return None };
    let server = Server { program: String::new() };
    let of_root = (client.for_project)(project, &server);
    of_root.iter().find(|file| file.path == only.path)?;
    let session = started_in.directories.iter().find(|one| {
        let mut read = switches::places_read_in(client.name, project, one).into_iter();
        read.all(|place| place.directory != project)
    })?;
    let (file, place, session) = (only.path.shown(), project.shown(), session.shown());
    let says = format!(
        "{} reads {file} if it is started in {place}, but has no bridge in {session}",
        client.title
    );
    let remedy = format!(
        "start it in {}, or run `cli-team-bridge setup --client {}` for all projects",
        project.shown(),
        client.name
    );
    let subject = Subject::Client(client.name.to_owned());
    Some(Finding::note(&subject, "entry", says).with_remedy(remedy))
}

/// Returns the directories in which a client does not start MCP servers, as far as its files show, each with the trust.
fn untrusted(
    client: &Client,
    places: &Places,
    directories: &[PathBuf],
) -> Vec<(PathBuf, FolderTrust)> {
    let Some(trust) = client.folder_trust else {
        return Vec::new();
    };
    let mut untrusted = Vec::new();
    for directory in directories {
        let found = (directory.clone(), trust(places, directory));
        if found.1 != FolderTrust::Trusted && !untrusted.contains(&found) {
            untrusted.push(found);
        }
    }
    untrusted
}

/// Reads the entries for the bridge in files of a project that the client shares with others, if it has none in its own files. Setup
/// writes none there for it.
fn read_shared(
    client: &Client,
    started_in: StartedIn<'_>,
    project: &Path,
    server: &Server,
    own: &[ExaminedFile],
) -> Vec<ExaminedFile> {
    let entry = |file: &ExaminedFile| file.written.as_ref().ok()?.entry.clone();
    if own.iter().any(|file| entry(file).is_some()) {
        return Vec::new();
    }
    let mut read = Vec::new();
    for PlaceRead { directory, root } in started_in.places_read(client, project) {
        let shared = switches::shared_file(client.name, &directory, server).into_iter().collect();
        read.extend(read_all(client.name, shared, &Scope::Project, Some(&root)));
    }
    read.retain(|file| entry(file).is_some_and(|entry| names_bridge(&entry)));
    read
}

/// Returns the program that a client's entry starts, and that can be started.
fn command(
    files: &[ExaminedFile],
    expanded: impl Fn(&str) -> String,
    is_executable: impl Fn(&str) -> bool,
) -> Option<String> {
    files.iter().find_map(|file| {
        let entry = file.written.as_ref().ok()?.entry.as_ref()?;
        Some(expanded(entry["command"].as_str()?)).filter(|command| is_executable(command))
    })
}

/// Reads the entries that a client keeps for sessions in one of these directories alone.
fn read_local(
    client: &Client,
    places: &Places,
    directories: &[PathBuf],
    server: &Server,
) -> Vec<ExaminedFile> {
    let Some(local) = client.local else {
        return Vec::new();
    };
    let mut files: Vec<ClientFile> = Vec::new();
    let mut read = Vec::new();
    for directory in directories {
        let file = (local.file)(places, directory, server);
        // All directories of a repository have the same entry.
        if !files.contains(&file) {
            files.push(file.clone());
            let scope = Scope::Local { directory: directory.clone(), removal: local.removal };
            read.extend(read_all(client.name, vec![file], &scope, None));
        }
    }
    read
}

/// The clients that go on without a project's file that does not parse, as they were seen to do it.
const GO_ON: [&str; 3] = ["claude-code", "qwen", "droid"];

/// A client that ends where such a file does not parse, and goes on where a broken link is in its place.
const GOES_ON_WITHOUT_LINK: &str = "gemini";

/// Reads files of a client, those of a project through links, as the clients do it.
fn read_all(
    client: &str,
    files: Vec<ClientFile>,
    scope: &Scope,
    project: Option<&Path>,
) -> Vec<ExaminedFile> {
    let read = |file: ClientFile| {
        let path = file.path.shown().to_string();
        let goes_on = project.is_some() && GO_ON.contains(&client);
        let content = ConfigFile::look(&file.path, project).map_err(|error| {
            let is_unused = matches!(error, ConfigFileError::Broken { .. })
                && (goes_on || project.is_some() && client == GOES_ON_WITHOUT_LINK);
            Unreadable { why: error.to_string(), remedy: error.remedy(&path), is_unused }
        });
        let opening = content.as_ref().ok().and_then(|_| {
            // Setup does not write through a link in a project.
            let writable = ConfigFile::read(&file.path, project);
            let why = writable.and_then(|content| content.may_be_replaced()).err()?;
            Some(why.remedy_of_change(&path))
        });
        let written = content.and_then(|content| {
            let text = content.text.unwrap_or_default();
            let written = match scope {
                Scope::Local { .. } => written_entry::look_local(&text, &file.edits),
                Scope::Project | Scope::User => written_entry::look(&text, &file.edits),
            };
            let written = written.and_then(|written| file.check_readable(&text).map(|()| written));
            written.map_err(|error| {
                let remedy = match error {
                    EditError::TooLarge { .. } => too_much(&path),
                    _ => format!("correct {path}"),
                };
                let is_unread =
                    matches!(error, EditError::Unparsable(_) | EditError::NotRead { .. });
                Unreadable { why: error.to_string(), remedy, is_unused: goes_on && is_unread }
            })
        });
        ExaminedFile { path: file.path, scope: scope.clone(), written, opening }
    };
    files.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;
    use crate::setup::edits::entry_arguments::{ServerRole, StartedServer};

    /// A home with two clients, and a repository `main` with a worktree `topic` beside it.
    fn stage() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let base = guard.path().canonicalize().unwrap();
        let own = base.join("main/.git/worktrees/topic");
        for folder in [&own, &base.join("topic/sub"), &base.join("home"), &base.join("bin")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(base.join("main/.git/HEAD"), "").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", base.join("topic/.git").display())).unwrap();
        fs::write(base.join("topic/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        for program in ["claude", "droid", "cli-team-bridge"] {
            let path = base.join("bin").join(program);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        (guard, base)
    }

    /// Writes entries of both clients that start a program.
    fn write(base: &Path, place: &str, files: [&str; 2], program: &str) {
        for file in files {
            let path = base.join(place).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let entry = json!({ "command": program, "args": ["orchestrator"] });
            fs::write(path, json!({ "mcpServers": { "bridge": entry } }).to_string()).unwrap();
        }
    }

    /// Checks what is said of the entries of both clients in a session in a worktree, and of no session elsewhere but in `main`.
    #[track_caller]
    fn check(base: &Path, directory: &str, expected: &[(Level, &str)]) {
        let path = |name: &str| base.join(name).into_os_string();
        let environment = [("HOME".into(), path("home")), ("PATH".into(), path("bin"))];
        let project = base.join("main");
        let started_in = StartedIn {
            project: Some(&project),
            directories: &[base.join(directory), project.clone()],
        };
        let judge =
            |_: &[String]| Ok(StartedServer { role: ServerRole::Orchestrator, project: None });
        let own = base.join("bin/cli-team-bridge");
        let mut found = examine(&environment, &own, judge, started_in, Known::default());
        found.retain(|one| one.check == "entry");
        for client in ["claude-code", "droid"] {
            let subject = Subject::Client(client.to_owned());
            let of_client = found.iter().filter(|one| one.subject == subject);
            let says: Vec<_> = of_client.map(|one| (one.level, one.says.clone())).collect();
            assert_eq!(says.len(), expected.len(), "{directory}: {says:?}");
            for ((level, says), (expected, words)) in says.iter().zip(expected) {
                assert!(level == expected && says.contains(words), "{directory}: {says:?}");
            }
        }
    }

    #[test]
    fn in_a_linked_worktree_the_entries_that_a_client_reads_there_are_judged() {
        let (_guard, base) = stage();
        let own = base.join("bin/cli-team-bridge").to_string_lossy().into_owned();
        let of_project = [".mcp.json", ".factory/mcp.json"];
        check(&base, "topic", &[(Level::Note, "does not know the bridge")]);
        write(&base, "topic", of_project, &own);
        for directory in ["topic", "topic/sub"] {
            check(&base, directory, &[(Level::Ok, "starts `")]);
        }
        write(&base, "home", [".claude.json", ".factory/mcp.json"], &own);
        write(&base, "topic", of_project, "./evil");
        for directory in ["topic", "topic/sub"] {
            let other = (Level::Problem, "starts another program: `./evil`");
            check(&base, directory, &[(Level::Ok, "starts `"), other]);
        }
        // A program of one worktree is no more to be believed in another.
        let brought = base.join("main/cli-team-bridge").to_string_lossy().into_owned();
        write(&base, "topic", of_project, &brought);
        let brought = (Level::Problem, "starts a program of the project");
        check(&base, "topic", &[(Level::Ok, "starts `"), brought]);
    }

    #[test]
    fn an_entry_of_the_main_worktree_is_none_in_another() {
        let (_guard, base) = stage();
        let own = base.join("bin/cli-team-bridge").to_string_lossy().into_owned();
        write(&base, "main", [".mcp.json", ".factory/mcp.json"], &own);
        let none = (Level::Note, "but has no bridge in ");
        check(&base, "topic", &[(Level::Ok, "starts `"), none]);
    }

    #[test]
    fn gemini_cli_goes_on_without_a_broken_link_in_a_project_and_not_without_what_does_not_parse() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().canonicalize().unwrap();
        let file = project.join(".gemini/settings.json");
        fs::create_dir(project.join(".gemini")).unwrap();
        let is_unused = || {
            let server = Server { program: "/x/cli-team-bridge".to_owned() };
            let client = CLIENTS.iter().find(|client| client.name == "gemini").unwrap();
            let files = (client.for_project)(&project, &server);
            let read = read_all(client.name, files, &Scope::Project, Some(&project));
            read[0].written.as_ref().unwrap_err().is_unused
        };
        std::os::unix::fs::symlink("/nowhere/settings.json", &file).unwrap();
        assert!(is_unused());
        fs::remove_file(&file).unwrap();
        fs::write(&file, "{").unwrap();
        assert!(!is_unused());
    }
}
