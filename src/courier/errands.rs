//! What is to be taken to which project. Pure: the state comes in.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::state::{Arrived, Message, State};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{ListedProjects, ReceiptElsewhere};
use crate::domain::wait_times;

/// What is to be taken to one project.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Errand {
    /// Whether the session knows the project by the directory that its team does.
    pub(super) is_of_team: bool,
    /// Messages that were sent while the tag meant another directory.
    pub(super) moved: Vec<MessageId>,
    /// Messages, oldest first.
    pub(super) letters: Vec<Message>,
    /// Messages that came from there, with the receipts that are not known there.
    pub(super) receipts: Vec<(Arrived, Vec<ReceiptElsewhere>)>,
    /// Whether to look there for what is forgotten here.
    pub(super) looks: bool,
}

impl Errand {
    /// Says whether there is nothing to take.
    pub(super) fn is_empty(&self) -> bool {
        self.brings_nothing() && !self.looks
    }

    /// Says whether it only looks there.
    pub(super) fn only_looks(&self) -> bool {
        self.brings_nothing() && self.looks
    }

    fn brings_nothing(&self) -> bool {
        self.letters.is_empty() && self.receipts.is_empty()
    }
}

/// Says whether this session takes anything to other projects, so that nobody looks at directories for nothing.
pub(super) fn has_errands(state: &State, me: SessionId) -> bool {
    state.couriers().contains(&me)
        && (!state.outbox().is_empty() || state.receipts_to_tell().next().is_some())
}

/// Returns what this session is to take to other projects: nothing if others do, or if it knows another directory by a tag than its team.
pub(super) fn errands(
    state: &State,
    me: SessionId,
    listed: &ListedProjects,
    now_ms: i64,
) -> BTreeMap<Label, Errand> {
    let mut errands: BTreeMap<Label, Errand> = BTreeMap::new();
    if !state.couriers().contains(&me) {
        return errands;
    }
    let projects = state.other_projects();
    let known = |tag: &Label| projects.known.get(tag);
    let means_the_same = |tag: &Label| may_go_to(state, listed, tag);
    // Who does not take a message does not know whether others do, and says why it stays only once it has waited for long. The one who
    // takes all says so at once.
    let is_lead = state.is_lead(me);
    let is_left = |message: &Message| {
        let is_told = state.crossed(&message.id).is_some_and(|crossed| crossed.held.is_some());
        !is_told && now_ms.saturating_sub(message.sent_ms) > wait_times::LEFT_IN_OUTBOX_MS
    };
    for message in state.outbox() {
        if let Some(address) = message.audience.elsewhere() {
            if !is_lead && !means_the_same(&address.tag) && !is_left(message) {
                continue;
            }
            let errand = errands.entry(address.tag.clone()).or_default();
            errand.is_of_team = means_the_same(&address.tag);
            if known(&address.tag).is_some_and(|known| message.seq < known.since) {
                errand.moved.push(message.id.clone());
            } else if errand.letters.len() < limits::TAKEN_AT_ONCE {
                errand.letters.push(message.clone());
            }
        }
    }
    for (arrived, receipts) in state.receipts_to_tell() {
        if !means_the_same(&arrived.origin.tag) {
            continue;
        }
        let errand = errands.entry(arrived.origin.tag.clone()).or_default();
        errand.is_of_team = true;
        errand.receipts.push((arrived.clone(), receipts));
    }
    errands
}

/// Returns the projects that messages of this bus have gone to, or go to, once this session takes messages across: they know more of them
/// than this bus if it was put back from a backup.
pub(super) fn to_look_at(state: &State, me: SessionId) -> Option<BTreeSet<Label>> {
    let are_there = |tag: &&Label| state.sent_to(tag).next().is_some();
    state.couriers().contains(&me).then(|| {
        let there = state.other_projects().known.keys().filter(are_there).cloned();
        let outbox = state.outbox().into_iter();
        there.chain(outbox.filter_map(|one| Some(one.audience.elsewhere()?.tag.clone()))).collect()
    })
}

/// Adds a look at these projects. Those that this session may not go to are left out from then on.
pub(super) fn add_looks(
    errands: &mut BTreeMap<Label, Errand>,
    state: &State,
    listed: &ListedProjects,
    tags: &mut BTreeSet<Label>,
) {
    tags.retain(|tag| may_go_to(state, listed, tag));
    for tag in tags.iter() {
        let errand = errands.entry(tag.clone()).or_default();
        (errand.is_of_team, errand.looks) = (true, true);
    }
}

/// Says whether a session knows the same directory by a tag as its team, and is of the same project.
fn may_go_to(state: &State, listed: &ListedProjects, tag: &Label) -> bool {
    let projects = state.other_projects();
    let known = projects.known.get(tag);
    known.is_some_and(|known| listed.means(tag, known.mark)) && projects.own == listed.own
}

/// Returns the seq of the oldest message that is on its way to a project.
pub(super) fn oldest_to(state: &State, tag: &Label) -> Option<u64> {
    let mut to = state
        .outbox()
        .into_iter()
        .filter(|message| message.audience.elsewhere().is_some_and(|address| address.tag == *tag));
    to.next().map(|message| message.seq)
}
