//! The configuration file of another program: read with a bound, and replaced whole or not at all.
//!
//! Links are followed, so that a link to a file kept elsewhere stays a link. A file with hard links is refused: a new file would cut
//! them, and writing into the old one would change the others, perhaps a backup, and could leave half a file. A crash leaves the old or
//! the new content, and perhaps a temporary file, which the next change sweeps. Other programs may write the file at any time, so it is
//! read again right before it is replaced. So may its path: a folder that has become a link is not followed.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::domain::limits::{MAX_CLIENT_FILE_BYTES, MAX_PROJECT_CLIENT_FILE_BYTES};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk::{belongs_to_us, has_other_names, make_directory};
use crate::sys::fs::rights_of_others::{closed_part, why_not_create_in};
use crate::sys::fs::temporary_file::{self, TemporaryFile};
use crate::sys::fs::{bounded_file, kept_attributes, real_path};

/// The mode of a new file: for its owner alone, as clients create theirs, because some hold keys.
const NEW_FILE: u32 = 0o600;

/// The bit of a mode that lets the owner write.
const OWNER_WRITES: u32 = 0o200;

/// A file and its content when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// The path with links resolved.
    pub path: PathBuf,
    /// The content; none if there is no file.
    pub text: Option<String>,
    /// The path by which it was found, in which links are followed.
    named: PathBuf,
    mode: u32,
    /// The most bytes that are read of it.
    most: u64,
}

/// Why a file cannot be read or replaced.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    #[error("{} is a broken link", link.shown())]
    Broken { link: PathBuf },
    #[error("{} is no directory, so no file can be in it", place.shown())]
    NoDirectory { place: PathBuf },
    #[error("you may not look into the directory {}; {}", directory.shown(), opening.of(None))]
    Closed { directory: PathBuf, opening: Opening },
    #[error("its path cannot be followed")]
    NotFollowed,
    #[error("its path leads out of the project")]
    Outside,
    #[error("its path in the project contains a link, which may lead to any other file")]
    Linked,
    #[error("it is not a regular file")]
    NotAFile,
    #[error(
        "it is longer than {most} bytes, too long to read: remove what it does not need, or edit it by hand"
    )]
    TooLong { most: u64 },
    #[error("with setup's entries it would be longer than {most} bytes, and not be read again")]
    TooLongAfter { most: u64 },
    #[error("it is not UTF-8")]
    NotText,
    #[error("it is read-only; make it writable (`chmod u+w`) if setup may change it")]
    ReadOnly,
    #[error("it belongs to another user; make it yours (`chown`) if setup may change it")]
    OtherOwner,
    #[error(
        "it belongs to a group that you are not in, so a new file cannot keep that group; give it a group of yours (`chgrp`) if \
         setup may change it"
    )]
    OtherGroup,
    #[error("you may not write to its directory {}; {} if setup may change it", directory.shown(), opening.of(None))]
    Directory { directory: PathBuf, opening: Opening },
    #[error(
        "it has further names (hard links), which a change would cut off: give it a file of its own (`cp -p`, then `mv`), or edit it by hand"
    )]
    OtherNames,
    #[error("another program has just changed it; run setup again")]
    Changed,
    #[error(
        "a link in its path has just changed, so that it leads elsewhere; check that link, and run setup again"
    )]
    Redirected,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What makes a directory writable, or lets its user look into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// All rights of an owner: it is not to be looked into either.
    AllRights,
    Rights,
    Owner,
    Mount,
}

impl Opening {
    /// Says it of this directory, or of one that was just named.
    fn of(self, directory: Option<&Path>) -> String {
        let name = directory.map_or_else(|| "it".to_owned(), |path| path.shown().to_string());
        match self {
            Self::AllRights => format!("open {name} for yourself (`chmod u+rwx`)"),
            Self::Rights => format!("make {name} writable (`chmod u+w`)"),
            Self::Owner => format!("make {name} yours (`chown`)"),
            Self::Mount => {
                let whose = directory.map_or_else(
                    || "its file system".to_owned(),
                    |_| format!("the file system of {name}"),
                );
                format!("mount {whose} so that it can be written to")
            }
        }
    }
}

impl ConfigFileError {
    /// Returns what helps against an error of changing the file at this path, in words.
    pub fn remedy_of_change(&self, path: &str) -> String {
        match self {
            Self::ReadOnly => format!("make {path} writable (`chmod u+w`)"),
            Self::OtherOwner => format!("make {path} yours (`chown`)"),
            Self::OtherNames => format!("give {path} a file of its own (`cp -p`, then `mv`)"),
            Self::OtherGroup => format!("give {path} a group of yours (`chgrp`)"),
            Self::Directory { directory, opening } => opening.of(Some(directory)),
            _ => self.remedy(path),
        }
    }

