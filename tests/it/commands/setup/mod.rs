//! `setup` and `setup --remove` with the real binary.

pub(crate) mod setup_again;
pub(crate) mod setup_and_undo;
pub(crate) mod setup_closed_places;
pub(crate) mod setup_foreign;
pub(crate) mod setup_killed;
pub(crate) mod setup_remove;
pub(crate) mod setup_taken_over;
