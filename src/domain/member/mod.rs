//! Members: what a session on the bus is, its number, and what it says of itself.

mod host;
mod host_offer;
mod kind_and_status;
mod label;
mod pool_word;
mod session_number;
mod traits;

pub use self::host::{HOST_NAME_BYTES, Host, HostId};
pub use self::host_offer::{ALL_MACHINES, HostOffer};
pub use self::kind_and_status::{Activity, Departure, MemberKind, PLAN_ROLE, ProcessMark, Tools};
pub use self::label::{Label, LabelError};
pub use self::pool_word::is_word_for_members;
pub use self::session_number::SessionNumber;
pub use self::traits::Traits;
