//! What happens on a bus, as it happens: two streams of one log, under our names and under those of another specification.

mod log_events;
mod event_routes;

pub(super) use self::event_routes::{WhichEvents, events, message_events, place_of_stream};
