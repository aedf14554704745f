//! The programs that are members of the team through the API, each under the name of its key.

mod joined_programs;
mod program;
mod sweep_dead;

pub(super) use self::joined_programs::{JoinedPrograms, NotJoined, Staying};
pub(super) use self::program::Program;
pub(super) use self::sweep_dead::sweep_dead;
