//! The numbers of the stored formats, and when to raise which. A number never goes down.
//!
//! - A new field of the state, which older versions would drop: [`SNAPSHOT_LEVEL`]. Keep a fixture of the new level
//!   (`the_state_has_the_fields_of_its_level` says how).
//! - Rules that would go wrong in older versions without any newer field: [`LEAST_SNAPSHOT_LEVEL`], in snapshots, and `least` in
//!   `bus.json`.
//! - Another form of a snapshot, around the state: [`SNAPSHOT_FORMAT`]. Older versions skip such snapshots, as long as the log is
//!   complete.
//! - Another layout of the bus's directory: [`BUS_FORMAT`]. Older versions refuse such a bus.
//!
//! A new kind of event raises none of them: each line itself says whether older versions may skip it.

/// The format of a bus, in `bus.json`. This version writes it, and reads it and all earlier ones.
pub(crate) const BUS_FORMAT: u32 = 1;

/// The form of a snapshot.
pub(crate) const SNAPSHOT_FORMAT: u32 = 1;

/// The level of the state in a snapshot. A snapshot without one has level 1.
pub(crate) const SNAPSHOT_LEVEL: u32 = 8;

/// The least level of a version that may continue from a snapshot of this version.
pub(crate) const LEAST_SNAPSHOT_LEVEL: u32 = 1;
