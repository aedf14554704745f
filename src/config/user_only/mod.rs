//! Sections that only the user's own files may have.

mod webhooks_section;

pub use self::webhooks_section::Webhook;
pub(super) use self::webhooks_section::read as read_webhooks;
