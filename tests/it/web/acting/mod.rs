//! What programs do with claims, lanes, topics and threads, and how they wait.

mod claims_and_lanes;
mod program_waits;
