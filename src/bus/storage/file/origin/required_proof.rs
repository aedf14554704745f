//! Whether a bus has to prove where it was made, by what, and what becomes of one that cannot.

use crate::sys::fs::user_state_dir::StateDirectory;

/// Whether a bus has to prove that it was made where it is.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Not to this process: whoever started it on this bus has seen the proof.
    Believed,
    Proven(Proof),
}

/// What proves where buses were made.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The user's state directory, where there is one.
    pub state: Option<StateDirectory>,
    /// What becomes of a foreign bus.
    pub foreign: Foreign,
}

/// What becomes of a bus that was not made where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It gets another name, and a new one begins.
    PutAside,
    /// The user says that it is to be believed from now on.
    TakenOver,
}
