//! The formats of a bus: how one is raised to the next.

mod raised;
