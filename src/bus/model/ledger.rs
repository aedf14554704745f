//! The ledger of the model: it follows every message and request from the events alone, as plainly as possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::asked_request::Asked;
use super::consistent_state::{check_inboxes, check_sessions};
use super::ledgers::{
    AnswersLedger, ConflictLedger, CrossingLedger, LaneLedger, LeadLedger, PaceLedger, counts,
};
use crate::bus::event::{Entry, Event, MessageAcknowledged, ProvenClaim, UnheardClaim};
use crate::bus::state::{Delivery, State};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::SessionNumber;
use crate::domain::messaging::{
    Acknowledgement, Author, MessageKind, Priority, RequestStatus, Urgency,
};
use crate::domain::name::Name;

/// The delivery status of a message for one addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// In the inbox, with the last call that it was requeued from.
    Unread(Option<(SessionId, CallId)>),
    InFlight(SessionId, CallId),
    Final,
}

#[derive(Default)]
pub(super) struct Ledger {
    next_seq: u64,
    /// All sessions, ended ones too.
    pub(super) names: BTreeMap<SessionId, Name>,
    pub(super) live: BTreeSet<SessionId>,
    /// All sessions that have a number, and the last number.
    numbered: BTreeSet<SessionId>,
    last_number: Option<SessionNumber>,
    /// Sessions that were hung or crashed at some time, and so may have lost a claim.
    silent: BTreeSet<SessionId>,
    /// Chosen names, whose mail waits for a return.
    chosen: BTreeSet<Name>,
    boot: u32,
    paces: PaceLedger,
    messages: BTreeMap<MessageId, (u64, Author)>,
    urgency: BTreeMap<MessageId, Urgency>,
    /// Those that wait for somebody who fits, or once did, each with who has got it.
    queued: BTreeMap<MessageId, Option<Name>>,
    places: BTreeMap<(MessageId, Name), Where>,
    /// The calls that carry messages in their answers, and those whose answers were written.
    by_answer: BTreeSet<(SessionId, CallId)>,
    written: BTreeSet<(SessionId, CallId)>,
    /// The deliveries that ended without a reader, and what recipients say of the others.
    ended: BTreeSet<(MessageId, Name)>,
    acknowledged: BTreeMap<(MessageId, Name), Acknowledgement>,
    pub(super) requests: BTreeMap<RequestId, Asked>,
    answers: AnswersLedger,
    lanes: LaneLedger,
    lead: LeadLedger,
    conflicts: ConflictLedger,
    crossings: CrossingLedger,
    /// The unheard claims, each with the call whose answer it depends on.
    pub(super) unheard: BTreeMap<RequestId, (SessionId, CallId)>,
    /// The assigners of unfinished tasks.
    assigners: BTreeMap<TaskId, Name>,
    /// The assigners of tasks that ended with the newest entry: they are notified.
    notified: BTreeSet<Name>,
}

impl Ledger {
    pub(super) fn is_live(&self, session: SessionId) -> bool {
        self.live.contains(&session)
    }

    pub(super) fn name_of(&self, session: SessionId) -> Option<Name> {
        self.names.get(&session).cloned()
    }

    pub(super) fn owner_and_requester(&self, id: &RequestId) -> Option<(SessionId, Name)> {
        let asked = self.requests.get(id)?;
        Some((asked.owner?, asked.from.clone()))
    }

