//! Rules of members: joining, starting agents, and leaving with all its consequences.

mod join;
mod session_report;
mod stop;
mod lanes;
mod leadership;
mod leave;
mod peer_signals;
mod reap;
mod undelivered_mail;
pub(super) mod session_summary;

pub(super) use self::join::{join, name_holder_first, notify_put_aside, start};
pub(super) use self::lanes::{claim_lane, lose_lane, release_lane};
pub(super) use self::leadership::{lead_rightfully, requeue_mail_for_lead, settle_lead, take_lead};
pub(super) use self::leave::{fail, leave, told_of};
pub(super) use self::reap::reap;
pub(super) use self::session_report::{activity, delivery_methods, model, ready, tools, turn_used};
pub(super) use self::stop::stop;
pub(super) use self::undelivered_mail::{abandon_mail, end_mail};
