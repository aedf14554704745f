//! Notifications to a user who looks at no window.

pub(crate) mod notify_user;
pub(crate) mod webhooks;
