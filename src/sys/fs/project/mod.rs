//! Files of a project that its members name to each other: found without leaving the project, hashed, and read.

mod project_files;

pub use self::project_files::{FileProblem, NoReading, ProjectFiles};
