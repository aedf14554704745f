//! The numbers of the stored formats, and when to raise which. A number never goes down.
//!
//! - A new field of the state, which older versions would drop: [`SNAPSHOT_LEVEL`]. Keep a fixture of the new level
//!   (`the_state_has_the_fields_of_its_level` says how).
//! - Rules that would go wrong in older versions without any newer field: [`LEAST_SNAPSHOT_LEVEL`], in snapshots, and `least` in
//!   `bus.json`.
//! - Another form of a snapshot, around the state: [`SNAPSHOT_FORMAT`]. Older versions skip such snapshots, as long as the log is
//!   complete.
//! - Another layout of the bus's directory, or rules that decide what older versions would decide otherwise: [`BUS_FORMAT`]. Older
//!   versions refuse such a bus.
//!
//! A new kind of event raises none of them: each line itself says whether older versions may skip it.
//!
//! A bus of an earlier format keeps that format while processes of this version only look at it, or act for the person at the command
//! line. The first that appends the beginning of a session raises it: `bus.json` first, then the line with `member_described`, which
//! versions of the earlier format do not know and must not skip. So they stop, whether they run or open the bus. A crash between the
//! two leaves a bus that only this version opens, and whose log is as it was. Until a bus is raised, this version writes no snapshots
//! into it: they would be of no use to the versions that work there.

/// The format of a bus, in `bus.json`. This version writes it, and reads it and all earlier ones.
pub(crate) const BUS_FORMAT: u32 = 2;

/// The format of a bus whose order a server keeps. Versions that do not know of servers would append lines that have no place there.
pub(crate) const MIRROR_FORMAT: u32 = 3;

/// The form of a snapshot. This version writes it, and reads it and all earlier ones. Form 2 differs from form 1 in nothing but its
/// number, which earlier versions do not read.
pub(crate) const SNAPSHOT_FORMAT: u32 = 2;

/// The level of the state in a snapshot. A snapshot without one has level 1.
pub(crate) const SNAPSHOT_LEVEL: u32 = 19;

/// The least level of a version that may continue from a snapshot of this version.
pub(crate) const LEAST_SNAPSHOT_LEVEL: u32 = 1;
