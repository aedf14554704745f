//! What owners do with their claims.

use super::super::*;
use crate::bus::event::Envelope;
use crate::bus::rules::ClaimUpdate;
use crate::domain::limits::TeamLimits;
use crate::domain::messaging::{Priority, RequestStatus, Signal};

/// A request with a lease that a peer has claimed, and another peer.
struct Owned {
    world: World,
    asker: SessionId,
    owner: SessionId,
    heir: SessionId,
    request: RequestId,
}

fn owned() -> Owned {
    let mut world = World::new();
    let (asker, owner, heir) = (world.peer("asker"), world.peer("owner"), world.peer("heir"));
    let request = world.open_leased(asker, Some(300_000));
    let (call, _) = world.take(owner);
    world.settle(owner, call, true);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    let (call, _) = world.take(asker);
    world.settle(asker, call, true);
    Owned { world, asker, owner, heir, request }
}

impl Owned {
    #[track_caller]
    fn update(&mut self, by: SessionId, update: ClaimUpdate) -> Vec<Event> {
        self.world.ask(by, Operation::UpdateClaim(self.request.clone(), update))
    }

    #[track_caller]
    fn refuse(&mut self, by: SessionId, update: ClaimUpdate) -> Refusal {
        self.world.refuse(by, Operation::UpdateClaim(self.request.clone(), update))
    }

    #[track_caller]
    fn check(&self, status: RequestStatus, owner: Option<&str>) {
        let request = self.world.state.request(&self.request).unwrap();
        let by = request.owner.as_ref().map(|owner| owner.by.as_str());
        assert_eq!((request.status, by), (status, owner));
    }

    /// Waits until the request ends, and says what ends the wait.
    fn asker_waits(&mut self) -> CallId {
        let (asker, request) = (self.asker, self.request.clone());
        self.world.wait_for(asker, None, Some(&request))
    }
}

fn hand_over(to: &str, content: Option<&str>) -> ClaimUpdate {
    ClaimUpdate::HandOver { to: to.into(), content: content.map(text) }
}

#[test]
fn progress_reaches_the_requester_and_ends_no_wait_for_the_request() {
    let mut case = owned();
    let wait = case.asker_waits();
    let (owner, asker) = (case.owner, case.asker);
    let events = case.update(owner, ClaimUpdate::Progress(text("half of it")));
    assert_eq!(said(sent(&events)), "half of it");
    let shown = case.world.shown(&case.request);
    assert_eq!(sent(&events).thread, Some(shown));
    assert!(matches!(events.last(), Some(Event::RequestRenewed { .. })), "{events:?}");
    assert!(case.world.held(asker, wait).is_empty());
    case.check(RequestStatus::Claimed, Some("owner"));
}

#[test]
fn renewing_starts_the_lease_anew() {
    let mut case = owned();
    let owner = case.owner;
    case.world.pass(150_000);
    case.update(owner, ClaimUpdate::Renew);
    case.world.pass(199_999);
    assert!(case.world.due().is_empty());
    case.world.pass(1);
    assert!(matches!(case.world.due()[0], Event::RequestReminded { .. }));
}

#[test]
fn a_released_request_is_offered_to_the_others_again() {
    let mut case = owned();
    let (owner, heir) = (case.owner, case.heir);
    let events = case.update(owner, ClaimUpdate::Release(Some(text("too hard"))));
    case.check(RequestStatus::Open, None);
    let request = case.world.state.request(&case.request).unwrap();
    assert_eq!(request.lost_owners, 0, "it was not lost");
    let words: Vec<_> = all_sent(&events).map(said).collect();
    assert!(words.contains(&"too hard".to_owned()), "{words:?}");
    let nudges = all_sent(&events).filter(|sent| sent.kind == MessageKind::Nudge);
    let reminded: Vec<_> = nudges.flat_map(|sent| sent.to.named().to_vec()).collect();
    assert_eq!(reminded, [name("heir")], "not whoever has released it");
    let shown = case.world.shown(&case.request);
    assert!(case.world.unread("heir").contains(&shown));
    let claim = Operation::Claim(case.request.clone(), CALL);
    case.world.ask(heir, claim);
    case.check(RequestStatus::Claimed, Some("heir"));
    let over = case.refuse(owner, ClaimUpdate::Renew);
    assert!(matches!(over, Refusal::ClaimOver { by: Some(by), .. } if by == name("heir")));
}

