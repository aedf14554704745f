//! The recipients of a message: which members can read it, which inboxes have room, and how an event names very many.

use std::collections::BTreeSet;

use super::Writer;
use crate::bus::event::Addressees;
use crate::bus::state::Member;
use crate::domain::limits;
use crate::domain::name::Name;

impl Writer<'_> {
    /// Returns the addressees of a message in the shorter form: these names, or all live members but some.
    pub(in crate::bus::rules) fn addressees(&self, names: Vec<Name>) -> Addressees {
        if names.len() <= limits::NAMED_AT_ONCE {
            return Addressees::Named(names);
        }
        let addressees: BTreeSet<&Name> = names.iter().collect();
        let live = self.state.live_sessions().into_iter();
        let live = live.filter(|session| self.leaving != Some(session.id));
        let (included, others): (Vec<_>, Vec<_>) =
            live.map(|session| &session.name).partition(|name| addressees.contains(name));
        if included.len() < addressees.len() || others.len() > included.len() {
            return Addressees::Named(names);
        }
        Addressees::AllBut(others.into_iter().cloned().collect())
    }

    /// Says whether a member's inbox accepts a notice.
    pub(in crate::bus::rules) fn accepts_notice(&self, name: &Name) -> bool {
        self.reaches(name)
            && !self.state.is_bridge_of_host(name)
            && self.has_room(name, limits::NOTICE_ROOM)
    }

    /// Says whether an inbox has less than this multiple of the limits, in unread messages and in their bytes.
    pub(in crate::bus::rules) fn has_room(&self, name: &Name, times: usize) -> bool {
        self.state.has_room(name, times)
    }

    /// Says whether a session of that name can read a message: the name is known, and is not forgotten by this decision.
    pub(in crate::bus::rules) fn reaches(&self, name: &Name) -> bool {
        let lasts = |member: &Member| {
            member.chosen || self.leaving.is_none() || member.session != self.leaving
        };
        self.state.member(name).is_some_and(lasts)
    }

    /// Returns the names of all live members that read messages but one, without a session that leaves by this decision.
    pub(in crate::bus::rules) fn everyone_but(&self, name: &Name) -> Vec<Name> {
        let sessions = self.state.readers().into_iter();
        sessions
            .filter(|session| self.leaving != Some(session.id))
            .map(|session| session.name.clone())
            .filter(|other| other != name)
            .collect()
    }

    /// Keeps the members whose inbox has room. If very many have none, the rest of them gets the message nevertheless: an inbox
    /// above its limit does less harm than a line that is too long.
    pub(in crate::bus::rules) fn with_room(&self, everyone: Vec<Name>) -> Vec<Name> {
        let mut left_out = 0;
        let gets = |name: &Name| {
            let gets = self.has_room(name, 1);
            left_out += usize::from(!gets);
            gets || left_out > limits::LEFT_OUT_AT_ONCE
        };
        let mut to = everyone;
        to.retain(gets);
        to
    }
}
