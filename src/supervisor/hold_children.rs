//! Holding all children behind a shim: they are suspended with all their descendants, lose nothing, and go on when they may.
//!
//! A bridge holds its agents while its machine is cut off from a team on several machines, because another machine may get their tasks.
//! This works on Linux, where the descendants of a process are known.

use std::sync::atomic::{AtomicBool, Ordering};

use super::force_kill::order_all;
use super::shim::control_socket::Order;

static IS_HOLDING: AtomicBool = AtomicBool::new(false);

/// Says whether children are held. Those that start meanwhile are held from their start on.
pub fn is_holding() -> bool {
    IS_HOLDING.load(Ordering::Acquire)
}

/// Holds a child that has just started, if children are held.
pub(super) fn hold_newcomer() {
    if is_holding() {
        order_all(Order::Hold);
    }
}

/// Holds all children.
pub fn hold() {
    IS_HOLDING.store(true, Ordering::Release);
    order_all(Order::Hold);
}

/// Lets all children go on.
pub fn go_on() {
    IS_HOLDING.store(false, Ordering::Release);
    order_all(Order::GoOn);
}

/// Kills all children, without letting them go on. Their ends are noticed as any other.
pub fn kill() {
    order_all(Order::Kill);
    IS_HOLDING.store(false, Ordering::Release);
}
