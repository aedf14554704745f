//! What setup knows about a client, a program that can lead a team: how to detect it, and what to write into which of its files.
//!
//! Setup edits the files itself, even if a client has a command for that (`claude mcp add`). Only then can it show the change first,
//! keep the user's own text, and undo the change byte for byte. A client's command may write more than the entry, and no such command
//! can both set a timeout and undo a permission.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edits::config_edit::{
    EditError, Entry, FileEdits, Item, JsonEdit, PROGRAM, SamePurpose,
};
use super::edits::entry_variables::VariableForms;
use super::edits::json_reader::JsonReader;
use super::installed_plugin::PluginPlace;
use crate::domain::text::shell_word::shell_word;

/// The name of our server in every client. Clients put it before the names of its tools.
pub const SERVER: &str = "bridge";

/// How long a client should wait for one call, in seconds: a tool waits for up to 120 s, and then needs a moment to answer.
pub const CALL_SECONDS: u64 = 150;

/// The clients whose own limit for one call is longer, and no shorter than the longest wait of a tool: 600 s, as Gemini CLI 0.61 and Qwen
/// Code 0.24 have it. Setup writes none for them.
const LONGER_LIMIT: [&str; 2] = ["gemini", "qwen"];

/// How long a client should wait for a hook, in seconds: the hook waits up to one second for the bus.
pub(super) const HOOK_SECONDS: u64 = 15;

/// A program that can lead a team.
pub struct Client {
    /// Its name for `--client`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The programs that start it. Any one of them shows that the client is installed.
    pub programs: &'static [&'static str],
    /// The directory that an installed client creates, if it creates one.
    pub directory: fn(&Places) -> Option<PathBuf>,
    /// Where the client records its plugins, if it takes the bridge's.
    pub plugin: fn(&Places) -> Option<PluginPlace>,
    /// The files to write for all of the user's projects.
    pub for_user: fn(&Places, &Server) -> Vec<ClientFile>,
    /// The files to write for one project; none if the client has no project files.
    pub for_project: fn(&Path, &Server) -> Vec<ClientFile>,
    /// Whether it starts MCP servers in a directory (links resolved), if that depends on the directory.
    pub folder_trust: Option<fn(&Places, &Path) -> FolderTrust>,
    /// Its entries for one project in the user's own file, if it has such entries.
    pub local: Option<LocalScope>,
    /// The forms of variables that it expands in the command line of an entry.
    pub variables: VariableForms,
    /// Finds the settings that switch the entry off.
    pub switches: fn(&EntryInUse<'_>) -> Vec<Switch>,
    /// Says why it takes an entry for none, if it does so, and then uses the one that the entry would take the place of.
    pub leaves_out: Option<fn(&EntryInUse<'_>) -> Option<Reason>>,
}

/// Why a client does not use an entry.
pub struct Reason {
    /// The setting, and what is wrong with it.
    pub setting: String,
    /// What to do about it.
    pub correction: String,
}

/// A setting that keeps a client from running the bridge as its entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub effect: SwitchEffect,
    /// What it does, and where it is.
    pub says: String,
    pub remedy: String,
    /// Its file, if the client uses nothing of that because of it. Some clients say so themselves.
    pub unused_file: Option<PathBuf>,
}

/// How far a setting keeps the bridge from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEffect {
    /// The client does not start the bridge, or shows its model none of its tools.
    Off,
    /// Some of its tools are hidden, its hooks do nothing, or the client asks the user first.
    Partly,
}

/// Where an entry applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryScope {
    /// In one project alone, from the user's own file.
    Local,
    /// In the project that has the file.
    Project,
    /// In all of the user's projects.
    User,
}

/// The entry that a client uses in a session, and the places around it.
pub struct EntryInUse<'a> {
    pub(super) client: &'a Client,
    pub(super) places: &'a Places,
    /// The directory of the project in which it is started, links resolved.
    pub(super) project: Option<&'a Path>,
    /// The outermost directory whose files count as the project's.
    pub(super) root: Option<&'a Path>,
    /// The directories in which the client may be started, links resolved. In a project there is one.
    pub(super) directories: &'a [PathBuf],
    pub(super) entry: Value,
    /// The keys that lead to it, and its file.
    pub(super) key: String,
    pub(super) file: PathBuf,
    pub(super) scope: EntryScope,
}

/// Whether a client trusts a directory, according to its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderTrust {
    Trusted,
    /// The user has not been asked yet.
    Undecided,
    /// The user has refused.
    Refused,
    /// A variable in the environment refuses all directories: its name and value.
    RefusedBy(&'static str),
    /// A file of the client cannot be read, for this reason.
    Unknown(String),
    /// Its rules about folders cannot be read, for this reason, so that it starts in no folder.
    Broken(String),
}

