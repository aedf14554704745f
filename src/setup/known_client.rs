//! What setup knows of a program that can lead a team: how to see that it is installed, and what to write into which of its files.
//!
//! Setup edits the files itself, also where a client has a command for that (`claude mcp add`): only so can it show the change before
//! it is made, keep what the user has written, and take its own out again byte for byte. The client's command writes what it likes
//! beside the entry, and none of them can set a timeout and undo a permission.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::config_edit::{Entry, FileEdits, JsonEdit};

/// What our server is called in every client. The names of its tools begin with that.
pub const SERVER: &str = "bridge";

/// How long a client is to wait for one call, in seconds: the longest wait of a tool is 120 s, and it needs a moment to answer.
pub const CALL_SECONDS: u64 = 150;

/// A program that can lead a team.
pub struct Client {
    /// What `--client` calls it.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The programs by which it is started, any of which will do.
    pub programs: &'static [&'static str],
    /// The directory that it has made where it is installed, if there is such a one.
    pub directory: fn(&Places) -> Option<PathBuf>,
    /// What to write for all projects of the user.
    pub for_user: fn(&Places, &Server) -> Vec<ClientFile>,
    /// What to write for one project; nothing where the client has no files of a project.
    pub for_project: fn(&Path, &Server) -> Vec<ClientFile>,
}

/// A file of a client, and what setup wants in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientFile {
    pub path: PathBuf,
    /// What it is for, as the end of "adds ".
    pub purpose: &'static str,
    pub edits: FileEdits,
}

/// Where a user's programs keep their files, by the environment of this process.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: PathBuf,
    /// The absolute paths in variables that move a program's files, by the variable's name.
    moved: Vec<(String, PathBuf)>,
    is_mac: bool,
}

/// The variables that move a program's files.
const MOVING: [&str; 6] = [
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "FACTORY_HOME_OVERRIDE",
];

impl Places {
    /// Reads the places from the environment. None without a home directory.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>, is_mac: bool) -> Option<Self> {
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME")?;
        let moved = MOVING.iter().filter_map(|name| Some(((*name).to_owned(), absolute(name)?)));
        Some(Self { home, moved: moved.collect(), is_mac })
    }

    /// Returns the directory that a variable names, else one in the home directory.
    pub(super) fn or_in_home(&self, variable: &str, default: &str) -> PathBuf {
        let moved = self.moved.iter().find(|(name, _)| name == variable);
        moved.map_or_else(|| self.home.join(default), |(_, path)| path.clone())
    }

    /// Returns the home directory that a variable names for one program, else that of the user.
    pub(super) fn home_by(&self, variable: &str) -> PathBuf {
        self.or_in_home(variable, "")
    }

    /// Returns the directory in which programs with windows keep their files.
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
    /// An absolute path that stays.
    pub program: String,
}

impl Server {
    /// Returns the entry of a client that needs nothing else.
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

/// Returns a limit for one call in milliseconds, under the key that several clients read.
pub(super) fn timeout_ms() -> (&'static str, Value) {
    ("timeout", json!(CALL_SECONDS * 1_000))
}

/// Returns a file of JSON into which goes our server alone, under this key.
pub(super) fn json_file(path: PathBuf, servers: &str, entry: Value) -> ClientFile {
    let entry = Entry { path: vec![servers.to_owned(), SERVER.to_owned()], value: entry };
    ClientFile {
        path,
        purpose: "the MCP server",
        edits: FileEdits::Json(vec![JsonEdit::Entry(entry)]),
    }
}

impl Client {
    /// Finds by which program or directory a client shows that it is installed.
    pub fn find(
        &self,
        places: &Places,
        program: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let by_program = self.programs.iter().find_map(|name| program(name));
        by_program.or_else(|| (self.directory)(places).filter(|directory| directory.is_dir()))
    }
}