    /// Records an entry, and checks that each of its events may follow those before it.
    pub(super) fn enter(&mut self, entry: &Entry) {
        assert_eq!(entry.seq, self.next_seq.max(1), "seqs have no gap");
        self.next_seq = entry.next_seq();
        self.notified.clear();
        if entry.tick.boot != self.boot {
            self.boot = entry.tick.boot;
            self.paces.forget_all();
        }
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            match event {
                Event::LimitsSet(limits) => {
                    self.paces.limit(*limits);
                }
                Event::MessageSent(sent) if counts(entry.by, sent, &self.requests) => {
                    self.paces.check(entry, sent.from.member(), Some(sent), &self.ended);
                }
                Event::RequestOpened(opened) => {
                    self.paces.check_opened(entry, opened, &self.requests);
                }
                Event::RequestReopened { id, released: true, .. } => {
                    let owner = self.requests[id].owner.map(|owner| self.names[&owner].clone());
                    self.paces.count(entry, owner.as_ref(), None);
                }
                _ => {}
            }
            self.answers.enter(event);
            self.lanes.enter(event);
            self.conflicts.enter(event);
            self.crossings.enter(event);
            self.enter_event(seq, event);
        }
        self.lead.enter(entry);
    }

    #[expect(clippy::too_many_lines, reason = "one arm per kind of event")]
    fn enter_event(&mut self, seq: u64, event: &Event) {
        match event {
            Event::MemberStarting(starting) => {
                self.begin(starting.session, &starting.name, starting.chosen);
            }
            Event::MemberJoined(joined) if self.is_live(joined.session) => {}
            Event::MemberJoined(joined) => self.begin(joined.session, &joined.name, joined.chosen),
            Event::MemberDescribed(described) => {
                assert!(self.is_live(described.session));
                let next = self.last_number.map_or(SessionNumber::FIRST, SessionNumber::next);
                assert_eq!(described.number, next, "each session gets the next number");
                self.last_number = Some(next);
                assert!(self.numbered.insert(described.session), "it has one number for ever");
            }
            Event::MemberLeft { session, .. } => {
                assert!(self.live.remove(session), "it leaves once");
                self.requeue(|holder, _| holder == *session);
                self.unheard.retain(|_, (holder, _)| holder != session);
                if !self.chosen.contains(&self.names[session]) {
                    self.paces.forget(&self.names[session]);
                }
            }
            Event::MemberForgotten { name } => {
                self.chosen.remove(name);
                self.paces.forget(name);
            }
            Event::MessageSent(sent) => {
                let is_queued = sent.more.as_ref().is_some_and(|more| more.queue);
                if is_queued {
                    let copies = &sent.more.as_ref().unwrap().mentions;
                    assert_eq!(sent.to.named(), copies, "only copies are delivered at once");
                    self.queued.insert(sent.id.clone(), None);
                } else {
                    assert!(!sent.to.named().is_empty());
                }
                let author = sent.from.member();
                let to_itself = sent.to.named().iter().any(|to| Some(to) == author);
                // An agent may ask itself to stop.
                assert!(!to_itself || sent.kind == MessageKind::Shutdown);
                let exactly = sent.more.as_ref().and_then(|more| more.urgency);
                let urgency = exactly.unwrap_or_else(|| sent.priority.urgency());
                self.urgency.insert(sent.id.clone(), urgency);
                self.post(seq, &sent.id, sent.from.clone(), sent.to.named());
            }
            Event::MessageAddressed { id, to } => {
                assert!(self.messages.contains_key(id));
                let was_queued = self.queued.contains_key(id);
                self.leave_queue(id, to.named());
                for name in to.named() {
                    let place = (id.clone(), name.clone());
                    let has_it = self.places.contains_key(&place) && !self.ended.contains(&place);
                    if was_queued && has_it {
                        // Its copy is what the address means now.
                        continue;
                    }
                    let is_held = matches!(self.places.get(&place), Some(Where::InFlight(..)));
                    assert!(!is_held, "a message in flight is not delivered twice");
                    // A new session of the name is shown the request afresh.
                    self.ended.remove(&place);
                    self.acknowledged.remove(&place);
                    self.places.insert(place, Where::Unread(None));
                }
            }
            Event::MessageHanded { ids, member, session, call, method } => {
                self.deliver(ids, member, (*session, *call));
                if method.is_by_answer() {
                    self.by_answer.insert((*session, *call));
                }
            }
            Event::AnswerWritten(written) => {
                self.written.insert((written.session, written.call));
            }
            Event::MessageReturned { session, call } => {
                self.requeue(|holder, held_by| (holder, held_by) == (*session, *call));
            }
            Event::MessageSeen { session, call } => {
                self.see((*session, *call));
                self.unheard.retain(|_, by| *by != (*session, *call));
            }
            Event::MessageSuperseded { id, members } => {
                for name in members.named() {
                    self.end(id, name);
                }
            }
            Event::MessageExpired { id, member } => self.end(id, member),
            Event::MessageRelayed(relayed) => drop(self.queued.remove(&relayed.id)),
            Event::MessageUnclaimed { id } => {
                assert!(self.queued.remove(id).is_some(), "it has waited");
            }
            Event::MessageAcknowledged(said) => self.acknowledge(said),
            Event::WaitStarted { session, .. } => assert!(self.is_live(*session)),
            Event::RequestOpened(opened) => {
                let author = Author::Member(opened.from.clone());
                self.urgency.insert(opened.message.clone(), Priority::Normal.urgency());
                self.post(seq, &opened.message, author, opened.to.named());
                let asked = Asked {
                    from: opened.from.clone(),
                    message: opened.message.clone(),
                    status: RequestStatus::Open,
                    owner: None,
                    fence: 0,
                    leased: opened.lease_ms.is_some(),
                    reminded: false,
                    lost_owners: 0,
                };
                assert!(self.requests.insert(opened.id.clone(), asked).is_none());
            }
            Event::RequestClaimed { id, by, session } => {
                let live = self.is_live(*session);
                let asked = self.asked(id, RequestStatus::Open);
                assert!(live && asked.from != *by && asked.fence < seq);
                asked.status = RequestStatus::Claimed;
                asked.owner = Some(*session);
                asked.fence = seq;
                asked.reminded = false;
            }
            Event::RequestHandedOver { id, by, to, session } => {
                assert!(self.is_live(*session) && self.names[session] == *to);
                self.unheard.remove(id);
                let holder = self.asked(id, RequestStatus::Claimed).owner;
                assert_eq!(holder.map(|holder| &self.names[&holder]), Some(by));
                let asked = self.asked(id, RequestStatus::Claimed);
                assert!(asked.from != *to && by != to && asked.fence < seq);
                asked.owner = Some(*session);
                asked.fence = seq;
                asked.reminded = false;
            }
            Event::RequestRenewed { id, .. } => {
                let asked = self.asked(id, RequestStatus::Claimed);
                assert!(asked.leased);
                asked.reminded = false;
            }
            Event::RequestReminded { id } => {
                let asked = self.asked(id, RequestStatus::Claimed);
                assert!(asked.leased && !asked.reminded, "it is reminded once");
                asked.reminded = true;
            }
            Event::RequestFailed { id } => {
                self.unheard.remove(id);
                let asked = self.asked(id, RequestStatus::Claimed);
                asked.status = RequestStatus::Failed;
            }
            Event::ClaimUnheard(UnheardClaim { session, call, request, .. }) => {
                let asked = self.asked(request, RequestStatus::Claimed);
                assert_eq!(asked.owner, Some(*session));
                self.unheard.insert(request.clone(), (*session, *call));
            }
            Event::ClaimKnown(ProvenClaim { session, request, .. }) => {
                let hung = self.unheard.remove(request);
                assert_eq!(hung.map(|(holder, _)| holder), Some(*session));
            }
            Event::RequestReopened { id, lost_owners, released } => {
                let unheard = self.unheard.remove(id).is_some();
                let asked = self.asked(id, RequestStatus::Claimed);
                asked.status = RequestStatus::Open;
                let is_late = asked.reminded;
                let is_counted = *lost_owners == asked.lost_owners + 1;
                assert!(is_counted || *released || *lost_owners == 0);
                asked.lost_owners = asked.lost_owners.max(*lost_owners);
                let owner = asked.owner.take().expect("a claimed request has an owner");
                let lost = unheard || !self.is_live(owner) || self.silent.contains(&owner);
                assert!(lost || is_late || *released, "a live owner that gives signs keeps it");
            }
            Event::TaskAssigned(assigned) if assigned.workflow.is_none() => {
                let by = assigned.by.clone();
                self.assigners.insert(assigned.id.clone(), by);
            }
            Event::TaskFinished(finished) => {
                self.notified.extend(self.assigners.remove(&finished.id));
            }
            Event::MemberHung { session } | Event::AgentCrashed { session, .. } => {
                assert!(self.is_live(*session));
                self.silent.insert(*session);
            }
            Event::MemberBack { session } => assert!(self.silent.contains(session)),
            Event::RequestNudged { id } => drop(self.asked(id, RequestStatus::Open)),
            Event::RequestCompleted { id, message } => {
                let asked = self.asked(id, RequestStatus::Claimed);
                asked.status = RequestStatus::Completed;
                let owner = asked.owner.expect("a claimed request has an owner");
                let author = &self.messages[message].1;
                assert_eq!(author.member(), self.names.get(&owner));
                self.unheard.remove(id);
            }
            Event::RequestExpired { id } => {
                let asked = self.requests.get_mut(id).expect("it was opened");
                assert!(!asked.status.is_final(), "it ends once");
                asked.status = RequestStatus::Expired;
                self.unheard.remove(id);
            }
            _ => {}
        }
    }

    /// The first who fits gets a message that waits, or the next one, if who has it has died with it unread.
    fn leave_queue(&mut self, id: &MessageId, to: &[Name]) {
        let Some(holder) = self.queued.get_mut(id) else { return };
        let [to] = to else { panic!("one who fits gets it") };
        let Some(before) = holder.replace(to.clone()) else { return };
        assert!(!self.live.iter().any(|one| self.names[one] == before), "who lives keeps it");
        let place = (id.clone(), before);
        if !self.ended.contains(&place) {
            assert!(matches!(self.places[&place], Where::Unread(_)), "what is seen is not sent on");
            self.end(id, &place.1);
        }
    }

    fn asked(&mut self, id: &RequestId, expected: RequestStatus) -> &mut Asked {
        let asked = self.requests.get_mut(id).expect("it was opened");
        assert_eq!(asked.status, expected);
        asked
    }

    fn begin(&mut self, session: SessionId, name: &Name, chosen: bool) {
        let holder = self.live.iter().find(|live| self.names[*live] == *name);
        assert_eq!(holder, None, "a name has one live session");
        assert!(!self.names.contains_key(&session));
        assert!(
            chosen || !self.chosen.contains(name),
            "a generated name is never a chosen one whose mail waits"
        );
        self.names.insert(session, name.clone());
        self.live.insert(session);
        if chosen {
            self.chosen.insert(name.clone());
        }
    }

    fn post(&mut self, seq: u64, id: &MessageId, from: Author, to: &[Name]) {
        let before = self.messages.insert(id.clone(), (seq, from));
        assert_eq!(before, None, "each message has its own id");
        for name in to {
            assert!(self.is_known(name), "{name} is unknown and gets no message");
            self.places.insert((id.clone(), name.clone()), Where::Unread(None));
        }
    }

    fn is_known(&self, name: &Name) -> bool {
        let unread = |place: &Where| matches!(place, Where::Unread(_));
        self.live.iter().any(|live| self.names[live] == *name)
            || self.chosen.contains(name)
            || self.notified.contains(name)
            || self.assigners.values().any(|by| by == name)
            || self.places.iter().any(|((_, to), place)| to == name && unread(place))
    }

    /// Only unread messages are delivered, to the live session of the addressee, most urgent first, then oldest.
    fn deliver(&mut self, ids: &[MessageId], member: &Name, (session, call): (SessionId, CallId)) {
        assert!(self.is_live(session));
        assert_eq!(self.names[&session], *member);
        let place = |id: &MessageId| (Reverse(self.urgency[id]), self.messages[id].0);
        assert!(ids.is_sorted_by_key(place));
        for id in ids {
            let place = self.places.get_mut(&(id.clone(), member.clone()));
            let place = place.expect("only addressees get a message");
            assert!(matches!(place, Where::Unread(_)), "one delivery at a time");
            *place = Where::InFlight(session, call);
        }
    }

    fn requeue(&mut self, is_holder: impl Fn(SessionId, CallId) -> bool) {
        for place in self.places.values_mut() {
            if let Where::InFlight(session, call) = *place
                && is_holder(session, call)
            {
                *place = Where::Unread(Some((session, call)));
            }
        }
    }

    fn see(&mut self, by: (SessionId, CallId)) {
        for place in self.places.values_mut() {
            let seen = match *place {
                Where::InFlight(session, call) => (session, call) == by,
                Where::Unread(last) => last == Some(by),
                Where::Final => false,
            };
            if seen {
                *place = Where::Final;
            }
        }
    }

    fn end(&mut self, id: &MessageId, name: &Name) {
        let place = self.places.get_mut(&(id.clone(), name.clone()));
        *place.expect("it was addressed to them") = Where::Final;
        self.ended.insert((id.clone(), name.clone()));
    }

    /// A live recipient acknowledges what it has seen or not read yet, and nothing goes back.
    fn acknowledge(&mut self, said: &MessageAcknowledged) {
        assert!(!said.ids.is_empty());
        assert!(self.live.iter().any(|live| self.names[live] == said.member));
        for id in &said.ids {
            let key = (id.clone(), said.member.clone());
            let place = self.places.get_mut(&key).expect("only recipients acknowledge");
            if let Where::InFlight(session, call) = *place {
                let by = (session, call);
                let may_be_read = !self.by_answer.contains(&by) || self.written.contains(&by);
                assert!(may_be_read, "nobody has had the answer that carries it");
            }
            assert!(!self.ended.contains(&key), "it has ended unread");
            *place = Where::Final;
            let before = self.acknowledged.insert(key, said.status);
            assert!(before.is_none_or(|before| said.status.is_beyond(before)), "{before:?}");
        }
    }

    /// Checks that a state agrees with the ledger, and that its parts agree with each other.
    pub(super) fn check(&self, state: &State) {
        self.lanes.check(state);
        self.lead.check(state);
        self.conflicts.check(state);
        self.crossings.check(state);
        self.answers.check(state);
        self.check_members(state);
        self.check_messages(state);
        self.check_requests(state);
        check_inboxes(state);
        check_sessions(state);
    }

    fn check_members(&self, state: &State) {
        let live: BTreeSet<_> = state.sessions.keys().copied().collect();
        assert_eq!(live, self.live);
        for (name, member) in &state.members {
            let waits_for_return = state.absent.contains_key(name);
            assert_ne!(member.session.is_some(), waits_for_return, "{name}");
            if let Some(session) = member.session {
                assert_eq!(state.sessions[&session].name, *name);
            }
        }
        for session in &self.live {
            assert_eq!(state.members[&self.names[session]].session, Some(*session));
        }
        for name in &self.chosen {
            assert!(state.members.contains_key(name));
        }
    }

    fn check_messages(&self, state: &State) {
        for ((id, name), place) in &self.places {
            let delivery = state.message(id).and_then(|message| message.delivery(name));
            let agrees = match (*place, delivery) {
                (Where::InFlight(session, call), Some(in_flight)) => {
                    matches!(in_flight, Delivery::InFlight { session: holder, call: held_by, .. }
                        if (holder, held_by) == (session, call))
                }
                (Where::Final, Some(delivery)) => {
                    let said = self.acknowledged.get(&(id.clone(), name.clone()));
                    said.map_or(delivery.is_final(), |said| {
                        delivery == Delivery::Acknowledged(*said)
                    })
                }
                (Where::Unread(_), Some(Delivery::Unread { .. })) | (Where::Final, None) => true,
                _ => false,
            };
            assert!(agrees, "{id} for {name} is {place:?}, not {delivery:?}");
        }
        for message in state.messages.values() {
            let (seq, from) = &self.messages[&message.id];
            assert_eq!((message.seq, &message.from), (*seq, from));
            for name in message.deliveries.iter().map(|(name, _)| name) {
                let place = (message.id.clone(), name.clone());
                assert!(self.places.contains_key(&place), "addressed by an event");
            }
        }
    }
}
