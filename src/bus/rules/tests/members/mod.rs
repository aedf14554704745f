//! Members: how they come and go, and what the next session of a name is told of the one before it.

mod join_and_leave;
mod session_summary;