/// The entries that a client keeps in the user's own file for one project alone. There, they take precedence over all others. Setup
/// writes none, but the client's own command may.
#[derive(Clone, Copy)]
pub struct LocalScope {
    /// Returns the file with the place of our entry for a session that is started in a directory, links resolved.
    pub file: fn(&Places, &Path, &Server) -> ClientFile,
    /// The files to write for a project that has such an entry.
    pub beside: fn(&Path, &Server) -> Vec<ClientFile>,
    /// The key of the table in that file that has the directories as keys.
    pub table: &'static str,
    /// The command that removes such an entry, run in the project.
    pub removal: &'static str,
}

impl LocalScope {
    /// Returns the file, and the keys that lead to what it has about the project of a directory.
    pub(super) fn table_of(
        &self,
        places: &Places,
        directory: &Path,
    ) -> Option<(PathBuf, Vec<String>)> {
        let file = (self.file)(places, directory, &Server { program: SERVER.to_owned() });
        let FileEdits::Json(edits) = file.edits else {
            return None;
        };
        let entry = edits.into_iter().find_map(|edit| match edit {
            JsonEdit::Entry(entry) => Some(entry),
            JsonEdit::Item(_) => None,
        });
        // The table of the projects, and the project.
        Some((file.path, entry?.path.into_iter().take(2).collect()))
    }
}

/// A file of a client, and the edits that setup makes to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientFile {
    pub path: PathBuf,
    /// The purpose of the edits, as the user reads it.
    pub purpose: &'static str,
    pub edits: FileEdits,
    /// The client's own reader, if it is known to accept less than setup does.
    pub reader: Option<JsonReader>,
}

impl ClientFile {
    /// Refuses a text that the client itself does not read: the user would see no bridge, and perhaps a client that does not start.
    pub fn check_readable(&self, text: &str) -> Result<(), EditError> {
        self.reader.map_or(Ok(()), |reader| reader.check(text))
    }

    /// Returns the file with the client's own reader.
    pub(super) fn read_by(mut self, reader: JsonReader) -> Self {
        self.reader = Some(reader);
        self
    }
}

/// Where the user's programs keep their files, according to the environment.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: PathBuf,
    /// The absolute paths in variables that relocate a program's files, by the variable's name.
    moved: Vec<(String, PathBuf)>,
    /// The relative paths in variables with which the directory of a client's files depends on where it is started.
    relative: Vec<(&'static str, PathBuf)>,
    /// What variables have Gemini CLI think of every folder that it is started in.
    pub(super) gemini_trust: Option<FolderTrust>,
    /// The limit for each call of a server that the environment sets for Claude Code, in milliseconds.
    pub(super) claude_call_limit: Option<f64>,
    /// The files of settings of which a client says itself that it uses nothing.
    unused: Vec<PathBuf>,
    is_mac: bool,
}

/// The variables with which Gemini CLI refuses or trusts the folder that it is started in. The first counts.
const GEMINI_TRUST: [(&str, &str, FolderTrust); 3] = [
    ("GEMINI_RESTRICTED_MODE", "true", FolderTrust::RefusedBy("GEMINI_RESTRICTED_MODE=true")),
    (
        "GEMINI_CLI_TRUST_WORKSPACE",
        "false",
        FolderTrust::RefusedBy("GEMINI_CLI_TRUST_WORKSPACE=false"),
    ),
    ("GEMINI_CLI_TRUST_WORKSPACE", "true", FolderTrust::Trusted),
];

/// The variables that relocate a program's files.
const MOVING: [&str; 8] = [
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
    "QWEN_HOME",
    "QWEN_CODE_TRUSTED_FOLDERS_PATH",
    "FACTORY_HOME_OVERRIDE",
];

/// The variable with which Claude Code limits each call of a server.
pub(super) const CALL_LIMIT: &str = "MCP_TOOL_TIMEOUT";

/// The variables that a client takes relative to the directory in which it is started, each with that client.
const RELATIVE: [(&str, &str); 4] = [
    ("claude-code", "CLAUDE_CONFIG_DIR"),
    ("codex", "CODEX_HOME"),
    ("gemini", "GEMINI_CLI_HOME"),
    ("qwen", "QWEN_HOME"),
];

