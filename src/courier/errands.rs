//! What is to be taken to which project. Pure: the state comes in.

use std::collections::BTreeMap;

use crate::bus::state::{Arrived, Message, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::ReceiptElsewhere;

/// What is to be taken to one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Errand {
    /// Messages, oldest first.
    pub(super) letters: Vec<Message>,
    /// Messages that came from there, with the receipts that are not known there.
    pub(super) receipts: Vec<(Arrived, Vec<ReceiptElsewhere>)>,
}

/// Returns what this session is to take to other projects: nothing if others do.
pub(super) fn errands(state: &State, me: SessionId) -> BTreeMap<Label, Errand> {
    let mut errands: BTreeMap<Label, Errand> = BTreeMap::new();
    if !state.couriers().contains(&me) {
        return errands;
    }
    for message in state.outbox() {
        if let Some(address) = message.audience.elsewhere() {
            let errand = errands.entry(address.tag.clone()).or_default();
            if errand.letters.len() < limits::TAKEN_AT_ONCE {
                errand.letters.push(message.clone());
            }
        }
    }
    for (arrived, receipts) in state.receipts_to_tell() {
        let errand = errands.entry(arrived.origin.tag.clone()).or_default();
        errand.receipts.push((arrived.clone(), receipts));
    }
    errands
}
