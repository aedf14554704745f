//! Looks at the bus after its changes, and sends what is worth a notification, until its bridge ends.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::next_change::next_change;
use super::notification::Notification;
use super::pacing::{Clock, Pacing, millis};
use super::targets::Targets;
use super::watch_state::{Alert, AlertText, Watch, still_stands};
use super::webhooks::PassOn;
use crate::bus::Membership;
use crate::config::{Config, NotifySettings};
use crate::domain::{grace_periods, limits};
use crate::sys::clock;

/// The notifications and webhooks of one bridge. Dropping it ends them at once.
pub struct Alerts {
    sending: Vec<AbortOnDropHandle<()>>,
    end: CancellationToken,
}

impl Alerts {
    /// Begins to watch the bus of a membership; nothing if the user has named no target and no webhook.
    pub fn start(membership: &Membership, config: &Config, project: &Path) -> Option<Self> {
        let (settings, webhooks) = (config.notify(), config.webhooks());
        let (end, mut sending) = (CancellationToken::new(), Vec::new());
        if settings.has_target() {
            let sender = Sender::new(membership.clone(), settings, project);
            sending.push(tokio::spawn(sender.run(end.clone())));
        }
        for webhook in webhooks {
            let how = (name_of(project), settings.texts);
            let passing = PassOn::new(membership.clone(), webhook.clone(), how);
            sending.push(tokio::spawn(passing.run(end.clone())));
        }
        let sending: Vec<_> = sending.into_iter().map(AbortOnDropHandle::new).collect();
        (!sending.is_empty()).then_some(Self { sending, end })
    }

    /// Looks a last time, sends what waits, and ends. A slow target gets little time.
    pub async fn finish(self) {
        self.end.cancel();
        // What was not sent by then is on the bus.
        let _ = tokio::time::timeout(grace_periods::ALERTS, join_all(self.sending)).await;
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
        Self {
            membership,
            targets: Arc::new(Targets::of(settings)),
            settings: settings.clone(),
            project: name_of(project),
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

/// Returns the name of a project's directory.
fn name_of(project: &Path) -> String {
    project.file_name().unwrap_or(project.as_os_str()).to_string_lossy().into_owned()
}

async fn pause_of(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}