impl Places {
    /// Reads the places from the environment; none without a home directory.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>, is_mac: bool) -> Option<Self> {
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME")?;
        // Qwen Code alone takes `~` for the home directory.
        let in_home = |name: &str| {
            let path = variable(name).filter(|_| name == "QWEN_HOME").map(PathBuf::from)?;
            path.strip_prefix("~").ok().map(|rest| home.join(rest))
        };
        let place = |name: &str| absolute(name).or_else(|| in_home(name));
        let moved = MOVING.iter().filter_map(|name| Some(((*name).to_owned(), place(name)?)));
        let moved = moved.collect();
        let relative = RELATIVE.into_iter().filter_map(|(_, name)| {
            let path = variable(name).filter(|path| !path.is_empty() && place(name).is_none())?;
            Some((name, path.into()))
        });
        let relative = relative.collect();
        let is_set =
            |(name, value, _): &(&str, &str, _)| variable(name).is_some_and(|it| it == *value);
        let gemini_trust = GEMINI_TRUST.into_iter().find(is_set).map(|(_, _, trust)| trust);
        let claude_call_limit =
            variable(CALL_LIMIT).and_then(|limit| limit.into_string().ok()?.trim().parse().ok());
        let unused = Vec::new();
        Some(Self { home, moved, relative, gemini_trust, claude_call_limit, unused, is_mac })
    }

    /// Returns the places with files of which a client says itself that it uses nothing.
    #[must_use]
    pub fn without(mut self, unused: &[PathBuf]) -> Self {
        self.unused = unused.iter().map(|file| real(file)).collect();
        self
    }

    /// Says whether a client uses nothing of a file, as it says itself.
    pub(super) fn is_unused(&self, file: &Path) -> bool {
        !self.unused.is_empty() && self.unused.contains(&real(file))
    }

    /// Returns the directory that a variable names, or this default in the home directory.
    pub(super) fn or_in_home(&self, variable: &str, default: &str) -> PathBuf {
        self.moved_to(variable).unwrap_or_else(|| self.home.join(default))
    }

    /// Returns the path that a variable names, if it is set.
    pub(super) fn moved_to(&self, variable: &str) -> Option<PathBuf> {
        let moved = self.moved.iter().find(|(name, _)| name == variable);
        moved.map(|(_, path)| path.clone())
    }

    /// Returns the variable, and its relative path, because of which a client reads other files than those that setup knows.
    pub fn relative_place(&self, client: &str) -> Option<(&'static str, &Path)> {
        let (_, variable) = RELATIVE.into_iter().find(|(name, _)| *name == client)?;
        let mut relative = self.relative.iter();
        relative.find_map(|(name, path)| (*name == variable).then_some((variable, path.as_path())))
    }

    /// Returns the home directory that a variable names for one program, or the user's.
    pub(super) fn home_by(&self, variable: &str) -> PathBuf {
        self.or_in_home(variable, "")
    }

    /// Returns the directory in which whoever manages the machine keeps settings for Claude Code.
    pub(super) fn managed_claude(&self) -> PathBuf {
        if self.is_mac {
            "/Library/Application Support/ClaudeCode".into()
        } else {
            "/etc/claude-code".into()
        }
    }

    /// Returns the directory in which desktop programs keep their files.
    pub(super) fn of_desktop(&self) -> PathBuf {
        if self.is_mac {
            self.home.join("Library/Application Support")
        } else {
            self.or_in_home("XDG_CONFIG_HOME", ".config")
        }
    }
}

/// The command line of our MCP server.
#[derive(Clone, Debug)]
pub struct Server {
    /// An absolute path that outlasts a package cache.
    pub program: String,
}

impl Server {
    /// Returns the entry without further fields.
    pub(super) fn entry(&self) -> Value {
        json!({ "command": self.program, "args": ["orchestrator"] })
    }

    /// Returns the entry with further fields.
    pub(super) fn entry_with(&self, fields: &[(&str, Value)]) -> Value {
        let mut entry = self.entry();
        for (key, value) in fields {
            entry[*key] = value.clone();
        }
        entry
    }
}

/// Returns a path with its links resolved, as far as that can be done.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The key of a limit for one call in milliseconds.
const LIMIT_MS: &str = "timeout";

/// Returns the limit for one call in milliseconds, with the key that several clients read.
pub(super) fn timeout_ms() -> (&'static str, Value) {
    (LIMIT_MS, json!(CALL_SECONDS * 1_000))
}

