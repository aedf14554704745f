//! The projects of the user as one of them sees them: its own tag, and the directories of the others.
//!
//! A directory on a disk that hangs answers no look. So each is looked at by a thread of its own, one at a time, and nobody waits for it
//! for long: until it answers, it is what it was at the last look.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::Instant;

use crate::config::ProjectTag;
use crate::domain::member::Label;
use crate::domain::messaging::{DirectoryMark, ListedProjects};
use crate::domain::wait_times;
use crate::sys::mutex::lock;

/// The projects of the user, seen from one of them.
#[derive(Clone, Debug)]
pub struct KnownProjects {
    root: PathBuf,
    /// How a directory is looked at.
    look: fn(&Path) -> PathBuf,
    /// In the order of the configuration.
    projects: Arc<[Project]>,
    warned: Arc<Once>,
}

#[derive(Debug)]
struct Project {
    tag: Label,
    directory: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

/// What is known of a directory.
#[derive(Debug, Default)]
struct Seen {
    /// Where it was at the last look that was answered.
    place: Option<PathBuf>,
    is_looked_at: bool,
}

impl KnownProjects {
    /// Takes the projects of the configuration. Nothing is looked at yet.
    pub fn of(listed: &[ProjectTag], root: &Path, home: Option<&Path>) -> Self {
        let projects = listed.iter().filter_map(|project| {
            let (tag, directory) = (project.tag.clone(), project.directory(home)?);
            Some(Project { tag, directory, seen: Arc::default() })
        });
        let warned = Arc::new(Once::new());
        Self { root: place(root), look: place, projects: projects.collect(), warned }
    }

    /// Says whether the user has listed none.
    pub(super) fn is_empty(&self) -> bool {
        self.projects.is_empty()
    }

    /// Returns what stands of them on the bus: their tags, and a mark of each directory. Looks at the directories, and waits for a moment.
    ///
    /// Of several tags of one directory the first counts, here and there: an answer comes under the tag by which it was asked. The others
    /// mean nobody.
    pub fn listed(&self) -> ListedProjects {
        self.look();
        let (mut own, mut tags, mut unseen) = (None, BTreeMap::new(), BTreeSet::new());
        let mut named: BTreeMap<PathBuf, &Label> = BTreeMap::new();
        let mut doubles = Vec::new();
        for project in self.projects.iter() {
            let seen = lock(&project.seen).place.clone();
            let is_seen = seen.is_some();
            let there = seen.unwrap_or_else(|| project.directory.clone());
            if let Some(first) = named.get(&there) {
                doubles.push((*first, project));
                continue;
            }
            if there == self.root {
                own = Some(project.tag.clone());
            } else {
                tags.insert(project.tag.clone(), DirectoryMark::of(&there));
                if !is_seen {
                    unseen.insert(project.tag.clone());
                }
            }
            named.insert(there, &project.tag);
        }
        self.warned.call_once(|| {
            for (first, Project { tag, directory, .. }) in doubles {
                tracing::warn!(
                    "[projects] has two tags for `{}`: `{first}` counts, `{tag}` means nobody",
                    directory.display()
                );
            }
        });
        ListedProjects { own, tags, unseen }
    }

    /// Looks at all directories that no look hangs at.
    fn look(&self) {
        let (answered, answers) = sync_channel(self.projects.len());
        for project in self.projects.iter() {
            look_at(project, self.look, &answered);
        }
        drop(answered);
        let until = Instant::now() + wait_times::DIRECTORY_LOOK;
        while answers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    }

    /// Returns where the directory of another project is now. Blocks as long as its disk does.
    pub(super) fn place(&self, tag: &Label) -> Option<PathBuf> {
        let project = self.projects.iter().find(|project| project.tag == *tag);
        project.map(|project| (self.look)(&project.directory))
    }
}

/// Begins a look at a directory. It ends before `answered` is dropped.
fn look_at(project: &Project, place: fn(&Path) -> PathBuf, answered: &SyncSender<()>) {
    if std::mem::replace(&mut lock(&project.seen).is_looked_at, true) {
        return;
    }
    let (directory, seen) = (project.directory.clone(), project.seen.clone());
    let answered = answered.clone();
    let look = move || {
        let place = place(&directory);
        *lock(&seen) = Seen { place: Some(place), is_looked_at: false };
        // Nobody may wait any more.
        let _ = answered.try_send(());
    };
    if let Err(error) = thread::Builder::new().name("courier-look".to_owned()).spawn(look) {
        tracing::warn!("failed to look at the directory of another project: {error}");
        lock(&project.seen).is_looked_at = false;
    }
}

/// Returns a directory without links. One that is not there is another one's, and may come back. Blocks as long as its disk does.
fn place(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Hangs where a test has laid a file beside the directory that says so, as a look at a dead network mount does.
    fn place_that_may_hang(directory: &Path) -> PathBuf {
        let hung = directory.with_extension("hung");
        while hung.exists() {
            thread::yield_now();
        }
        place(directory)
    }

    impl KnownProjects {
        pub(in crate::courier) fn that_may_hang(self) -> Self {
            Self { look: place_that_may_hang, ..self }
        }
    }

    pub(in crate::courier) fn tag(tag: &str, path: &Path) -> ProjectTag {
        ProjectTag::new(Label::parse(tag).unwrap(), path.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_own_project_is_known_by_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let (po, web) = (place.path().join("po"), place.path().join("web"));
        std::fs::create_dir(&po).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&po, &link).unwrap();
        let listed = [tag("web", &web), tag("po", &link), tag("again", &po), tag("aweb", &web)];
        let known = KnownProjects::of(&listed, &po, None);
        let own = |known: &KnownProjects| known.listed().own.map(|own| own.to_string());
        assert_eq!(own(&known).as_deref(), Some("po"));
        assert_eq!(known.place(&Label::parse("web").unwrap()), Some(web.clone()));
        let tags: Vec<_> = known.listed().tags.keys().map(ToString::to_string).collect();
        assert_eq!(tags, ["web"]);
        assert_eq!(own(&KnownProjects::of(&listed, &web, None)).as_deref(), Some("web"));
    }

    #[test]
    fn a_directory_that_hangs_keeps_its_last_mark_and_holds_nobody_up() {
        let place = tempfile::tempdir().unwrap();
        let [po, real, web] = ["po", "real", "web"].map(|name| place.path().join(name));
        std::fs::create_dir(&po).unwrap();
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &web).unwrap();
        let known = KnownProjects::of(&[tag("web", &web), tag("po", &po)], &po, None);
        let known = known.that_may_hang();
        let (hung, label) = (web.with_extension("hung"), Label::parse("web").unwrap());
        std::fs::write(&hung, "").unwrap();
        let unseen = known.listed();
        assert!(unseen.unseen.contains(&label), "nothing is known of it");
        assert_eq!(unseen.own.as_ref().map(Label::as_str), Some("po"), "the others are seen");
        std::fs::remove_file(&hung).unwrap();
        let deadline = Instant::now() + std::time::Duration::from_mins(1);
        let seen = loop {
            let listed = known.listed();
            if listed.unseen.is_empty() {
                break listed;
            }
            assert!(Instant::now() < deadline, "it is seen once it answers");
        };
        assert_eq!(seen.tags.get(&label), Some(&DirectoryMark::of(&real.canonicalize().unwrap())));
        std::fs::write(&hung, "").unwrap();
        for _ in 0..2 {
            assert_eq!(known.listed(), seen, "it is what it was");
        }
        std::fs::remove_file(&hung).unwrap();
    }
}
