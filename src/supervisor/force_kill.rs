//! The end of all children at once, for a process that itself ends at once: nothing is waited for.
//!
//! Each shim gets the order to kill, which it carries out when this process is gone, too. A child without a shim is killed with its
//! group. So are orphans that have fallen to this process.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::leftovers::adopted_orphans;
use super::shim::control_socket::Order;
use crate::sys::mutex::lock;
use crate::sys::process::{self, ChildState, Signal};

/// The shims of this process: their pids, and our ends of their control sockets.
static SHIMS: Mutex<Vec<(u32, Weak<UnixStream>)>> = Mutex::new(Vec::new());

fn shims() -> MutexGuard<'static, Vec<(u32, Weak<UnixStream>)>> {
    lock(&SHIMS)
}

/// Includes a shim, for as long as its control socket is held.
pub(super) fn include(pid: u32, control_socket: &Arc<UnixStream>) {
    let mut shims = shims();
    shims.retain(|(_, socket)| socket.strong_count() > 0);
    shims.push((pid, Arc::downgrade(control_socket)));
}

/// Kills all children with what descends from them, and returns without waiting for their ends.
///
/// To be called right before the process exits, on the thread of its runtime, so that no child is reaped meanwhile.
pub fn kill_all_children() {
    for pid in adopted_orphans::own_children() {
        let killed = match control_socket(pid) {
            Some(socket) => order_to_kill(pid, &socket),
            None if process::peek_child(pid) == ChildState::NotOurs => Ok(()),
            None => process::signal_group(pid, Signal::SIGKILL),
        };
        if let Err(error) = killed {
            // A shim that the order does not reach sees the end of its socket, which is an order too.
            tracing::debug!(pid, %error, "cannot reach a child");
        }
    }
    adopted_orphans::kill_now();
}

fn control_socket(shim: u32) -> Option<Arc<UnixStream>> {
    let shims = shims();
    let sockets = shims.iter().filter(|(pid, _)| *pid == shim);
    sockets.filter_map(|(_, socket)| socket.upgrade()).next_back()
}

fn order_to_kill(shim: u32, mut socket: &UnixStream) -> std::io::Result<()> {
    socket.write_all(&[Order::Kill.byte()])?;
    // A stopped shim acts only when it goes on.
    process::signal_group(shim, Signal::SIGCONT)
}
