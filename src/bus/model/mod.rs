//! A model of the bus: members do anything, in any order, from several handles, while time passes, machines boot, sessions die and
//! processes come back. After each append a ledger, kept from the events alone, tells where every message and request must be.
//!
//! `PROPTEST_CASES` sets how many runs there are.

mod garbage;
mod ledger;
mod model_step;
mod nothing_is_lost;
mod world;