/// Returns a JSON file whose only edit is our server's entry, under this key.
pub(super) fn json_file(path: PathBuf, servers: &str, entry: Value) -> ClientFile {
    let entry = Entry { path: vec![servers.to_owned(), SERVER.to_owned()], value: entry };
    ClientFile {
        path,
        purpose: "the MCP server",
        edits: FileEdits::Json(vec![JsonEdit::Entry(entry)]),
        reader: None,
    }
}

/// Returns the edit that makes a client run our hook on this event. The clients count the limit in different units.
pub(super) fn hook_on(event: &str, server: &Server, limit: u64) -> Item {
    let command = format!("{} hook", shell_word(&server.program));
    let hook = json!({ "type": "command", "command": command, "timeout": limit });
    Item {
        path: ["hooks", event].map(str::to_owned).to_vec(),
        value: json!({ "hooks": [hook] }),
        same_purpose: Some(SamePurpose::Containing(format!("{PROGRAM} hook"))),
    }
}

/// Returns the edits to a file of a project: a repository may have brought hooks in it that only contain our words.
pub(super) fn in_project(mut file: ClientFile) -> ClientFile {
    if let FileEdits::Json(edits) = &mut file.edits {
        for edit in edits {
            if let JsonEdit::Item(Item { value, same_purpose: Some(purpose), .. }) = edit
                && let Some(command) = value["hooks"][0]["command"].as_str()
            {
                *purpose = SamePurpose::Running { command: command.to_owned() };
            }
        }
    }
    file
}

/// Returns a JSON file with our server's entry, and with hooks that announce messages on these events.
pub(super) fn json_file_with_hooks(
    path: PathBuf,
    servers: &str,
    server: &Server,
    events: &[&str],
) -> ClientFile {
    let mut file = json_file(path, servers, server.entry_with(&[timeout_ms()]));
    let hooks = events.iter().map(|event| hook_on(event, server, HOOK_SECONDS * 1_000));
    if let FileEdits::Json(edits) = &mut file.edits {
        edits.extend(hooks.map(JsonEdit::Item));
    }
    file.purpose = "the MCP server, and hooks that announce messages";
    file
}

impl Client {
    /// Returns the program or directory that shows that the client is installed.
    pub fn find(
        &self,
        places: &Places,
        program: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let by_program = self.programs.iter().find_map(|name| program(name));
        by_program.or_else(|| (self.directory)(places).filter(|directory| directory.is_dir()))
    }

    /// Returns the edits as setup writes them: without a limit for one call where the client's own is longer. The edits with a limit say what
    /// an entry may have, such as one of an earlier setup.
    pub fn to_write(&self, edits: &FileEdits) -> FileEdits {
        let mut edits = edits.clone();
        if let FileEdits::Json(edits) = &mut edits
            && LONGER_LIMIT.contains(&self.name)
        {
            for edit in edits {
                if let JsonEdit::Entry(Entry { value: Value::Object(fields), .. }) = edit {
                    fields.remove(LIMIT_MS);
                }
            }
        }
        edits
    }

    /// Returns the edits in each form in which setup writes them, or did.
    pub fn in_each_form(&self, edits: &FileEdits) -> FileEdits {
        let mut all = edits.clone();
        if let (FileEdits::Json(all), FileEdits::Json(written)) = (&mut all, self.to_write(edits)) {
            let new: Vec<_> = written.into_iter().filter(|edit| !all.contains(edit)).collect();
            all.extend(new);
        }
        all
    }

    /// Says whether the client has the bridge as a plugin.
    pub fn has_plugin(&self, places: &Places) -> bool {
        (self.plugin)(places).is_some_and(|place| place.has_bridge())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_in_a_variable_is_no_place_that_setup_knows() {
        let places = |value: &'static str| {
            let variable = |name: &str| match name {
                "HOME" => Some("/h".into()),
                "CODEX_HOME" | "QWEN_HOME" => Some(value.into()),
                _ => None,
            };
            Places::read(variable, false).unwrap()
        };
        let relative = places("x");
        assert_eq!(relative.relative_place("codex"), Some(("CODEX_HOME", Path::new("x"))));
        assert_eq!(relative.relative_place("gemini"), None);
        assert_eq!(relative.or_in_home("CODEX_HOME", ".codex"), Path::new("/h/.codex"));
        assert_eq!(places("/x").relative_place("codex"), None);
        assert_eq!(places("").relative_place("codex"), None);
        let tilde = places("~/x");
        assert_eq!(tilde.relative_place("qwen"), None);
        assert_eq!(tilde.or_in_home("QWEN_HOME", ".qwen"), Path::new("/h/x"));
        assert_eq!(tilde.relative_place("codex"), Some(("CODEX_HOME", Path::new("~/x"))));
    }
}
