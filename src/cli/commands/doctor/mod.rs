//! `doctor`: says whether everything that a team needs is there and works, and of each problem what to do.
//!
//! The report goes to stdout, what happens meanwhile to stderr. The exit code says how it stands: 0 for well, 1 for problems, 2 where
//! something could not be found out and nothing worse was found, or where the look itself could not be taken.

mod progress_lines;
mod report_lines;
mod run_doctor;

pub(crate) use self::run_doctor::{DoctorArguments, run};