#[test]
fn a_claim_is_handed_over_in_one_append_with_both_messages() {
    let mut case = owned();
    let (owner, heir) = (case.owner, case.heir);
    let appends = case.world.appends;
    let events = case.update(owner, hand_over("heir", Some("the parser is left")));
    assert_eq!(case.world.appends, appends + 1);
    assert!(matches!(&events[0], Event::RequestHandedOver { session, .. } if *session == heir));
    case.check(RequestStatus::Claimed, Some("heir"));
    let told = notices(&events, "heir");
    assert!(told[0].contains("you own it now"), "{told:?}");
    let shown = case.world.shown(&case.request);
    assert!(case.world.unread("heir").contains(&shown), "it can read what to do");
    let to_asker: Vec<_> =
        all_sent(&events).filter(|sent| sent.to.named() == [name("asker")]).collect();
    assert_eq!(to_asker.len(), 1);
    assert_eq!(to_asker[0].claimed_by, Some(name("heir")));

    let over = case.refuse(owner, ClaimUpdate::Complete(text("I did it")));
    assert_eq!(over.to_string(), format!("`{}` is not yours: `heir` owns it", case.request));
    let id = case.request.to_string();
    case.world.reply(owner, "asker", &id);
    case.check(RequestStatus::Claimed, Some("heir"));
    case.world.reply(heir, "asker", &id);
    case.check(RequestStatus::Completed, Some("heir"));
}

#[test]
fn the_heir_of_a_claim_can_lose_it_as_any_owner() {
    let mut case = owned();
    let (owner, heir) = (case.owner, case.heir);
    case.update(owner, hand_over("heir", None));
    case.world.leave(owner);
    case.check(RequestStatus::Claimed, Some("heir"));
    case.world.reap(&[heir]);
    case.check(RequestStatus::Open, None);
}

#[test]
fn a_claim_goes_to_a_live_member_that_may_claim_it() {
    let mut case = owned();
    let (owner, heir) = (case.owner, case.heir);
    let itself = case.refuse(owner, hand_over("owner", None));
    assert!(matches!(itself, Refusal::ToYourself { .. }), "{itself:?}");
    let author = case.refuse(owner, hand_over("asker", None));
    assert!(matches!(author, Refusal::HandedToAuthor { .. }), "{author:?}");
    let unknown = case.refuse(owner, hand_over("hier", None));
    assert!(unknown.to_string().contains("did you mean `heir`"), "{unknown}");
    let appends = case.world.appends;
    case.world.send(owner, "heir", "wait for me");
    case.world.leave(heir);
    let absent = case.refuse(owner, hand_over("heir", None));
    assert!(matches!(absent, Refusal::NobodyThere { .. }), "{absent:?}");
    assert_eq!(case.world.appends, appends + 2);
    case.check(RequestStatus::Claimed, Some("owner"));
}

#[test]
fn completing_answers_the_requester() {
    let mut case = owned();
    let wait = case.asker_waits();
    let (owner, asker) = (case.owner, case.asker);
    let events = case.update(owner, ClaimUpdate::Complete(text("it is fine")));
    assert!(events.iter().any(|event| matches!(event, Event::RequestCompleted { .. })));
    assert_eq!(case.world.held(asker, wait), [sent(&events).id.clone()]);
    case.check(RequestStatus::Completed, Some("owner"));
}

#[test]
fn giving_up_ends_the_request_and_the_wait_for_it() {
    let mut case = owned();
    let wait = case.asker_waits();
    let (owner, asker) = (case.owner, case.asker);
    let events = case.update(owner, ClaimUpdate::Fail(Some(text("no such file"))));
    case.check(RequestStatus::Failed, Some("owner"));
    assert_eq!(said(sent(&events)), "no such file");
    assert_eq!(case.world.held(asker, wait).len(), 1, "the notice of the end");
    let claim = Operation::Claim(case.request.clone(), CALL);
    let heir = case.heir;
    let lost = case.world.refuse(heir, claim);
    assert!(lost.to_string().ends_with("has failed"), "{lost}");
}

