//! The configuration on real files in a temporary home and project.

mod brought;
mod documented;
mod layers;
mod profiles;
mod refusals;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Config, ConfigError, Load};

/// A home and a project in a temporary directory.
struct TestDirectories {
    root: TempDir,
    explicit: Option<PathBuf>,
}

impl TestDirectories {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), explicit: None }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn user(self, text: &str) -> Self {
        self.write("home/.config/cli-team-bridge/config.toml", text);
        self
    }

    fn project(self, text: &str) -> Self {
        self.write("project/.claude/bridge.toml", text);
        self
    }

    fn explicit(mut self, text: &str) -> Self {
        self.explicit = Some(self.write("explicit.toml", text));
        self
    }

    fn load(&self) -> Result<Config, ConfigError> {
        Config::load(Load {
            project: &self.path("project"),
            home: Some(&self.path("home")),
            config_home: None,
            explicit: self.explicit.as_deref(),
        })
    }

    /// The error, with the temporary directory left out of its paths.
    fn error(&self) -> String {
        let root = format!("{}/", self.root.path().display());
        self.load().unwrap_err().to_string().replace(&root, "")
    }
}
