//! What the tests with real processes share: a project of their own, and clients of the programs that run in it.

mod fake_registry;
mod mcp_client;
mod raw_client;
mod project;
mod terminal;
#[cfg(target_os = "linux")]
pub(crate) mod chance;
pub(crate) mod home_files;
pub(crate) mod npm;
#[path = "../../../src/bus/storage/postgres/test_server.rs"]
pub(crate) mod postgres_server;
pub(crate) mod schema_check;
#[cfg(target_os = "linux")]
pub(crate) mod server_link;
#[cfg(target_os = "linux")]
pub(crate) mod misbehaving_agents;
#[cfg(target_os = "linux")]
pub(crate) mod wrong_clock;

pub(crate) use self::mcp_client::{Member, of_name};
pub(crate) use self::project::Stage;
pub(crate) use self::raw_client::Raw;
pub(crate) use terminal::Terminal;

use std::time::Duration;

/// Longer than anything takes here, even on a busy machine: a test that reaches it has failed.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);

/// The pause between two polls of a condition that cannot be awaited.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Waits until a condition outside of the team holds: of a file, or a process.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let looked = tokio::time::timeout(DEADLINE, looking).await;
    assert!(looked.is_ok(), "it never came true that {what}");
}
