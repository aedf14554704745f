//! The formats of a bus: the events of its log as they were first written, and how one format is raised to the next.

mod raised;
mod stored_events;
