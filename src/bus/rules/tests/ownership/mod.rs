//! Claims of requests: how they are known, how long they last, and what their owners do with them.

mod claim_updates;
mod claims;
mod leases;
