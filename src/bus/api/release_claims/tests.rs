//! Claims that their client may not know of, and the answers that they depend on.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::bus::api::test_members::start;
use crate::bus::storage::faulty_log::{Fault, Faults};
use crate::bus::storage::in_memory::Store;
use crate::bus::{Answer, Bus, Claimed};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::member::Label;
use crate::sys::clock;

async fn wins(call: &mut crate::bus::Call, request: &RequestId) -> bool {
    matches!(call.claim(request.clone()).await.unwrap(), Claimed::Won(_))
}

#[tokio::test]
async fn of_several_calls_that_claim_a_request_the_last_one_decides() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let (bob, ann, carl) =
        (bus.join_peer("bob").await, bus.join_peer("ann").await, bus.join_peer("carl").await);
    let hour = Duration::from_hours(1);
    let mut open = bob.call();
    let request = open.open_request("do it".into(), None, hour, hour);
    let request = request.await.unwrap();

    let (mut first, mut second) = (ann.call(), ann.call());
    assert!(wins(&mut first, &request).await && wins(&mut second, &request).await);
    first.requeue().await.unwrap();
    assert!(!wins(&mut carl.call(), &request).await, "ann may know that it is hers");
    second.requeue().await.unwrap();
    let mut of_carl = carl.call();
    assert!(wins(&mut of_carl, &request).await, "no client knows of a claim");
    of_carl.answered().await;
    // Its next call shows that it had the answer.
    let mut again = carl.call();
    assert!(wins(&mut again, &request).await);
    again.requeue().await.unwrap();
    assert!(!wins(&mut ann.call(), &request).await);
    bus.close().await;
}

#[tokio::test]
async fn the_claim_of_a_dead_endpoint_depends_on_the_next_call_that_claims_it() {
    for is_proven in [true, false] {
        let offered = offered(&Faults::default()).await;
        let mut lost = offered.endpoint().call();
        assert!(wins(&mut lost, &offered.request).await);
        // Killed: it can release nothing.
        std::mem::forget(lost);
        let next = offered.endpoint();
        let mut again = next.call();
        assert!(wins(&mut again, &offered.request).await);
        assert!(again.answered_by(Answer::given()).await, "a claim depends on it");
        if is_proven {
            next.call().answered().await;
        }
        offered.lead.ask(Operation::EndCalls(offered.agent)).await.unwrap();
        assert_eq!(!offered.is_free().await, is_proven);
        offered.bus.close().await;
    }
}

/// A team in which an agent may claim bob's request.
struct Offered {
    bus: Bus,
    lead: Membership,
    agent: SessionId,
    request: RequestId,
}

async fn offered(faults: &Faults) -> Offered {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
    let (lead, bob) = (bus.join_peer("boss").await, bus.join_peer("bob").await);
    let agent = start(&lead, "secret").await;
    let hour = Duration::from_hours(1);
    let mut open = bob.call();
    let request = open.open_request("do it".into(), None, hour, hour);
    let request = request.await.unwrap();
    Offered { bus, lead, agent, request }
}

impl Offered {
    fn endpoint(&self) -> Membership {
        Membership::of_agent(&self.bus, self.agent, "secret").unwrap()
    }

    /// Claims the request by a call with this answer.
    async fn claim(&self, by: &Membership, answer: Answer) -> CallId {
        let mut call = by.call();
        assert!(wins(&mut call, &self.request).await);
        let id = call.id();
        assert!(call.answered_by(answer).await, "a claim depends on it");
        id
    }

    async fn is_free(&self) -> bool {
        wins(&mut self.lead.call(), &self.request).await
    }
}

#[tokio::test]
async fn a_late_cancel_keeps_a_claim_that_another_endpoint_has_made() {
    for is_proven in [true, false] {
        let offered = offered(&Faults::default()).await;
        let (old, new) = (offered.endpoint(), offered.endpoint());
        let stuck = offered.claim(&old, Answer::default()).await;
        offered.claim(&new, Answer::given()).await;
        if is_proven {
            new.call().answered().await;
        }
        old.unanswered(stuck).await.unwrap();
        assert!(!offered.is_free().await, "proven: {is_proven}");
        offered.bus.close().await;
    }
}

#[tokio::test]
async fn a_late_cancel_keeps_a_claim_that_its_claimer_has_written_about_after_the_answer() {
    let cases = [(true, true), (true, false), (false, true), (false, false)];
    for ((is_agent, writes), is_given) in
        cases.into_iter().flat_map(|case| [(case, true), (case, false)])
    {
        let offered = offered(&Faults::default()).await;
        let claimer =
            if is_agent { offered.endpoint() } else { offered.bus.join_peer("ann").await };
        let answer = Answer::default();
        let stuck = offered.claim(&claimer, answer.clone()).await;
        if is_given {
            // The next request may have begun before this was noted.
            answer.give(10);
            claimer.written(stuck).await.unwrap();
        }
        if writes {
            let mut call = claimer.call_at(9);
            let about = Some(offered.request.to_string());
            let sent = call.send("boss".into(), "on it".into(), about);
            sent.await.unwrap();
        }
        claimer.unanswered(stuck).await.unwrap();
        let is_kept = writes && is_given;
        assert_ne!(offered.is_free().await, is_kept, "an agent: {is_agent}, writes: {writes}");
        offered.bus.close().await;
    }
}

#[tokio::test]
async fn a_written_answer_is_recorded_after_a_busy_moment() {
    let faults = Faults::default();
    let offered = offered(&faults).await;
    let endpoint = offered.endpoint();
    let call = offered.claim(&endpoint, Answer::given()).await;
    faults.fail_at(2, Fault::Busy, |event| matches!(event, Event::AnswerWritten(_)));
    endpoint.written(call).await.unwrap();
    let is_written = || offered.bus.look(|state| state.is_written(offered.agent, call));
    let mut changes = offered.bus.changes();
    let noted = async {
        while !is_written() {
            changes.changed().await.unwrap();
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), noted).await;
    assert!(in_time.is_ok(), "it is not recorded");
    assert_eq!(faults.failed(), 2);
    offered.bus.close().await;
}

#[tokio::test]
async fn a_lane_whose_claimer_did_not_get_the_answer_is_free_unless_it_had_it_before() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let (ann, bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
    let lane = Label::parse("storage").unwrap();
    let owner =
        || bus.look(|state| state.lane_owner("storage").map(|owner| owner.name.to_string()));
    // Cancelled.
    let mut lost = ann.call();
    lost.claim_lane(lane.clone()).await.unwrap();
    lost.requeue().await.unwrap();
    assert_eq!(owner(), None);
    // The answer was given, and did not arrive.
    let mut lost = ann.call();
    lost.claim_lane(lane.clone()).await.unwrap();
    let id = lost.id();
    assert!(lost.answered_by(Answer::default()).await, "the claim depends on it");
    ann.unanswered(id).await.unwrap();
    assert_eq!(owner(), None);
    // Once the answer has arrived, another lost one changes nothing.
    let mut got = bob.call();
    got.claim_lane(lane.clone()).await.unwrap();
    got.answered().await;
    let mut again = bob.call();
    again.claim_lane(lane.clone()).await.unwrap();
    again.requeue().await.unwrap();
    assert_eq!(owner().as_deref(), Some("bob"));
    let mut refused = ann.call();
    assert!(refused.claim_lane(lane).await.is_err());
    refused.requeue().await.unwrap();
    assert_eq!(owner().as_deref(), Some("bob"));
    bus.close().await;
}
