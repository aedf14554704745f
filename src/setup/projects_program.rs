//! Whether the command of a project's entry starts a program that the project brings: whoever wrote the repository would choose it.

use std::path::Path;

use crate::sys::fs::real_path;

/// Says whether a command in a file of a project may name a program of that project. A name without a slash is looked for on `PATH`.
pub fn may_be_the_projects(command: &str, project: &Path) -> bool {
    if !command.contains('/') {
        return false;
    }
    let path = Path::new(command);
    // A relative path begins where the client is started.
    if !path.is_absolute() {
        return true;
    }
    let root = Path::new("/");
    let project_itself = real_path::destination(root, project);
    let is_inside = |path: &Path| {
        let is_in_project = path.starts_with(project)
            || project_itself.as_ref().is_some_and(|project| path.starts_with(project));
        // `/proc/self/cwd` and `/dev/fd/../cwd` are the project in a client that is started there.
        is_in_project || path.starts_with("/proc") || path.starts_with("/dev")
    };
    // A path that leads nowhere certain is not believed.
    is_inside(path)
        || real_path::destination(root, path).is_none_or(|destination| is_inside(&destination))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_program_inside_the_project_is_the_projects_by_whatever_path() {
        let around = tempfile::tempdir().unwrap();
        let around = around.path().canonicalize().unwrap();
        let project = around.join("project");
        fs::create_dir_all(project.join("bin")).unwrap();
        fs::create_dir(around.join("own")).unwrap();
        symlink("project", around.join("link")).unwrap();
        let of = |command: &str| {
            let command = command.replace("AROUND", around.to_str().unwrap());
            [&project, &around.join("link")].map(|root| may_be_the_projects(&command, root))
        };
        for command in [
            "./cli-team-bridge",
            "bin/cli-team-bridge",
            "AROUND/project/bin/cli-team-bridge",
            "AROUND/own/../project/bin/cli-team-bridge",
            "AROUND/link/cli-team-bridge",
            "/proc/self/cwd/cli-team-bridge",
            "/dev/fd/../cwd/cli-team-bridge",
        ] {
            assert_eq!(of(command), [true, true], "{command}");
        }
        for command in [
            "",
            "cli-team-bridge",
            "AROUND/own/cli-team-bridge",
            "AROUND/project-2/cli-team-bridge",
        ] {
            assert_eq!(of(command), [false, false], "{command}");
        }
    }
}
