//! The `[projects]` of a configuration: the user's other projects, whose members can be written to. Only the user's own files have it.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

use crate::config::error::shown;
use crate::config::toml_reader::Reader;
use crate::domain::limits;
use crate::domain::member::Label;

/// What begins a directory in the home directory of the user.
const HOME: &str = "~/";

/// A project of the user, under the word by which its members are addressed from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectTag {
    pub tag: Label,
    /// As it was written: absolute, or from the home directory on.
    directory: String,
}

impl ProjectTag {
    /// Makes one of a directory that is absolute, or begins with `~/`.
    pub fn new(tag: Label, directory: String) -> Self {
        Self { tag, directory }
    }

    /// Returns the directory; none if it is in a home directory that nobody knows.
    pub fn directory(&self, home: Option<&Path>) -> Option<PathBuf> {
        match self.directory.strip_prefix(HOME) {
            Some(rest) => Some(home?.join(rest)),
            None => Some(PathBuf::from(&self.directory)),
        }
    }
}

/// Reads the section over the projects of the files before it.
pub(in crate::config) fn read(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    projects: &mut Vec<ProjectTag>,
) {
    for entry in reader.table(value, "`projects`").unwrap_or_default() {
        let Ok(tag) = Label::parse(entry.key) else {
            let message = format!("invalid tag of a project: {:?} is no word", shown(entry.key));
            reader.report(&entry.key_span, message);
            continue;
        };
        let what = format!("`{tag}` of [projects]");
        let most = limits::PROJECT_DIRECTORY_BYTES;
        let Some(directory) = reader.line(entry.value, &what, most) else { continue };
        if !directory.starts_with(HOME) && !Path::new(&directory).is_absolute() {
            let message = format!(
                "{what} is {:?}: it must be the project's directory, absolute or from `~/` on",
                shown(&directory)
            );
            reader.report(&entry.value.span(), message);
            continue;
        }
        projects.retain(|other| other.tag != tag);
        if projects.len() == limits::PROJECTS {
            let most = limits::PROJECTS;
            let message = format!("`projects` has more than {most} of them, the limit");
            return reader.report(&entry.key_span, message);
        }
        projects.push(ProjectTag::new(tag, directory));
    }
}