#[test]
fn a_stranger_cannot_update_a_claim() {
    let mut case = owned();
    let heir = case.heir;
    let updates =
        [ClaimUpdate::Renew, ClaimUpdate::Release(None), ClaimUpdate::Complete(text("mine"))];
    for update in updates {
        let refusal = case.refuse(heir, update);
        assert!(matches!(refusal, Refusal::ClaimOver { .. }), "{refusal:?}");
    }
    let unknown = RequestId::from_bits(77);
    let refusal = case.world.refuse(heir, Operation::UpdateClaim(unknown, ClaimUpdate::Renew));
    assert!(matches!(refusal, Refusal::UnknownRequest { .. }));
}

#[test]
fn an_owner_that_updates_its_claim_knows_of_it() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("asker"));
    let agent = world.agent(lead, "codex");
    let request = world.open_leased(asker, Some(300_000));
    let call = world.call();
    world.ask(agent, Operation::Claim(request.clone(), call));
    world.ask(agent, Operation::AnswerWritten(call));
    world.ask(agent, Operation::UpdateClaim(request.clone(), ClaimUpdate::Renew));
    world.ask(lead, Operation::EndCalls(agent));
    assert_eq!(world.state.request(&request).unwrap().status, RequestStatus::Claimed);
}

#[test]
fn a_hand_over_always_comes_with_a_message_of_the_owner_that_has_room() {
    let mut case = owned();
    let (owner, heir) = (case.owner, case.heir);
    let limits = TeamLimits { unread: 2, ..TeamLimits::default() };
    let lead = case.world.lead();
    case.world.ask(lead, Operation::Limit(limits));
    let asker = case.asker;
    for text in ["one", "two"] {
        case.world.send(asker, "heir", text);
    }
    let full = case.refuse(owner, hand_over("heir", None));
    assert!(matches!(full, Refusal::InboxFull { .. }), "{full:?}");
    let (call, _) = case.world.take(heir);
    case.world.settle(heir, call, true);
    let events = case.update(owner, hand_over("heir", None));
    let of_owner = all_sent(&events).find(|sent| sent.kind == MessageKind::Message).unwrap();
    let told = format!("the request {} of asker is yours now", case.request);
    assert_eq!((of_owner.to.named(), said(of_owner)), ([name("heir")].as_slice(), told));
    assert!(!of_owner.quiet, "it wakes");
}

#[test]
fn what_ends_a_claim_is_never_refused_for_the_rate_though_a_release_counts() {
    let mut case = owned();
    let (owner, heir, asker) = (case.owner, case.heir, case.asker);
    // Two requests, not the same one twice.
    let others = [60_000, 90_000].map(|ms| case.world.open_leased(asker, Some(ms)));
    for request in &others {
        case.world.ask(owner, Operation::Claim(request.clone(), CALL));
    }
    let lead = case.world.lead();
    let limits = TeamLimits { messages_per_minute: 60, message_burst: 2, ..TeamLimits::default() };
    case.world.ask(lead, Operation::Limit(limits));
    case.update(owner, hand_over("heir", None));
    case.update(heir, hand_over("owner", None));
    let counts = |case: &mut Owned| {
        for update in [hand_over("heir", None), ClaimUpdate::Progress(text("half of it"))] {
            let fast = case.refuse(owner, update);
            assert!(matches!(fast, Refusal::TooFast { .. }), "{fast:?}");
        }
    };
    case.update(owner, ClaimUpdate::Progress(text("a third of it")));
    let claim = Operation::Claim(case.request.clone(), CALL);
    counts(&mut case);
    case.update(owner, ClaimUpdate::Release(Some(text("too hard"))));
    let ends = [ClaimUpdate::Complete(text("done")), ClaimUpdate::Fail(Some(text("too hard")))];
    for (request, end) in others.into_iter().zip(ends) {
        case.world.ask(owner, Operation::UpdateClaim(request, end));
    }
    // Nobody who claims and releases again and again goes faster than who sends.
    let fast = case.world.refuse(owner, claim.clone());
    assert!(matches!(fast, Refusal::TooFast { .. }), "{fast:?}");
    case.world.pass(10_000);
    case.world.ask(owner, claim);
}

