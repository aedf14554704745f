//! The whole connection against a fake agent: raw JSON lines over in-memory pipes, written without the protocol crate,
//! because it stands for the programs outside.

mod bounds;
mod fake;
mod files;
mod hostile;
mod midturn;
mod turns;
