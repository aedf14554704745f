//! The projects of the user as one of them sees them: its own tag, and the directories of the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bus::event::{ProjectsListed, Skip};
use crate::config::ProjectTag;
use crate::domain::member::Label;

/// The projects of the user, seen from one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownProjects {
    own: Option<Label>,
    others: BTreeMap<Label, PathBuf>,
}

impl KnownProjects {
    /// Tells the own project from the others. Of several tags of the own directory the first counts; the others mean nobody.
    pub fn of(listed: &[ProjectTag], root: &Path, home: Option<&Path>) -> Self {
        // A directory that is not there is another one's, and may come back.
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = place(root);
        let (mut own, mut others) = (None, BTreeMap::new());
        for project in listed {
            let Some(directory) = project.directory(home) else { continue };
            if place(&directory) == root {
                own.get_or_insert_with(|| project.tag.clone());
            } else {
                others.insert(project.tag.clone(), directory);
            }
        }
        Self { own, others }
    }

    /// Returns what stands of them on the bus: their tags.
    pub fn listed(&self) -> ProjectsListed {
        let tags = self.others.keys().cloned().collect();
        ProjectsListed { own: self.own.clone(), tags, skip: Skip }
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
        let listed = [tag("web", &web), tag("po", &link), tag("again", &po)];
        let known = KnownProjects::of(&listed, &po, None);
        assert_eq!(known.own().map(Label::as_str), Some("po"));
        assert_eq!(known.directory(&Label::parse("web").unwrap()), Some(web.as_path()));
        let tags: Vec<_> = known.listed().tags.iter().map(ToString::to_string).collect();
        assert_eq!(tags, ["web"]);
        assert_eq!(KnownProjects::of(&listed, &web, None).own().map(Label::as_str), Some("web"));
    }
}