    /// Returns what helps against an error of reading the file at this path, in words.
    pub fn remedy(&self, path: &str) -> String {
        match self {
            Self::TooLong { .. } => too_much(path),
            Self::Io(_) => format!("make {path} readable for this user"),
            Self::NotAFile => format!("move {path} away"),
            Self::Broken { link } => format!("correct the link {}, or remove it", link.shown()),
            Self::NoDirectory { place } => format!("move {} away", place.shown()),
            Self::Closed { directory, opening } => opening.of(Some(directory)),
            Self::NotFollowed => format!("correct the path {path}"),
            Self::Linked | Self::Outside => {
                format!("put a real file and real directories in place of the links in {path}")
            }
            _ => format!("correct {path}"),
        }
    }
}

/// Returns what helps against a file that has too much for setup, in words.
pub fn too_much(path: &str) -> String {
    format!(
        "remove what {path} does not need, or check it by hand, and add the bridge there if it is missing"
    )
}

impl ConfigFile {
    /// Reads a file. A project's file must be inside the project and reached without links: a repository may bring links that lead
    /// out of it, or into its `.git`. It must also be short, because a repository may bring one that takes long to parse.
    pub fn read(path: &Path, project: Option<&Path>) -> Result<Self, ConfigFileError> {
        let resolved = resolve(path)?;
        match project {
            Some(project) if !resolved.starts_with(project) => Err(ConfigFileError::Outside),
            Some(_) if resolved != path => Err(ConfigFileError::Linked),
            _ => Self::read_at(path, resolved, project),
        }
    }

    /// Reads a file as its client does, which follows all links, also in a project: only to judge what is there.
    pub fn look(path: &Path, project: Option<&Path>) -> Result<Self, ConfigFileError> {
        Self::read_at(path, resolve(path)?, project)
    }

    /// Reads a file at a path that leads through no links.
    fn read_at(
        named: &Path,
        path: PathBuf,
        project: Option<&Path>,
    ) -> Result<Self, ConfigFileError> {
        let most = match project {
            Some(_) => MAX_PROJECT_CLIENT_FILE_BYTES,
            None => MAX_CLIENT_FILE_BYTES,
        };
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let named = named.to_owned();
                return Ok(Self { path, text: None, named, mode: NEW_FILE, most });
            }
            Err(error) => return Err(error.into()),
        };
        if !metadata.is_file() {
            return Err(ConfigFileError::NotAFile);
        }
        let text = Some(text_of(&path, most)?);
        let mode = metadata.permissions().mode() & 0o7777;
        Ok(Self { path, text, named: named.to_owned(), mode, most })
    }

    /// Checks whether this text could be read again, to undo the change.
    pub fn may_become(&self, text: &str) -> Result<(), ConfigFileError> {
        let is_short = u64::try_from(text.len()).is_ok_and(|length| length <= self.most);
        if is_short { Ok(()) } else { Err(ConfigFileError::TooLongAfter { most: self.most }) }
    }

    /// Checks whether this file may be replaced, as far as that is known in advance.
    pub fn may_be_replaced(&self) -> Result<(), ConfigFileError> {
        let directory = self.path.ancestors().skip(1).find(|directory| directory.is_dir());
        if let Some(why) = directory.and_then(why_not_create_in) {
            return Err(self.in_directory(why.into()));
        }
        if self.text.is_none() {
            return Ok(());
        }
        if self.mode & OWNER_WRITES == 0 {
            return Err(ConfigFileError::ReadOnly);
        }
        if !belongs_to_us(&self.path) {
            return Err(ConfigFileError::OtherOwner);
        }
        if has_other_names(&self.path) {
            return Err(ConfigFileError::OtherNames);
        }
        if !kept_attributes::may_keep_group(&self.path)? {
            return Err(ConfigFileError::OtherGroup);
        }
        Ok(())
    }

    /// Returns the directories that have to be created for the file, the outermost first.
    pub fn missing_directories(&self) -> Vec<PathBuf> {
        missing(self.path.parent().unwrap_or(Path::new("/")))
    }

    /// Replaces the file, which must not have changed since it was read. Returns the directories that were created for it, the
    /// outermost first. The new content is on disk when this returns; where its directory cannot be synced, it is in place all the same.
    pub fn replace(&self, text: &str) -> Result<Vec<PathBuf>, ConfigFileError> {
        // Before anything is made or swept there.
        self.check_place()?;
        self.may_be_replaced()?;
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let made = make_missing(directory).map_err(|error| self.in_directory(error))?;
        let written = self.write_and_rename(text);
        if written.is_err() {
            remove_empty(&made);
        }
        written?;
        Ok(made)
    }

    fn write_and_rename(&self, text: &str) -> Result<(), ConfigFileError> {
        temporary_file::sweep(&self.path);
        let new = TemporaryFile::beside(&self.path).map_err(|error| self.in_directory(error))?;
        new.file().write_all(text.as_bytes())?;
        if self.text.is_some() {
            let old = bounded_file::open(&self.path)?;
            kept_attributes::keep_group(&old, new.file()).map_err(|error| {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    ConfigFileError::OtherGroup
                } else {
                    error.into()
                }
            })?;
            kept_attributes::keep_mode_and_attributes(&old, new.file())?;
        }
        self.check_unchanged()?;
        if let Err(error) = new.put_in_place()? {
            // The change is made, so it must be kept in mind: whoever takes it for not made forgets how to undo it.
            let path = self.path.shown();
            tracing::warn!("{path} is written, but a crash of this machine may undo that: {error}");
        }
        Ok(())
    }

    /// Removes the file, which must not have changed since it was read.
    pub fn remove(&self) -> Result<(), ConfigFileError> {
        self.check_place()?;
        self.may_be_replaced()?;
        self.check_unchanged()?;
        fs::remove_file(&self.path).map_err(|error| self.in_directory(error))
    }

    /// Names the directory where it is the reason of an error, with what helps.
    fn in_directory(&self, error: io::Error) -> ConfigFileError {
        let found = self.path.ancestors().skip(1).find(|directory| directory.is_dir());
        let Some(directory) = found else {
            return error.into();
        };
        let opening = match error.kind() {
            io::ErrorKind::PermissionDenied if belongs_to_us(directory) => Opening::Rights,
            io::ErrorKind::PermissionDenied => Opening::Owner,
            io::ErrorKind::ReadOnlyFilesystem => Opening::Mount,
            _ => return error.into(),
        };
        ConfigFileError::Directory { directory: directory.to_owned(), opening }
    }

    /// Removes the temporary files that a killed setup has left beside the file.
    pub fn sweep(&self) {
        if self.check_place().is_ok() {
            temporary_file::sweep(&self.path);
        }
    }

    fn check_unchanged(&self) -> Result<(), ConfigFileError> {
        let now = match text_of(&self.path, MAX_CLIENT_FILE_BYTES) {
            Ok(text) => Some(text),
            Err(ConfigFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now != self.text {
            return Err(ConfigFileError::Changed);
        }
        self.check_place()
    }

    /// Checks whether the path still leads to the file that was read: a folder may have become a link while the user was asked.
    fn check_place(&self) -> Result<(), ConfigFileError> {
        let now = real_path::resolve(Path::new("/"), &self.named);
        if now.as_ref() == Some(&self.path) { Ok(()) } else { Err(ConfigFileError::Redirected) }
    }
}

/// Removes these directories as far as they are empty, the innermost first. A killed removal may have removed some of them.
pub fn remove_empty(directories: &[PathBuf]) {
    for directory in directories.iter().rev() {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // Another program uses this directory, and so all its parents.
                return;
            }
            _ => {}
        }
    }
}

