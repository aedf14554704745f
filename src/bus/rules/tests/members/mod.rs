//! Members: joining and leaving, how fast they send, what they say of messages, and the summary for the next session.

mod acknowledgements;
mod addresses;
mod join_and_leave;
mod lanes;
mod leadership;
mod peer_signals;
mod rates;
mod session_summary;
mod who_is_here;
