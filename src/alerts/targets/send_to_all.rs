//! The targets that a user has named: each gets every notification, and a failure is a warning once, until the target works again.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use super::run_program::run;
use super::send_post::{SecretVariable, program_named, send_post};
use super::terminal_escape;
use super::webhook_request::Post;
use crate::alerts::Notification;
use crate::config::{Desktop, NotifySettings};

/// The targets of one bridge's notifications.
pub struct Targets {
    all: Vec<Target>,
}

struct Target {
    /// Its name in a warning: the key of `[notify]`.
    key: &'static str,
    way: Way,
    has_failed: AtomicBool,
}

enum Way {
    Command(Vec<String>),
    NotifySend,
    Terminal(Desktop),
    Webhook { url: String, secret_env: Option<String> },
}

impl Targets {
    /// Returns the targets of a configuration.
    pub fn of(settings: &NotifySettings) -> Self {
        let command = (!settings.command.is_empty())
            .then(|| ("command", Way::Command(settings.command.clone())));
        let desktop = match settings.desktop {
            Desktop::Off => None,
            Desktop::NotifySend => Some(("desktop", Way::NotifySend)),
            escape @ (Desktop::Osc9 | Desktop::Osc777) => Some(("desktop", Way::Terminal(escape))),
        };
        let secret_env = settings.webhook_secret_env.clone();
        let webhook = settings.webhook.clone();
        let webhook = webhook.map(|url| ("webhook", Way::Webhook { url, secret_env }));
        let all = command.into_iter().chain(desktop).chain(webhook);
        let all = all.map(|(key, way)| Target { key, way, has_failed: AtomicBool::new(false) });
        Self { all: all.collect() }
    }

    /// Sends a notification to each target, and warns of those that have begun to fail.
    pub(in crate::alerts) async fn send(&self, notification: &Notification) {
        let sending = self.all.iter().map(async |target| {
            let failed = target.send(notification).await.err();
            let failed_before = target.has_failed.swap(failed.is_some(), Ordering::Relaxed);
            if let Some(why) = failed.filter(|_| !failed_before) {
                tracing::warn!("a notification was not sent (`{}` of [notify]): {why}", target.key);
            }
        });
        futures::future::join_all(sending).await;
    }

    /// Sends a notification to each target, and returns what came of it, by the keys of `[notify]`.
    pub async fn try_all(
        &self,
        notification: &Notification,
    ) -> Vec<(&'static str, Result<(), String>)> {
        let sending =
            self.all.iter().map(async |target| (target.key, target.send(notification).await));
        futures::future::join_all(sending).await
    }
}

impl Target {
    async fn send(&self, notification: &Notification) -> Result<(), String> {
        match &self.way {
            Way::Command(words) => {
                let (program, args) = words.split_first().ok_or("it is empty")?;
                let kinds: Vec<_> = notification.kinds.iter().map(|kind| kind.as_str()).collect();
                let more = [
                    ("BRIDGE_NOTIFY_TITLE", notification.title.clone()),
                    ("BRIDGE_NOTIFY_KINDS", kinds.join(" ")),
                ];
                let args = args.iter().map(OsString::from).collect();
                let text = format!("{}\n", notification.text);
                run(&program_named(program)?, args, more, &text).await.map(drop)
            }
            Way::NotifySend => {
                let urgency = if notification.needs_somebody() { "critical" } else { "normal" };
                let args = ["--app-name=cli-team-bridge", "--urgency", urgency, "--"];
                let args = args.into_iter().map(str::to_owned);
                // It takes marks for bold words and links.
                let text = notification.text.replace('&', "&amp;").replace('<', "&lt;");
                let args = args.chain([notification.title.clone(), text]).map(OsString::from);
                run(&program_named("notify-send")?, args.collect(), [], "").await.map(drop)
            }
            Way::Terminal(form) => {
                terminal_escape::write(*form, notification).map_err(|error| error.to_string())
            }
            Way::Webhook { url, secret_env } => {
                let key = "webhook_secret_env";
                let secret = secret_env.as_deref().map(|name| SecretVariable { key, name });
                send_post(&Post::of(url, notification), secret).await
            }
        }
    }
}
