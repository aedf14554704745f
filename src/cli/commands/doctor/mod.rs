//! `doctor`: checks that everything a team needs is installed and works, and suggests a remedy for each problem.
//!
//! The report goes to stdout, progress to stderr. The exit code is 0 if all is well, 1 if there are problems, and 2 if there are only
//! unknowns, or if the examination itself failed.

mod progress_lines;
mod report_lines;
mod run_doctor;

pub(crate) use self::run_doctor::{DoctorArguments, run};
