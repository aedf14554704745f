//! Whether a bus has to prove its origin, by which record, and what happens to one that cannot.

use crate::sys::fs::user_state_dir::StateDirectory;

/// Whether a bus has to prove that it was created in its directory.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Not to this process: the process that started it has checked the proof.
    Believed,
    Proven(Proof),
}

/// The records that prove where buses were created.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The user's state directory, if there is one.
    pub state: Option<StateDirectory>,
    /// What to do with a foreign bus.
    pub foreign: Foreign,
}

/// What to do with a bus that was not created in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Rename it, and begin a new one.
    PutAside,
    /// Trust it from now on, as the user says.
    TakenOver,
}
