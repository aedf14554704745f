//! What leaves the bus, and what comes from other buses: how far webhooks are, and messages from project to project.

mod arrive;
mod crossings;
mod webhooks;

pub(super) use self::arrive::from_elsewhere;
pub use self::arrive::id_there;
pub(super) use self::crossings::{crossing, list_projects, sets_up_team};
pub(super) use self::webhooks::webhook_sent;
