//! Killing all children without waiting for their ends, for a process that exits at once.
//!
//! Each shim gets the order to kill, and carries it out even after this process is gone. A child without a shim is killed with its
//! group. So are adopted orphans.

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

/// Includes a shim while its control socket is held.
pub(super) fn include(pid: u32, control_socket: &Arc<UnixStream>) {
    let mut shims = shims();
    shims.retain(|(_, socket)| socket.strong_count() > 0);
    shims.push((pid, Arc::downgrade(control_socket)));
}

/// Kills all children and their descendants, and returns without waiting for their ends.
///
/// Call it right before the process exits, on the thread of its runtime, so that no child is reaped meanwhile.
pub fn kill_all_children() {
    for pid in adopted_orphans::own_children() {
        let killed = match control_socket(pid) {
            Some(socket) => give(pid, &socket, Order::Kill),
            None if process::peek_child(pid) == ChildState::NotOurs => Ok(()),
            None => process::signal_group(pid, Signal::SIGKILL),
        };
        if let Err(error) = killed {
            // A shim that misses the order sees the end of its socket, which also means the end.
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

/// Gives an order to all shims.
pub(super) fn order_all(order: Order) {
    for (pid, socket) in shims().iter() {
        let Some(socket) = socket.upgrade() else { continue };
        if let Err(error) = give(*pid, &socket, order) {
            tracing::debug!(pid, %error, "cannot reach a shim");
        }
    }
}

fn give(shim: u32, mut socket: &UnixStream, order: Order) -> std::io::Result<()> {
    socket.write_all(&[order.byte()])?;
    // A stopped shim acts only after SIGCONT. It leads a group of its own, and is not reaped while its socket is held.
    process::signal_group(shim, Signal::SIGCONT)
}
