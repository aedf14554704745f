//! Looks at the bus after its changes, and sends out an errand to each project that something is for.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::errands::{Errand, add_looks, errands, has_errands, to_look_at};
use super::known_projects::KnownProjects;
use super::look_there::look_there;
use super::open_other::{self, NotOpened};
use super::run_errand::{Ended, end_moved, hold, run};
use super::under_way::UnderWay;
use crate::bus::Membership;
use crate::bus::rules::{Crossing, Operation};
use crate::bus::state::State;
use crate::domain::member::Label;
use crate::domain::messaging::{DirectoryMark, HeldWhy, ListedProjects};
use crate::domain::{limits, wait_times};
use crate::sys::clock;

/// The courier of one session. Dropping it ends it: an errand under way ends by itself, and what it leaves is found by the next one.
pub struct Courier {
    end: CancellationToken,
    looking: AbortOnDropHandle<()>,
}

impl Courier {
    /// Begins to watch the bus of a membership. Also one whose user has listed no project may come to lead, and then says so.
    pub fn start(membership: &Membership, projects: KnownProjects) -> Self {
        let end = CancellationToken::new();
        let looking = look(membership.clone(), projects, end.clone());
        Self { looking: AbortOnDropHandle::new(tokio::spawn(looking)), end }
    }

    /// Ends it before the session leaves.
    pub async fn finish(self) {
        self.end.cancel();
        // It looks at nothing but its own bus.
        let _ = self.looking.await;
    }
}

async fn look(me: Membership, projects: KnownProjects, end: CancellationToken) {
    let mut changes = me.bus().changes();
    let (done, mut ended) = mpsc::channel(limits::PROJECTS);
    let mut under_way = UnderWay::default();
    let mut to_look = None;
    // Who has come to lead since it joined has not listed them. One that has none takes nobody's away because of this moment.
    let mut led = projects.is_empty() && me.bus().look(|state| state.is_lead(me.session()));
    let mut seen = Seen { projects: projects.clone(), last: None };
    while !end.is_cancelled() {
        changes.mark_unchanged();
        if let Err(error) = me.bus().refresh() {
            tracing::debug!("failed to look what is for other projects: {error}");
        }
        let session = me.session();
        let leads = me.bus().look(|state| state.is_lead(session));
        if leads != led {
            led = leads && list(&me, seen.listed().await).await;
        }
        to_look = to_look.or_else(|| me.bus().look(|state| to_look_at(state, session)));
        let looks = to_look.as_ref().is_some_and(|tags| !tags.is_empty());
        let all = if looks || me.bus().look(|state| has_errands(state, session)) {
            let (listed, now_ms) = (seen.listed().await, clock::now().wall_ms);
            me.bus().look(|state| {
                let mut all = errands(state, session, &listed, now_ms);
                if let Some(tags) = &mut to_look {
                    add_looks(&mut all, state, &listed, tags);
                }
                all
            })
        } else {
            BTreeMap::new()
        };
        for (tag, mut errand) in all {
            end_moved(&me, &mut errand).await;
            let now = Instant::now();
            if under_way.is_late(&tag, now) {
                hold(&me, &errand.letters, HeldWhy::Unusable).await;
            }
            if errand.is_empty() || !under_way.may_begin(&tag, now) {
                continue;
            }
            under_way.begin(&tag, now);
            let looks = errand.looks;
            let done = done.clone();
            let (name, me, projects) = (tag.clone(), me.clone(), projects.clone());
            let work = move || {
                let how = travel(&me, &projects, &tag, errand);
                // The courier may have ended.
                let _ = done.blocking_send((tag, how, looks));
            };
            let started = thread::Builder::new().name("courier".to_owned()).spawn(work);
            if let Err(error) = started {
                tracing::warn!("nothing can be taken to another project now: {error}");
                under_way.end(&name, Ended::Again, now);
            }
        }
        tokio::select! {
            Some((tag, how, looks)) = ended.recv() => {
                if let Some(tags) = to_look.as_mut().filter(|_| looks && how == Ended::Done) {
                    tags.remove(&tag);
                }
                under_way.end(&tag, how, Instant::now());
            }
            heard = changes.changed() => {
                if heard.is_err() {
                    return;
                }
                // A busy team changes the state many times a second.
                tokio::time::sleep(wait_times::COURIER_PAUSE).await;
            }
            // For what nobody rang for, and for projects that rest.
            () = tokio::time::sleep(wait_times::COURIER_LOOK), if !projects.is_empty() => {}
            () = end.cancelled() => {}
        }
    }
}

/// Lists the projects of the session that has come to lead: the team goes by them now. Says whether that is done.
async fn list(me: &Membership, listed: ListedProjects) -> bool {
    let listed = Operation::Crossing(Crossing::Listed(listed));
    me.ask(listed)
        .await
        .inspect_err(|error| tracing::debug!("failed to list the projects: {error}"))
        .is_ok()
}

/// The projects as they were at the last look.
struct Seen {
    projects: KnownProjects,
    last: Option<(ListedProjects, Instant)>,
}

impl Seen {
    /// Looks at the directories, unless that was a moment ago. They may hang, so a thread of its own does it.
    async fn listed(&mut self) -> ListedProjects {
        let last = self.last.as_ref().filter(|(_, at)| at.elapsed() < wait_times::COURIER_LOOK);
        if let Some((listed, _)) = last {
            return listed.clone();
        }
        let projects = self.projects.clone();
        match tokio::task::spawn_blocking(move || projects.listed()).await {
            Ok(listed) => self.last = Some((listed, Instant::now())),
            Err(error) => tracing::warn!("failed to look at other projects: {error}"),
        }
        self.last.as_ref().map(|(listed, _)| listed.clone()).unwrap_or_default()
    }
}

/// Takes an errand to a project. Blocks, as long as its directory and the other bus let it.
fn travel(me: &Membership, projects: &KnownProjects, tag: &Label, errand: Errand) -> Ended {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::warn!("nothing can be taken to `{tag}:` now: {error}");
            return Ended::Again;
        }
    };
    runtime.block_on(async {
        let place = errand.is_of_team.then(|| projects.place(tag)).flatten();
        let own = me.bus().look(|state| state.other_projects().own.clone());
        let Some((own, directory)) = own.zip(place) else {
            hold(me, &errand.letters, HeldWhy::Unlisted).await;
            return Ended::Again;
        };
        let mark = DirectoryMark::of(&directory);
        let is_same = |state: &State| {
            state.other_projects().known.get(tag).is_some_and(|known| known.mark == mark)
        };
        if !me.bus().look(is_same) {
            // It has moved since the last look, and the next one says what follows.
            return Ended::Again;
        }
        match open_other::open(&directory) {
            Ok(other) => {
                let looks = errand.looks;
                let mut ended = run(me, &own, &other, errand).await;
                if looks
                    && ended != Ended::Busy
                    && let Err(error) = look_there(me, &own, &other, tag).await
                {
                    tracing::debug!("failed to look for what is forgotten here: {error}");
                    ended = Ended::Again;
                }
                other.close().await;
                ended
            }
            // Whoever wrote is told only if it stays so.
            Err(NotOpened::Busy) => Ended::Busy,
            Err(NotOpened::Held(why)) => {
                hold(me, &errand.letters, why).await;
                // Where nothing is, nothing is forgotten.
                if errand.only_looks() { Ended::Done } else { Ended::Again }
            }
        }
    })
}
