//! Finds the settings that switch the entry of a client off, each with its file, its key and its remedy.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::session_files::{Session, directories_read, sessions, shared_file};
use crate::domain::limits::{CLIENT_WORD_CHARS, NAMED_IN_CLIENT_FILE};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::domain::tool_names::{ENDPOINT_TOOLS, LEADING_TOOLS};
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::config_edit::names_bridge;
use crate::setup::edits::entry_variables::{Values, expand_settings};
use crate::setup::edits::{edit_json, edit_toml};
use crate::setup::known_client::{
    Client, ClientFile, EntryInUse, EntryScope, FolderTrust, Places, SERVER, Server, Switch,
    SwitchEffect,
};
use crate::setup::written_entry;

/// Finds what switches off the entry that a client uses in a project and in these directories. Without an entry, nothing is found. What
/// goes for a session in one of them alone says so.
pub fn find(
    client: &Client,
    places: &Places,
    project: Option<&Path>,
    directories: &[PathBuf],
    values: Values<'_>,
) -> Vec<Switch> {
    let Some(project) = project else {
        return find_in(client, places, None, directories, values);
    };
    let sessions = sessions(project, directories);
    let found: Vec<_> = sessions
        .iter()
        .map(|session| {
            let around = std::slice::from_ref(&session.directory);
            (session, find_in(client, places, Some(session), around, values))
        })
        .collect();
    let is_everywhere = |switch: &Switch| found.iter().all(|(_, others)| others.contains(switch));
    let mut switches: Vec<Switch> = Vec::new();
    for (session, of_session) in &found {
        for switch in of_session {
            let mut switch = switch.clone();
            if !is_everywhere(&switch) {
                let place = session.directory.shown();
                switch.says = format!("{} (in a session in {place})", switch.says);
            }
            if !switches.contains(&switch) {
                switches.push(switch);
            }
        }
    }
    switches
}

fn find_in(
    client: &Client,
    places: &Places,
    session: Option<&Session>,
    directories: &[PathBuf],
    values: Values<'_>,
) -> Vec<Switch> {
    let found = entry_in_use(client, places, session, directories, values);
    found.map(|(used, _)| (client.switches)(&used)).unwrap_or_default()
}

/// An entry that a client leaves out, because it has the bridge from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLeftOut {
    /// The keys that lead to it, and its file.
    pub key: String,
    pub file: PathBuf,
    /// Whether it is for one project alone, from the user's own file.
    pub is_local: bool,
    pub says: String,
    pub remedy: String,
}

impl EntryLeftOut {
    fn of(entry: EntryInUse<'_>, says: String, remedy: String) -> Self {
        let is_local = entry.scope == EntryScope::Local;
        Self { key: entry.key, file: entry.file, is_local, says, remedy }
    }
}

/// Finds the entries that a client leaves out in all sessions that `find` judges.
pub fn left_out(
    client: &Client,
    places: &Places,
    project: Option<&Path>,
    directories: &[PathBuf],
    values: Values<'_>,
) -> Vec<EntryLeftOut> {
    let of_session = |session: Option<&Session>, around: &[PathBuf]| {
        let found = entry_in_use(client, places, session, around, values);
        found.map(|(used, left_out)| ((used.file, used.key), left_out)).unwrap_or_default()
    };
    let found: Vec<_> = match project {
        None => vec![of_session(None, directories)],
        Some(project) => sessions(project, directories)
            .iter()
            .map(|session| of_session(Some(session), std::slice::from_ref(&session.directory)))
            .collect(),
    };
    let mut all: Vec<EntryLeftOut> = Vec::new();
    for one in found.iter().flat_map(|(_, left_out)| left_out) {
        let is_used = found.iter().any(|((file, key), _)| *file == one.file && *key == one.key);
        if !is_used && !all.contains(one) {
            all.push(one.clone());
        }
    }
    all
}

/// Says whether what a project's file has under the bridge's name without a program is judged here: the client puts it together with the
/// user's entry, or in its place.
pub fn judges_partial_entry(client: &str) -> bool {
    ["codex", "gemini", "qwen", "droid"].contains(&client)
}

