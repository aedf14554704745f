//! The projects of the user as one of them sees them: its own tag, and the directories of the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::ProjectTag;
use crate::domain::member::Label;
use crate::domain::messaging::{DirectoryMark, ListedProjects};

/// The projects of the user, seen from one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownProjects {
    own: Option<Label>,
    others: BTreeMap<Label, PathBuf>,
}

impl KnownProjects {
    /// Tells the own project from the others. Of several tags of one directory the first counts, here and there: an answer comes under the
    /// tag by which it was asked. The others mean nobody.
    pub fn of(listed: &[ProjectTag], root: &Path, home: Option<&Path>) -> Self {
        let root = place(root);
        let (mut own, mut others) = (None, BTreeMap::new());
        let mut named: BTreeMap<PathBuf, &Label> = BTreeMap::new();
        for project in listed {
            let Some(directory) = project.directory(home) else { continue };
            let there = place(&directory);
            if let Some(first) = named.get(&there) {
                tracing::warn!(
                    "[projects] has two tags for `{}`: `{first}` counts, `{}` means nobody",
                    directory.display(),
                    project.tag
                );
                continue;
            }
            if there == root {
                own = Some(project.tag.clone());
            } else {
                others.insert(project.tag.clone(), directory);
            }
            named.insert(there, &project.tag);
        }
        Self { own, others }
    }

    /// Returns what stands of them on the bus: their tags, and a mark of each directory.
    pub fn listed(&self) -> ListedProjects {
        let mark = |directory: &Path| DirectoryMark::of(&place(directory));
        let tags = self.others.iter().map(|(tag, directory)| (tag.clone(), mark(directory)));
        ListedProjects { own: self.own.clone(), tags: tags.collect() }
    }

    /// Returns the own tag.
    pub(super) fn own(&self) -> Option<&Label> {
        self.own.as_ref()
    }

    /// Returns the directory of another project.
    pub(super) fn directory(&self, tag: &Label) -> Option<&Path> {
        self.others.get(tag).map(PathBuf::as_path)
    }
}

/// Returns a directory without links. One that is not there is another one's, and may come back.
fn place(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_project_is_known_by_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let (po, web) = (place.path().join("po"), place.path().join("web"));
        std::fs::create_dir(&po).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&po, &link).unwrap();
        let tag = |tag: &str, path: &Path| {
            ProjectTag::new(Label::parse(tag).unwrap(), path.to_str().unwrap().to_owned())
        };
        let listed = [tag("web", &web), tag("po", &link), tag("again", &po), tag("aweb", &web)];
        let known = KnownProjects::of(&listed, &po, None);
        assert_eq!(known.own().map(Label::as_str), Some("po"));
        assert_eq!(known.directory(&Label::parse("web").unwrap()), Some(web.as_path()));
        let tags: Vec<_> = known.listed().tags.keys().map(ToString::to_string).collect();
        assert_eq!(tags, ["web"]);
        assert_eq!(KnownProjects::of(&listed, &web, None).own().map(Label::as_str), Some("web"));
    }
}
