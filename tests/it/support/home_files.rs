//! All files of a stage's home, to compare them byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Stage;

/// A terminal that shows all of setup's report.
pub(crate) const SETUP_SCREEN: (u16, u16) = (120, 160);

/// A user's own files, in forms that no program would write: `setup --remove` has to bring back every byte.
pub(crate) const ODD_FILES: [(&str, &str); 4] = [
    (
        ".claude.json",
        "{\"numStartups\" :3,\n\n\t\"mcpServers\":{ \"other\" : {\"command\":\"true\"}}  }",
    ),
    (
        ".claude/settings.json",
        "{\r\n\"permissions\": {\"allow\":[ \"Read\" ]},\r\n   \"env\":{}}\r\n\r\n",
    ),
    (".claude/CLAUDE.md", "Count\tcarefully.   "),
    (".codex/config.toml", "# mine\nmodel=\"x\"   # why\n\n\n[tui]\n  a = 1"),
];

impl Stage {
    /// Gives the home the user's files, and a profile `worker` of the user's own whose agent counts 97 beans.
    pub(crate) fn with_odd_files_and_a_worker(self) -> Self {
        let script = self.home().join("worker.toml");
        let turn = "[[agents.default.turns]]\nsteps = [{ say = \"there are 97 beans\" }]\n";
        fs::write(&script, turn).unwrap();
        for (file, text) in ODD_FILES {
            let path = self.home().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.with_profiles(&format!(
            "[agents.worker]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\nenv = {{ BRIDGE_SCRIPT = '{}' }}\n",
            script.display()
        ))
    }
}

/// Returns the contents of the home by path: files with their mode and bytes, links with their target, and directories, except
/// the parents of the state directory.
pub(crate) fn everything(stage: &Stage) -> BTreeMap<PathBuf, String> {
    fn look(directory: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode();
            if metadata.is_symlink() {
                found.insert(path.clone(), format!("-> {}", path.read_link().unwrap().display()));
            } else if metadata.is_dir() {
                found.insert(path.clone(), format!("{mode:o}"));
                look(&path, found);
            } else if metadata.len() > 1024 * 1024 {
                // A copy of the program.
                found.insert(path, format!("{mode:o} {} bytes", metadata.len()));
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, format!("{mode:o} {}", bytes.escape_ascii()));
            }
        }
    }
    let mut found = BTreeMap::new();
    look(stage.home(), &mut found);
    found.retain(|path, _| {
        let last: Vec<_> = path.iter().rev().take(2).collect();
        !(last[0] == ".local" || (last[0] == "state" && last[1] == ".local"))
    });
    found
}

/// Returns the same without what remains on purpose: npm's cache, and the records of projects in the bridge's own state directory.
/// The records of setup count, because they go with the last change that is undone.
pub(crate) fn everything_but_caches(stage: &Stage) -> BTreeMap<PathBuf, String> {
    let mut found = everything(stage);
    let own = stage.home().join(".local/state/cli-team-bridge");
    found.retain(|path, _| {
        let is_kept = path.starts_with(&own) && !path.starts_with(own.join("setup"));
        !(is_kept || path.starts_with(stage.home().join(".npm")))
    });
    found
}

/// Checks that two looks at a home saw the same.
#[track_caller]
pub(crate) fn same(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) {
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let paths: Vec<_> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(paths.is_empty(), "these differ: {paths:?}");
}
