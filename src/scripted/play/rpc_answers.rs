//! Shared parts of all answers to requests of the client: the error for a bad request, and the outcome of sending.

use agent_client_protocol::Error;

/// Drops the outcome of an answer: sending fails only when the client is gone, and then nothing waits for it.
pub(crate) fn answered(answer: Result<(), Error>) {
    answer.ok();
}

/// Returns the error for a request that names something that does not exist.
pub(crate) fn invalid(message: String) -> Error {
    // -32602 is JSON-RPC's "invalid params".
    Error::new(-32602, message)
}
