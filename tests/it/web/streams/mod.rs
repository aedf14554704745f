//! The streams of what happens, under both sets of names.

mod api_events;
mod event_reader;
mod message_events;
