//! `doctor` with the real binary.

pub(crate) mod doctor_clients;
pub(crate) mod doctor_entries;
pub(crate) mod doctor_report;
pub(crate) mod doctor_rights;
pub(crate) mod doctor_trials;
