//! A model of the bus: members do anything, in any order, from several handles, while time passes, machines boot, sessions die and
//! processes return. After each append the state must agree with a ledger, which follows the messages and requests from the events
//! alone.
//!
//! It runs on a log in memory, and on several hosts with a server between them. `PROPTEST_CASES` sets the number of runs in memory,
//! `BRIDGE_MODEL_CASES` of those with a server, and `BRIDGE_MODEL_SEED` the seed of these, which each run prints.

mod asked_request;
mod check_requests;
mod claim_race;
mod consistent_state;
mod engines;
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
