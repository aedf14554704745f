//! What leaves the bus: how far its webhooks are.

mod webhooks;

pub(super) use self::webhooks::webhook_sent;
