//! Holds the agents of this bridge while its machine is cut off from the others, which may find it dead and give its tasks away.
//!
//! They are suspended where they are, before that can happen. If the machine was not found dead, they go on; if it was, they are killed
//! where they stand, because their sessions have ended and somebody else may do their work by now.

use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::domain::wait_times;
use crate::supervisor::hold_children;

/// Runs until the machine was found dead; then it cancels `ended`, and kills the agents.
pub(in crate::team) async fn hold_when_cut_off(bus: Bus, ended: [CancellationToken; 2]) {
    let host = bus.host();
    let (mut was_linked, mut is_holding) = (false, false);
    loop {
        tokio::time::sleep(wait_times::LOOK_FOR_CUT_OFF).await;
        if bus.host() != host {
            tracing::warn!("the agents of this session are killed: their machine was found dead");
            ended.iter().for_each(CancellationToken::cancel);
            return hold_children::kill();
        }
        let is_cut_off = bus.is_cut_off();
        was_linked |= is_cut_off == Some(false);
        let is_cut_off = was_linked && is_cut_off == Some(true);
        if is_cut_off == is_holding {
            continue;
        }
        is_holding = is_cut_off;
        if is_holding {
            tracing::warn!(
                "the agents of this session are suspended until the server of the bus answers: another machine may get their tasks"
            );
            hold_children::hold();
        } else {
            tracing::warn!("the server of the bus answers again: the agents go on");
            hold_children::go_on();
        }
    }
}
