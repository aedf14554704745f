//! Judges an entry of our server in a file of a project: whoever wrote the repository may have written it, and it may run other programs
//! under our name and with the permissions of our tools.

use std::path::Path;

use serde_json::Value;

use super::edits::config_edit::further_fields;
use super::projects_program::may_be_the_projects;
use crate::sys::fs::real_path;
use crate::sys::fs::rights_of_others::others_may_replace;

/// Why an entry is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryFault {
    /// It has these fields, which setup does not write.
    Fields(Vec<String>),
    /// Its arguments are not those that setup writes. Some name further files, or give away what the user has to decide.
    Arguments,
    /// It starts a program that the project brings.
    ProjectsProgram,
    /// It starts a program that another user may replace.
    OthersProgram,
}

/// Judges the form of an entry: only what setup writes may be in it, but numbers may differ. Its program is not judged. Pure.
pub fn judge_form(entry: &Value, expected: &Value) -> Result<(), EntryFault> {
    let fields = further_fields(entry, expected);
    if !fields.is_empty() {
        return Err(EntryFault::Fields(fields));
    }
    let has_our_arguments = entry.get("args") == expected.get("args");
    if has_our_arguments { Ok(()) } else { Err(EntryFault::Arguments) }
}

/// Judges the command of an entry in a file of `project`. `own` is the program of this process, which the user runs anyway.
pub fn judge_program(command: &str, project: &Path, own: &Path) -> Result<(), EntryFault> {
    if may_be_the_projects(command, project) {
        return Err(EntryFault::ProjectsProgram);
    }
    // A name without a slash is looked for on the user's `PATH`.
    if !command.contains('/') || Path::new(command) == own {
        return Ok(());
    }
    let places = real_path::places_on_the_way(Path::new("/"), Path::new(command));
    let is_safe =
        places.is_some_and(|places| !places.iter().any(|place| others_may_replace(place)));
    if is_safe { Ok(()) } else { Err(EntryFault::OthersProgram) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_setup_writes_may_be_in_a_projects_entry() {
        let ours = json!({ "command": "/x", "args": ["orchestrator"], "timeout": 150_000 });
        let check = |key: &str, value: Value, expected: Result<(), EntryFault>| {
            let mut entry = ours.clone();
            entry[key] = value;
            assert_eq!(judge_form(&entry, &ours), expected, "{key}");
        };
        check("timeout", json!(9), Ok(()));
        // The client does not take it, which runs no other program.
        check("timeout", json!("x"), Ok(()));
        check("type", json!("stdio"), Ok(()));
        check("type", json!("http"), Err(EntryFault::Fields(vec!["type".to_owned()])));
        for args in [
            json!(["orchestrator", "--config", ".evil.toml"]),
            json!(["orchestrator", "--adopt"]),
            json!(["orchestrator", "--project", "/elsewhere"]),
            json!([]),
            json!("orchestrator"),
        ] {
            check("args", args, Err(EntryFault::Arguments));
        }
        // As README writes it for any client, also for those in whose entries setup sets no limit.
        let without_limit = json!({ "command": "/x", "args": ["orchestrator"] });
        assert_eq!(judge_form(&ours, &without_limit), Ok(()));
        let mut odd = ours.clone();
        odd["timeout"] = json!("$(x)");
        let fault = Err(EntryFault::Fields(vec!["timeout".to_owned()]));
        assert_eq!(judge_form(&odd, &without_limit), fault);
        for key in ["env", "envFile", "cwd"] {
            let fault = EntryFault::Fields(vec![key.to_owned()]);
            check(key, json!({ "BRIDGE_ADOPT": "1" }), Err(fault));
        }
        let bare = json!({ "command": "/x" });
        assert_eq!(judge_form(&bare, &ours), Err(EntryFault::Arguments));
    }

    #[test]
    fn a_program_that_another_user_may_replace_is_not_believed() {
        let around = tempfile::tempdir().unwrap();
        let around = around.path().canonicalize().unwrap();
        let mode = |name: &str, mode: u32| {
            fs::set_permissions(around.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        for folder in ["project", "own", "shared"] {
            fs::create_dir(around.join(folder)).unwrap();
            mode(folder, 0o755);
        }
        for program in ["own/p", "own/open", "shared/p"] {
            fs::write(around.join(program), "").unwrap();
            mode(program, 0o755);
        }
        symlink("../own/p", around.join("shared/link")).unwrap();
        mode("shared", 0o777);
        mode("own/open", 0o757);
        let project = around.join("project");
        let check = |command: &str, own: &str, expected: Result<(), EntryFault>| {
            let command = around.join(command);
            let judged = judge_program(command.to_str().unwrap(), &project, &around.join(own));
            assert_eq!(judged, expected, "{command:?}");
        };
        check("own/p", "x", Ok(()));
        check("own/open", "x", Err(EntryFault::OthersProgram));
        check("shared/p", "x", Err(EntryFault::OthersProgram));
        // The link may lead elsewhere tomorrow.
        check("shared/link", "own/p", Err(EntryFault::OthersProgram));
        check("shared/p", "shared/p", Ok(()));
        check("project/p", "project/p", Err(EntryFault::ProjectsProgram));
        assert_eq!(judge_program("cli-team-bridge", &project, Path::new("/x")), Ok(()));
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(around.join("own/p"), Some(12), None).unwrap();
            check("own/p", "x", Err(EntryFault::OthersProgram));
        }
    }
}
