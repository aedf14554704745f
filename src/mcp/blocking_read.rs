//! Reads of the bus that may take long, such as those of many texts: on a thread of their own, so that they block no other call.

use super::error::ToolError;
use crate::bus::BusError;

/// Runs a read on a thread of its own.
pub(crate) async fn blocking_read<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, BusError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(read).await {
        Ok(done) => Ok(done?),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(BusError::Closed.into()),
    }
}
