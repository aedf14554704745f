//! The folders that agents make in the user's home for the directory in which they work, which nobody needs once a trial is over.
//!
//! A trial's room has a random name, and the names of these folders end with it. So such a folder is of this trial, whoever made it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk::belongs_to_us;

/// Where agents make a folder for each directory in which they work: the variable that may name the place, else where it is below the
/// home directory; and the folder in it.
const PLACES: [(Option<&str>, &str, &str); 8] = [
    (Some("CLAUDE_CONFIG_DIR"), ".claude", "projects"),
    (Some("XDG_CACHE_HOME"), ".cache", "claude-cli-nodejs"),
    (None, ".gemini", "tmp"),
    (None, ".gemini", "history"),
    (None, ".qwen", "projects"),
    (None, ".qwen", "tmp"),
    (None, ".factory", "sessions"),
    (None, ".factory", "projects"),
];

/// Removes the folders of agents for a room that is no longer used. One that cannot be removed does no harm.
pub(super) fn remove_for(room: &Path, variable: impl Fn(&str) -> Option<PathBuf>) {
    let Some(name) = room.file_name().and_then(|name| name.to_str()) else { return };
    let home = variable("HOME");
    for (own, below_home, folder) in PLACES {
        let named = own.and_then(&variable);
        let Some(base) = named.or_else(|| Some(home.as_ref()?.join(below_home))) else { continue };
        for entry in fs::read_dir(base.join(folder)).into_iter().flatten().flatten() {
            let is_of_room =
                entry.file_name().to_str().is_some_and(|found| is_made_for(found, name));
            // No link to a directory is one.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_of_room
                && is_directory
                && belongs_to_us(&entry.path())
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::debug!(%error, path = %entry.path().shown(), "a folder of a trial stays");
            }
        }
    }
}

/// Says whether a folder has the name of a room, or of its whole path in the letters that agents use for one.
fn is_made_for(folder: &str, room: &str) -> bool {
    folder.strip_suffix(room).is_some_and(|before| before.is_empty() || before.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_folders_of_a_room_go_and_all_others_stay() {
        let base = tempfile::tempdir().unwrap();
        let (home, claude) = (base.path().join("home"), base.path().join("claude"));
        let room = home.join(".cache/cli-team-bridge/trial-1a");
        let made = [
            claude.join("projects/-home-u--cache-cli-team-bridge-trial-1a"),
            home.join(".cache/claude-cli-nodejs/-home-u-trial-1a"),
            home.join(".gemini/tmp/trial-1a"),
            home.join(".qwen/projects/-home-u-trial-1a"),
            home.join(".factory/sessions/-home-u-trial-1a"),
        ];
        let others = [
            claude.join("projects/-home-u-work"),
            home.join(".claude/projects/-home-u-trial-1a"),
            home.join(".gemini/tmp/trial-1a-mine"),
            home.join(".gemini/tmp/mytrial-1a"),
            home.join(".gemini/history/trial-2b"),
            home.join(".mine/trial-1a"),
        ];
        for path in made.iter().chain(&others) {
            fs::create_dir_all(path.join("memory")).unwrap();
            fs::write(path.join("log.jsonl"), "").unwrap();
        }
        let link = home.join(".qwen/tmp/trial-1a");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&others[5], &link).unwrap();
        remove_for(&room, |name| match name {
            "HOME" => Some(home.clone()),
            "CLAUDE_CONFIG_DIR" => Some(claude.clone()),
            _ => None,
        });
        assert!(made.iter().all(|path| !path.exists()), "{made:?}");
        assert!(others.iter().all(|path| path.join("log.jsonl").exists()), "{others:?}");
        assert!(link.is_symlink());
    }
}
