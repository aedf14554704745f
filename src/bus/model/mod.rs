//! A model of the bus: members do anything, in any order, from several handles, while time passes, machines boot, sessions die and
//! processes return. After each append the state must agree with a ledger, which follows the messages and requests from the events
//! alone.
//!
//! `PROPTEST_CASES` sets the number of runs.

mod asked_request;
mod check_requests;
mod claim_race;
mod consistent_state;
mod garbage;
mod odd_events;
mod odd_placements;
mod ledgers;
mod ledger;
mod model_step;
mod neighbour;
mod nothing_is_lost;
mod model_inputs;
mod world;
