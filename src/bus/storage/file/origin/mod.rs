//! The origin of a bus, and its record in the user's state directory.

pub(super) mod bus_origin;
pub(super) mod directory_identity;
mod keeper_change;
pub mod known_buses;
pub(super) mod pending_change;
mod required_proof;

pub use self::required_proof::{Foreign, Origin, Proof};
