//! Looks at the bus after its changes, and passes the messages of one webhook on until its bridge ends.
//!
//! A webhook that fails keeps its place: what it did not get comes once it works again.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::message_post::post_of;
use super::next_message::{next_message, sends};
use crate::alerts::next_change::next_change;
use crate::alerts::targets::{SecretVariable, send_post};
use crate::bus::rules::Operation;
use crate::bus::state::Message;
use crate::bus::{BusError, Membership};
use crate::config::Webhook;
use crate::domain::{limits, wait_times};
use crate::sys::backoff::Backoff;

/// How often a message is tried before the user is warned, and the webhook left alone for a while.
const TRIES: u32 = 5;

/// The pauses between the tries.
const AGAIN: Backoff = Backoff::new(wait_times::WEBHOOK_AGAIN, wait_times::LONGEST_WEBHOOK_AGAIN);

/// What comes of one step.
enum Step {
    /// There is no message to send, or another bridge sends them.
    Nothing,
    Sent,
    Failed(String),
}

/// Passes on the messages of one webhook.
pub(in crate::alerts) struct PassOn {
    membership: Membership,
    webhook: Webhook,
    project: String,
    with_text: bool,
    /// How often the next message has failed in this round.
    tries: u32,
    is_warned: bool,
    /// The seq of a message that was sent, if the bus could not take that down yet: it is not sent again.
    unrecorded: Option<u64>,
}

impl PassOn {
    pub(in crate::alerts) fn new(
        membership: Membership,
        webhook: Webhook,
        (project, with_text): (String, bool),
    ) -> Self {
        Self {
            membership,
            webhook,
            project,
            with_text,
            tries: 0,
            is_warned: false,
            unrecorded: None,
        }
    }

    /// Passes messages on until `end`; then those that are there, as long as they succeed.
    pub(in crate::alerts) async fn run(mut self, end: CancellationToken) {
        let mut changes = self.membership.bus().changes();
        loop {
            changes.mark_unchanged();
            let pause = match self.step().await {
                Step::Sent => {
                    (self.tries, self.is_warned) = (0, false);
                    continue;
                }
                Step::Nothing => None,
                Step::Failed(why) => Some(self.failed(&why)),
            };
            if end.is_cancelled() {
                return;
            }
            let waiting = async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => next_change(&mut changes).await,
                }
            };
            tokio::select! {
                () = waiting => {}
                () = end.cancelled() => {}
            }
        }
    }

    /// Sends the next message, if it is there and this bridge is the one that sends.
    async fn step(&mut self) -> Step {
        if self.unrecorded.is_none() {
            match self.next().await {
                Ok(None) => return Step::Nothing,
                Ok(Some(message)) => {
                    let seq = message.seq;
                    if let Err(why) = self.send(message).await {
                        return Step::Failed(why);
                    }
                    self.unrecorded = Some(seq);
                }
                Err(error) => return Step::Failed(error.to_string()),
            }
        }
        if let Some(seq) = self.unrecorded {
            if let Err(error) = self.record(seq).await {
                return Step::Failed(error.to_string());
            }
            self.unrecorded = None;
        }
        Step::Sent
    }

    async fn next(&self) -> Result<Option<Message>, BusError> {
        let (bus, me) = (self.membership.bus(), self.membership.session());
        bus.refresh()?;
        let place = bus.look(|state| {
            let own = state.session(me)?;
            sends(state, me).then(|| (state.webhook_place(&self.webhook.name), own.since_seq))
        });
        let after = match place {
            None => return Ok(None),
            Some((Some(place), _)) => place,
            // A new webhook begins with what is sent after this bridge has joined.
            Some((None, since)) => {
                self.record(since).await?;
                since
            }
        };
        Ok(bus.look(|state| next_message(state, &self.webhook.to, after).cloned()))
    }

    async fn send(&self, message: Message) -> Result<(), String> {
        let (bus, name) = (self.membership.bus(), self.membership.name());
        let read = bus.load_message(message, name, 0, limits::WEBHOOK_TEXT_BYTES);
        let message = read.map_err(|error| error.to_string())?;
        let post = post_of(&self.webhook, (&self.project, self.with_text), &message);
        let key = "secret_env";
        let secret = self.webhook.secret_env.as_deref().map(|name| SecretVariable { key, name });
        send_post(&post, secret).await
    }

    async fn record(&self, seq: u64) -> Result<(), BusError> {
        let sent = Operation::WebhookSent(self.webhook.name.clone(), seq);
        self.membership.ask(sent).await.map(drop)
    }

    /// Returns the pause after a failure. The user is warned once, until the webhook works again.
    fn failed(&mut self, why: &str) -> Duration {
        self.tries += 1;
        if self.tries < TRIES {
            return AGAIN.pause_after(self.tries);
        }
        self.tries = 0;
        if !std::mem::replace(&mut self.is_warned, true) {
            let (to, name) = (&self.webhook.to, &self.webhook.name);
            tracing::warn!(
                "the messages to {to} are not passed on ([webhooks.{name}]), and wait until they can be: {why}"
            );
        }
        wait_times::WEBHOOK_REST
    }
}
