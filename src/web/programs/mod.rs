//! The programs that are members of the team through the API, each under the name of its key.

mod joined_programs;
mod program;

pub(super) use self::joined_programs::{JoinedPrograms, NotJoined, Staying};
pub(super) use self::program::Program;
