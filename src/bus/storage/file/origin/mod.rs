//! Where a bus was made, and what the user's state directory notes of that.

pub(super) mod bus_origin;
pub(super) mod directory_identity;
pub mod known_buses;
mod required_proof;

pub use self::required_proof::{Foreign, Origin, Proof};