/// Makes a message with a signal and a payload that names a claim.
fn signalled(to: &str, signal: &str, claim: impl Into<serde_json::Value>) -> Operation {
    let payload = serde_json::json!({ "claim": claim.into() });
    let more = Envelope {
        signal: Signal::parse(signal).ok(),
        payload: payload.as_object().cloned(),
        ..Envelope::default()
    };
    Operation::Send {
        to: to.into(),
        body: text("the parser is left"),
        reply_to: None,
        priority: Priority::Normal,
        more: Some(Box::new(more)),
    }
}

#[test]
fn a_signal_of_the_class_hand_over_hands_over_the_claim_that_its_payload_names() {
    for word in ["handoff", "shift"] {
        let mut case = owned();
        let (owner, id) = (case.owner, case.request.to_string());
        let appends = case.world.appends;
        let events = case.world.ask(owner, signalled("heir", word, id.as_str()));
        assert_eq!(case.world.appends, appends + 1, "one append");
        case.check(RequestStatus::Claimed, Some("heir"));
        assert!(notices(&events, "heir")[0].contains("you own it now"));
        let own = all_sent(&events).last().unwrap();
        let shown = case.world.shown(&case.request);
        assert_eq!((said(own), own.thread.as_ref()), ("the parser is left".into(), Some(&shown)));
        assert_eq!(own.class(), crate::domain::messaging::SignalClass::HandOver);
        let told = all_sent(&events).find(|sent| sent.to.named() == [name("asker")]).unwrap();
        assert_eq!(told.claimed_by, Some(name("heir")));
    }
}

#[test]
fn a_claim_handed_over_in_reply_to_its_request_completes_nothing_though_its_requester_gets_a_copy()
{
    let mut case = owned();
    let (owner, id) = (case.owner, case.request.to_string());
    let mut sending = signalled("heir", "handoff", id.as_str());
    if let Operation::Send { reply_to, more: Some(more), .. } = &mut sending {
        *reply_to = Some(id);
        more.mentions = vec![name("asker")];
    }
    case.world.ask(owner, sending);
    case.check(RequestStatus::Claimed, Some("heir"));
}

#[test]
fn a_signal_hands_over_nothing_that_update_claim_would_not() {
    let mut case = owned();
    let (owner, heir, id) = (case.owner, case.heir, case.request.to_string());
    case.world
        .ask(heir, Operation::FollowTopic(crate::domain::member::Label::parse("news").unwrap()));
    for (by, to, claim, expected) in [
        (heir, "owner", serde_json::json!(id), "is not yours: `owner` owns it"),
        (owner, "asker", serde_json::json!(id), "`asker`"),
        (owner, "#news", serde_json::json!(id), "a claim has one owner: hand `req-"),
        (owner, "all", serde_json::json!(id), "a claim has one owner: hand `req-"),
        (owner, "heir", serde_json::json!("req-aaaaaaaaaaaa"), "req-aaaaaaaaaaaa"),
        (owner, "heir", serde_json::json!(7), "\"7\" is not a request id"),
        (owner, "heir", serde_json::json!(null), "\"null\" is not a request id"),
    ] {
        let refused = case.world.refuse(by, signalled(to, "handoff", claim.clone())).to_string();
        assert!(refused.contains(expected), "{to} {claim}: {refused}");
    }
    case.world.leave(heir);
    case.world.refuse(owner, signalled("heir", "shift", id.as_str()));
    case.check(RequestStatus::Claimed, Some("owner"));
    // Neither another signal nor a payload without a claim does anything.
    let keeper = case.world.peer("keeper");
    case.world.ask(owner, signalled("keeper", "sense", id.as_str()));
    let mut bare = signalled("keeper", "handoff", 1);
    if let Operation::Send { more: Some(more), .. } = &mut bare {
        more.payload = None;
    }
    case.world.ask(owner, bare);
    case.check(RequestStatus::Claimed, Some("owner"));
    assert_eq!(case.world.state.unread(&name("keeper")).count(), 2, "{keeper:?}");
}
