//! Notifications for a user who looks at no window: something waits for them, or has ended.
//!
//! The bridge that leads sends them, for its own agents and workflows only, so that each comes once. What is worth one is decided by
//! looking at the state (`watch_state`) and when it is sent by the pure `pacing`; the targets are at the edge. A target that
//! fails never delays anything else: the user is warned once, until it works again.
//!
//! The lead passes messages on to the webhooks of the user, too (`webhooks`).

mod next_change;
mod notification;
mod pacing;
mod send_alerts;
mod targets;
mod webhooks;
mod watch_state;

pub use self::notification::Notification;
pub use self::send_alerts::Alerts;
pub use self::targets::Targets;
pub use self::webhooks::messages_waiting;
