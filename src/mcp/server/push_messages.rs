//! Pushes messages into the session of a client, as notifications that it shows its model. Claude Code calls that a channel.
//!
//! The client answers none of them, so a push proves nothing: see `delivery::methods::channel`.

use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{Peer, RoleServer, ServiceError};
use serde_json::json;

use super::server_handle::Server;
use crate::bus::{LoadedMessage, Membership, Pushed};
use crate::delivery::methods::channel;
use crate::domain::name::Name;

/// The capability of a server that pushes.
pub(super) const CHANNEL: &str = "claude/channel";

/// The notification that carries a message.
const NOTIFICATION: &str = "notifications/claude/channel";

impl Server {
    /// Pushes the messages of its member as they come, until the client is gone.
    pub(super) async fn push_messages(&self, peer: Peer<RoleServer>) {
        let membership = self.membership();
        let pushing = async {
            while let Ok(held) = membership.membership().await {
                tokio::select! {
                    () = push_all(&held, &peer) => return,
                    // The messages of a bus that was removed are gone.
                    () = membership.until_replaced(held.session()) => {}
                }
            }
        };
        tokio::select! {
            () = pushing => {}
            () = self.ending().cancelled() => {}
        }
    }
}

async fn push_all(membership: &Membership, peer: &Peer<RoleServer>) {
    let mut changes = membership.bus().changes();
    let mut pushed = Pushed::default();
    loop {
        changes.mark_unchanged();
        loop {
            match membership.next_push(&mut pushed, channel::BYTES).await {
                Ok(Some(push)) => match send(peer, &push.message, membership.name()).await {
                    Ok(()) => push.sent(),
                    Err(error) => {
                        tracing::debug!("failed to push a message: {error}");
                        if let Err(error) = push.requeue().await {
                            // Its deadline requeues it.
                            tracing::debug!("failed to requeue it: {error}");
                        }
                    }
                },
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!("failed to look for messages to push: {error}");
                    break;
                }
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn send(
    peer: &Peer<RoleServer>,
    message: &LoadedMessage,
    reader: &Name,
) -> Result<(), ServiceError> {
    let params = json!({
        "content": channel::content(message, reader),
        "meta": channel::attributes(message),
    });
    let notification = CustomNotification::new(NOTIFICATION, Some(params));
    peer.send_notification(ServerNotification::CustomNotification(notification)).await
}