/// Creates a directory and its missing parents; returns those it created, the outermost first. It creates all of them or none.
pub(super) fn make_missing(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = missing(directory);
    for (index, path) in missing.iter().enumerate() {
        if let Err(error) = make_directory(path) {
            remove_empty(&missing[..index]);
            return Err(error);
        }
    }
    Ok(missing)
}

/// Returns the directories that have to be created for one, the outermost first.
pub(super) fn missing(directory: &Path) -> Vec<PathBuf> {
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Returns the place to which a path leads.
fn resolve(path: &Path) -> Result<PathBuf, ConfigFileError> {
    real_path::resolve(Path::new("/"), path).ok_or_else(|| why_not_followed(path))
}

/// Returns why a path leads to no certain place.
fn why_not_followed(path: &Path) -> ConfigFileError {
    let whole: Vec<_> = path.ancestors().collect();
    let is_file = |part: &&&Path| part.metadata().is_ok_and(|metadata| !metadata.is_dir());
    if let Some(place) = whole.iter().skip(1).find(is_file) {
        return ConfigFileError::NoDirectory { place: (*place).to_owned() };
    }
    if let Some(directory) = closed_part(path).filter(|part| part.is_dir()) {
        let is_ours = belongs_to_us(&directory);
        let opening = if is_ours { Opening::AllRights } else { Opening::Owner };
        return ConfigFileError::Closed { directory, opening };
    }
    let is_broken = |part: &&&Path| part.is_symlink() && !part.exists();
    let broken = whole.iter().rfind(is_broken);
    broken.map_or(ConfigFileError::NotFollowed, |link| ConfigFileError::Broken {
        link: (*link).to_owned(),
    })
}

fn text_of(path: &Path, most: u64) -> Result<String, ConfigFileError> {
    let bytes = bounded_file::read(path, most).map_err(|error| {
        if error.kind() == io::ErrorKind::FileTooLarge {
            ConfigFileError::TooLong { most }
        } else {
            ConfigFileError::Io(error)
        }
    })?;
    String::from_utf8(bytes).map_err(|_| ConfigFileError::NotText)
}

#[cfg(test)]
mod tests;
