//! When a bridge looks at the bus again.

use tokio::sync::watch;

use crate::domain::wait_times;

/// Waits for a change, and then until a look is worth its cost: a busy team changes the state many times a second.
pub(super) async fn next_change(changes: &mut watch::Receiver<u64>) {
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(wait_times::LOOK_FOR_ALERTS).await;
    changes.mark_unchanged();
}
