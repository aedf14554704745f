//! Permissions: the policies, the decisions, and their sources. Pure.

mod asked_title;
mod judge;
mod permission_decision;
mod permission_policy;

pub use self::asked_title::asked_title;
pub use self::judge::{GUARDED, Ground, Verdict, depends_on_places, is_worse, judge, known_kind};
pub use self::permission_decision::{Decider, Decision};
pub use self::permission_policy::Policy;
