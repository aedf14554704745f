//! `agent`: the endpoint that a spawned agent starts.

use crate::cli::{Failure, serve_endpoint};

pub(crate) fn run() -> Result<(), Failure> {
    serve_endpoint::serve(|error| error.to_string())
}
