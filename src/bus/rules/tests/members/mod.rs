//! Members: joining and leaving, how fast they send, what they say of messages, what proves a push, how far webhooks are, and the summary
//! for the next session.

mod acknowledgements;
mod addresses;
mod answers_as_proofs;
mod join_and_leave;
mod lanes;
mod pushes;
mod leadership;
mod peer_signals;
mod rates;
mod session_summary;
mod webhooks;
mod who_is_here;
