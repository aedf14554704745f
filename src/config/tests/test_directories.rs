//! A home and a project in a temporary directory, with the configuration files that a test writes there.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::config::{Author, Config, ConfigError, Load, NamedFile};

pub(super) struct TestDirectories {
    root: TempDir,
    pub(super) explicit: Option<PathBuf>,
    /// Whose word that file is.
    author: Author,
}

impl TestDirectories {
    pub(super) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), explicit: None, author: Author::User }
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    pub(super) fn write(&self, file: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn user(self, text: &str) -> Self {
        self.write("home/.config/cli-team-bridge/config.toml", text);
        self
    }

    pub(super) fn project(self, text: &str) -> Self {
        self.write("project/.claude/bridge.toml", text);
        self
    }

    pub(super) fn explicit(mut self, text: &str) -> Self {
        self.explicit = Some(self.write("explicit.toml", text));
        self
    }

    pub(super) fn named_in_project(mut self, text: &str) -> Self {
        self.write("project/named.toml", text);
        self.name_in_project("project/named.toml");
        self
    }

    pub(super) fn name_in_project(&mut self, file: &str) {
        self.explicit = Some(self.path(file));
        self.author = Author::Project;
    }

    pub(super) fn load(&self) -> Result<Config, ConfigError> {
        Config::load(Load {
            project: &self.path("project"),
            home: Some(&self.path("home")),
            config_home: None,
            explicit: self.explicit.as_deref().map(|path| NamedFile { path, author: self.author }),
        })
    }

    /// The error, with the temporary directory left out of its paths.
    pub(super) fn error(&self) -> String {
        let root = format!("{}/", self.root.path().display());
        self.load().unwrap_err().to_string().replace(&root, "")
    }
}
