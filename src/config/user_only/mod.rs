//! Sections that only the user's own files may have.

mod bus_section;
mod projects_section;
mod webhooks_section;

pub use self::bus_section::BusOfNew;
pub(super) use self::bus_section::{named, read as read_bus};
pub use self::projects_section::ProjectTag;
pub(super) use self::projects_section::read as read_projects;
pub use self::webhooks_section::Webhook;
pub(super) use self::webhooks_section::read as read_webhooks;
