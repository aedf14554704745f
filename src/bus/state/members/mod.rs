//! The members of the bus: names, live sessions, and ended sessions.

mod session;
mod ended_session;
mod absent_names;
mod join_and_leave;
mod inbox;
mod find_members;
mod groups;
mod lanes;
mod leadership;
mod topics;

pub use self::ended_session::{EndedSession, ResumeInfo};
pub use self::groups::GroupWords;
pub use self::session::{Member, Session, StopMode};
