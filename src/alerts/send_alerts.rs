//! Looks at the bus after its changes, and sends what is worth a notification, until its bridge ends.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::notification::Notification;
use super::pacing::{Clock, Pacing, millis};
use super::targets::Targets;
use super::watch_state::{Alert, AlertText, Watch, still_stands};
use crate::bus::Membership;
use crate::config::NotifySettings;
use crate::domain::limits;
use crate::domain::{grace_periods, wait_times};
use crate::sys::clock;

/// The notifications of one bridge. Dropping it ends them at once.
pub struct Alerts {
    sending: AbortOnDropHandle<()>,
    end: CancellationToken,
}

impl Alerts {
    /// Begins to watch the bus of a membership; nothing if the user has named no target.
    pub fn start(
        membership: Membership,
        settings: &NotifySettings,
        project: &Path,
    ) -> Option<Self> {
        settings.has_target().then(|| {
            let end = CancellationToken::new();
            let sender = Sender::new(membership, settings, project);
            let sending = tokio::spawn(sender.run(end.clone()));
            Self { sending: AbortOnDropHandle::new(sending), end }
        })
    }

    /// Looks a last time, sends what waits, and ends. A slow target gets little time.
    pub async fn finish(self) {
        self.end.cancel();
        // What was not sent by then is on the bus.
        let _ = tokio::time::timeout(grace_periods::ALERTS, self.sending).await;
    }
}

struct Sender {
    membership: Membership,
    targets: Arc<Targets>,
    settings: NotifySettings,
    project: String,
    watch: Watch,
    pacing: Pacing,
    began: Instant,
}

impl Sender {
    fn new(membership: Membership, settings: &NotifySettings, project: &Path) -> Self {
        let name = project.file_name().unwrap_or(project.as_os_str());
        Self {
            membership,
            targets: Arc::new(Targets::of(settings)),
            settings: settings.clone(),
            project: name.to_string_lossy().into_owned(),
            watch: Watch::default(),
            pacing: Pacing::new(settings.burst, settings.quiet),
            began: Instant::now(),
        }
    }

    async fn run(mut self, end: CancellationToken) {
        let mut changes = self.membership.bus().changes();
        self.look();
        loop {
            let now = self.clock();
            if let Some(due) = self.pacing.take_due(now) {
                // A slow target delays the next notification, and nothing else.
                tokio::select! {
                    () = self.send(due) => {}
                    () = end.cancelled() => break,
                }
                continue;
            }
            let pause = self.pacing.pause(now).map(Duration::from_millis);
            tokio::select! {
                () = next_change(&mut changes) => self.look(),
                () = pause_of(pause) => {}
                () = end.cancelled() => break,
            }
        }
        self.look();
        let now = self.clock();
        if let Some(last) = self.pacing.take_last(now) {
            self.send(last).await;
        }
    }

    fn look(&mut self) {
        let (watch, me) = (&mut self.watch, self.membership.session());
        let mut new = self.membership.bus().look(|state| watch.look(state, me));
        new.retain(|alert| self.settings.on.contains(&alert.kind));
        let now = self.clock();
        self.pacing.add(new, now);
    }

    async fn send(&self, (mut alerts, surplus): (Vec<Alert>, usize)) {
        let bus = self.membership.bus();
        bus.look(|state| alerts.retain(|alert| still_stands(state, &alert.subject)));
        if alerts.is_empty() && surplus == 0 {
            return;
        }
        let read = |alert: &Alert| match alert.text.as_ref().filter(|_| self.settings.texts)? {
            AlertText::Line(text) => Some(text.clone()),
            AlertText::Stored(body) => {
                bus.beginning(*body, limits::ALERT_TEXT_CHARS).ok().flatten()
            }
        };
        let notification = Notification::of(&self.project, &(alerts, surplus), read);
        self.targets.send(&notification).await;
    }

    fn clock(&self) -> Clock {
        Clock { ms: millis(self.began.elapsed()), minute: clock::local_minute_of_day() }
    }
}

/// Waits for a change, and then until a look is worth its cost: a busy team changes the state many times a second.
async fn next_change(changes: &mut watch::Receiver<u64>) {
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(wait_times::LOOK_FOR_ALERTS).await;
    changes.mark_unchanged();
}

async fn pause_of(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}