/// Finds the entry that a client uses, and those that it leaves out. If it leaves all out, the first is the one to mend.
fn entry_in_use<'a>(
    client: &'a Client,
    places: &'a Places,
    session: Option<&'a Session>,
    directories: &'a [PathBuf],
    values: Values<'_>,
) -> Option<(EntryInUse<'a>, Vec<EntryLeftOut>)> {
    let mut entries = entries(client, places, session, directories, values);
    let mut reasons = Vec::new();
    if let Some(leaves_out) = client.leaves_out {
        reasons.extend(entries.iter().map_while(leaves_out));
    }
    if reasons.len() == entries.len() {
        return entries.into_iter().next().map(|first| (first, Vec::new()));
    }
    let first_left = reasons.len();
    let used = entries.remove(first_left);
    // What comes after it is not used here, and elsewhere neither if it is none.
    let later: Vec<_> = entries.split_off(first_left);
    let later = later.into_iter().filter_map(|entry| {
        let reason = client.leaves_out.and_then(|leaves_out| leaves_out(&entry))?;
        Some((entry, reason))
    });
    let before = entries.into_iter().zip(reasons).map(|(entry, reason)| {
        let file = entry.file.shown().to_string();
        let says = format!(
            "{} takes the bridge from {} and not from {file}, because of {}",
            client.title,
            used.file.shown(),
            reason.setting
        );
        let remedy = format!("if it should take that of {file}, {}", reason.correction);
        EntryLeftOut::of(entry, says, remedy)
    });
    let mut left_out: Vec<_> = before.collect();
    left_out.extend(later.map(|(entry, reason)| {
        let (title, file, setting) = (client.title, entry.file.shown(), reason.setting);
        let says = format!("{title} takes no bridge from {file}, because of {setting}");
        let remedy = format!("if it should run elsewhere, too, {}", reason.correction);
        EntryLeftOut::of(entry, says, remedy)
    }));
    Some((used, left_out))
}

/// Finds the entries of a client for the bridge, those that take precedence first.
fn entries<'a>(
    client: &'a Client,
    places: &'a Places,
    session: Option<&'a Session>,
    directories: &'a [PathBuf],
    values: Values<'_>,
) -> Vec<EntryInUse<'a>> {
    // Only the places of the entries count here, not what setup would write.
    let server = Server { program: SERVER.to_owned() };
    let mut files = Vec::new();
    if let Some(local) = client.local {
        let of = |directory: &PathBuf| (local.file)(places, directory, &server);
        files.extend(directories.iter().map(of).map(|file| (file, None, EntryScope::Local)));
    }
    if let Some(Session { directory, root }) = session {
        let read = directories_read(client.name, root, directory).into_iter();
        let of_project = read.flat_map(|one| (client.for_project)(&one, &server));
        files.extend(of_project.map(|file| (file, Some(root.as_path()), EntryScope::Project)));
    }
    let of_user = (client.for_user)(places, &server).into_iter();
    files.extend(of_user.map(|file| (file, None, EntryScope::User)));
    // It is judged beside the user's entry, if there is one.
    let shared = session.and_then(|session| {
        let file = shared_file(client.name, &session.directory, &server)?;
        Some((file, Some(session.root.as_path()), EntryScope::User))
    });
    files.extend(shared);
    let expand = |entry| expand_settings(entry, client.variables, values);
    let read = files.into_iter().filter_map(|(file, project, scope)| {
        let text = ConfigFile::look(&file.path, project).ok()?.text?;
        let written = written_entry::look(&text, &file.edits).ok()?;
        Some(EntryInUse {
            client,
            places,
            project: session.map(|session| session.directory.as_path()),
            root: session.map(|session| session.root.as_path()),
            directories,
            entry: written.entry.map(expand).filter(names_bridge)?,
            key: written.key,
            file: file.path,
            scope,
        })
    });
    read.collect()
}

/// What a file has under the bridge's name.
pub(super) struct Layer {
    pub(super) file: PathBuf,
    /// The keys that lead there.
    pub(super) key: String,
    pub(super) entry: Value,
}

