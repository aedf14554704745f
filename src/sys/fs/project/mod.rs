//! Files of a project that its members name to each other: found without leaving the project, hashed, and read.

mod project_files;
mod attach_files;

pub use self::attach_files::{AttachmentFields, GivenAttachments};
pub use self::project_files::{FileProblem, NoReading, ProjectFiles};
