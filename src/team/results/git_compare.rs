//! The changes of a task according to git: a look before it, compared with one after it.
//!
//! A task's prompt waits for the first look, but not for long. If git could not look, or not in time, the result says what is
//! unknown, and why. A change found may be another process's work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::git_query::{GitTrouble, Repository};
use super::git_snapshot::{GitSnapshot, compare};
use crate::domain::task::result::{Change, GitLook};
use crate::domain::text::counted::counted_as;
use crate::domain::wait_times;

/// A look at the start of a task, running or done.
pub(crate) struct Before {
    repository: Repository,
    looking: AbortOnDropHandle<Result<GitSnapshot, GitTrouble>>,
    hold: Hold,
}

/// Delays the prompt of a task until git has looked.
#[derive(Clone)]
pub(crate) struct Hold {
    looked: CancellationToken,
    /// Whether the agent got its prompt before git had looked.
    late: Arc<AtomicBool>,
}

impl Hold {
    /// Waits until git has looked, within a limit.
    pub(crate) async fn wait(&self) {
        self.wait_for(wait_times::GIT_BEFORE_PROMPT).await;
    }

    pub(super) async fn wait_for(&self, limit: Duration) {
        let looked = tokio::time::timeout(limit, self.looked.cancelled()).await;
        if looked.is_err() {
            self.late.store(true, Ordering::Relaxed);
        }
    }
}

impl Repository {
    /// Begins the look at a task's start; `done` receives its report.
    pub(crate) fn look_before(self, done: impl FnOnce(&str) + Send + 'static) -> Before {
        let repository = self.clone();
        let hold = Hold { looked: CancellationToken::new(), late: Arc::default() };
        let looked = hold.looked.clone().drop_guard();
        let looking = tokio::spawn(async move {
            let _looked = looked;
            let look = self.look(&BTreeMap::new()).await;
            match &look {
                Ok(look) => {
                    let files = counted_as(look.dirty.len(), "file differs", "files differ");
                    done(&format!("looked: {files}"));
                }
                Err(trouble) => done(&trouble.to_string()),
            }
            look
        });
        Before { repository, looking: AbortOnDropHandle::new(looking), hold }
    }
}

impl Before {
    /// Returns the hold that delays the prompt.
    pub(crate) fn hold(&self) -> Hold {
        self.hold.clone()
    }

    /// Looks again, and returns the changes since the start, by path from the project.
    pub(crate) async fn compare(self) -> (BTreeMap<String, Change>, GitLook) {
        let Self { repository, looking, hold } = self;
        let compared = async {
            let before = match looking.await {
                Ok(look) => look?,
                Err(error) => return Err(GitTrouble::Unheard(error.to_string())),
            };
            let after = repository.look(&before.dirty).await?;
            let commits = repository.commits(&before, &after).await?;
            Ok(compare(&before, &after, &commits))
        };
        let changes = match compared.await {
            Ok(changes) => changes,
            Err(GitTrouble::NoGit) => return (BTreeMap::new(), GitLook::Absent),
            Err(trouble) => return (BTreeMap::new(), GitLook::Partly(trouble.to_string())),
        };
        let inner = changes.into_iter().filter_map(|(path, change)| {
            let path = repository.in_project(&path)?;
            Some((path, change))
        });
        let look = if hold.late.load(Ordering::Relaxed) {
            let why =
                "the agent started before git's first look, so its first changes may be missing";
            GitLook::Partly(why.to_owned())
        } else {
            GitLook::Compared
        };
        (inner.collect(), look)
    }
}