impl EntryInUse<'_> {
    /// Reads a JSON file of the client; none if there is none, or if it or the client cannot read it: such a file switches nothing off.
    pub(super) fn read(&self, file: &Path) -> Option<Value> {
        let project = self.root.filter(|root| file.starts_with(root));
        let text = ConfigFile::look(file, project).ok()?.text?;
        // A client reads all of its files in the same way.
        self.files_of_user()
            .first()
            .is_none_or(|first| first.check_readable(&text).is_ok())
            .then_some(())?;
        edit_json::value_at(&text, &[]).ok().flatten()
    }

    /// Reads a TOML file of the client in the same way.
    pub(super) fn read_toml(&self, file: &Path) -> Option<Value> {
        let project = self.root.filter(|root| file.starts_with(root));
        let text = ConfigFile::look(file, project).ok()?.text?;
        edit_toml::value_at(&text, &[]).ok().flatten()
    }

    /// Returns the entry in use, as a layer of settings.
    pub(super) fn layer(&self) -> Layer {
        Layer { file: self.file.clone(), key: self.key.clone(), entry: self.entry.clone() }
    }

    /// Says whether the client trusts the directory of the session.
    pub(super) fn is_folder_trusted(&self) -> bool {
        let judged = self.client.folder_trust.zip(self.project);
        judged.is_none_or(|(trust, folder)| trust(self.places, folder) == FolderTrust::Trusted)
    }

    /// Returns the project's files that the session reads, each with its directory, the nearest first.
    pub(super) fn files_in_project(&self) -> Vec<(PathBuf, ClientFile)> {
        let server = Server { program: SERVER.to_owned() };
        let (Some(root), Some(session)) = (self.root, self.project) else {
            return Vec::new();
        };
        let read = directories_read(self.client.name, root, session).into_iter();
        read.flat_map(|directory| {
            let files = (self.client.for_project)(&directory, &server).into_iter();
            files.map(move |file| (directory.clone(), file)).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Returns the user's own files.
    pub(super) fn files_of_user(&self) -> Vec<ClientFile> {
        (self.client.for_user)(self.places, &Server { program: SERVER.to_owned() })
    }

    /// Returns what a file has under the bridge's name.
    pub(super) fn layer_in(&self, file: ClientFile) -> Option<Layer> {
        let project = self.root.filter(|root| file.path.starts_with(root));
        let text = ConfigFile::look(&file.path, project).ok()?.text?;
        let written = written_entry::look(&text, &file.edits).ok()?;
        Some(Layer { entry: written.entry?, key: written.key, file: file.path })
    }

    /// Returns the tools that the bridge has when it is started with the arguments of the entry.
    pub(super) fn tools(&self) -> Vec<&'static str> {
        let is_peer = self.entry["args"][0] == "peer";
        let leading: &[&str] = if is_peer { &[] } else { &LEADING_TOOLS };
        ENDPOINT_TOOLS.iter().chain(leading).copied().collect()
    }

    /// Returns what is said of tools that a setting hides; none if it hides none.
    pub(super) fn hiding(&self, hidden: &[&str], setting: &str, remedy: String) -> Option<Switch> {
        let title = self.client.title;
        let all = self.tools().len();
        let first = hidden.iter().take(NAMED_IN_CLIENT_FILE).copied().collect::<Vec<_>>();
        let more = match hidden.len().saturating_sub(first.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (effect, does) = match hidden.len() {
            0 => return None,
            number if number == all => {
                (SwitchEffect::Off, "shows its model none of the bridge's tools".to_owned())
            }
            number => {
                let names = first.join(", ");
                let does = format!(
                    "hides {number} of the bridge's {all} tools from its model ({names}{more})"
                );
                (SwitchEffect::Partly, does)
            }
        };
        let says = format!("{title} {does}, because of {setting}");
        Some(Switch { effect, says, remedy, unused_file: None })
    }

    /// Returns what is said of a setting with which the client does not start the bridge.
    pub(super) fn off(&self, setting: &str, remedy: String) -> Switch {
        let says = format!("{} does not start the bridge, because of {setting}", self.client.title);
        Switch { effect: SwitchEffect::Off, says, remedy, unused_file: None }
    }
}

/// Returns what is said of a setting that turns all hooks off. `remedy` begins with what to do.
pub(super) fn hooks_off(setting: &str, remedy: &str) -> Switch {
    Switch {
        unused_file: None,
        effect: SwitchEffect::Partly,
        says: format!("the hooks that bring messages do nothing, because of {setting}"),
        remedy: format!(
            "if messages should come between two steps, too, and not only with the bridge's tools, {remedy}"
        ),
    }
}

/// Names a setting with its file.
pub(super) fn setting_in(key: &str, file: &Path) -> String {
    format!("`{key}` in {}", file.shown())
}

/// Quotes what stands in a client's file, which a repository may have brought: its beginning.
pub(super) fn quoted_word(word: &str) -> String {
    format!("`{}`", beginning(word, CLIENT_WORD_CHARS))
}

/// Returns the texts of a list.
pub(super) fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
