//! Messages between members of several processes: sent, waited for, delivered, seen, requeued.

use std::collections::BTreeSet;
use std::time::Duration;

use cli_team_bridge::bus::rules::Operation;
use cli_team_bridge::bus::state::Delivery;
use cli_team_bridge::bus::{WaitFor, Waited};
use futures::FutureExt as _;

use super::every_engine::{
    Chance, Logs, ids, name, on_every_log, peer, send, take, take_some, until, within,
};

/// Longer than a test waits for anything.
const LONG: Duration = Duration::from_mins(1);

on_every_log!(
    messages_arrive_whole_and_in_order,
    a_wait_is_woken_by_the_send_of_another_process,
    a_wait_that_races_with_its_deadline_loses_nothing,
    a_cancelled_call_requeues_its_messages,
    a_dropped_call_requeues_its_messages,
    a_dropped_requeue_still_requeues,
    the_next_call_proves_that_the_answer_was_taken,
    calls_at_the_same_time_never_get_the_same_message,
    a_stranger_cannot_find_a_message,
    history_returns_at_most_the_requested_number,
    a_closed_bus_says_so,
);

async fn messages_arrive_whole_and_in_order(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let long = "lang ".repeat(40_000);
    let texts = ["one", long.as_str(), "\u{0}\u{1f}\"\\ zwei ß", "three"];
    for text in texts {
        send(&a, "B", text).await;
    }
    let mut call = b.call();
    let letters = take(&mut call).await;
    let read: Vec<_> = letters.iter().map(|letter| letter.text.as_str()).collect();
    assert_eq!(read, texts);
    call.answered().await;
}

async fn a_wait_is_woken_by_the_send_of_another_process(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let session = b.session();
    let waiting = tokio::spawn(async move {
        let mut call = b.call();
        let waited =
            call.wait(WaitFor { from: Some(name("a")), ..WaitFor::default() }, LONG).await.unwrap();
        call.answered().await;
        waited
    });
    until(&there, |state| {
        state.session(session).is_some_and(|session| session.status() == "waiting")
    })
    .await;
    let id = send(&a, "b", "hello").await;
    let Waited::Message(letter) = within(waiting).await.unwrap() else {
        panic!("it waits for long enough")
    };
    assert_eq!((letter.header.id, letter.text.as_str()), (id, "hello"));
}

async fn a_wait_that_races_with_its_deadline_loses_nothing(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let mut chance = Chance::new();
    for _ in 0..100 {
        let timeout = Duration::from_micros(1_000 + chance.below(4_000));
        let pause = Duration::from_micros(chance.below(6_000));
        let mut call = b.call();
        let (waited, id) = tokio::join!(call.wait(WaitFor::default(), timeout), async {
            tokio::time::sleep(pause).await;
            send(&a, "b", "x").await
        });
        let got = match waited.unwrap() {
            Waited::Message(letter) => vec![letter.header.id],
            Waited::TimedOut => {
                call.answered().await;
                call = b.call();
                ids(&take(&mut call).await)
            }
            other => panic!("no process ends it: {other:?}"),
        };
        assert_eq!(got, [id]);
        call.answered().await;
    }
}

async fn a_cancelled_call_requeues_its_messages(logs: impl Logs) {
    let bus = logs.bus();
    let (a, b) = (peer(&bus, "a").await, peer(&bus, "b").await);
    let sent = [send(&a, "b", "one").await, send(&a, "b", "two").await];
    let mut call = b.call();
    assert_eq!(ids(&take(&mut call).await), sent);
    call.requeue().await.unwrap();
    let mut call = b.call();
    assert_eq!(ids(&take(&mut call).await), sent);
    call.answered().await;
}

async fn a_dropped_call_requeues_its_messages(logs: impl Logs) {
    let bus = logs.bus();
    let (a, b) = (peer(&bus, "a").await, peer(&bus, "b").await);
    let id = send(&a, "b", "one").await;
    let mut call = b.call();
    take(&mut call).await;
    drop(call);
    check_comes_again(&b, &id).await;

    let mut call = b.call();
    let id = send(&a, "b", "two").await;
    // Cancelled before it has an answer, as when a client goes away in the middle.
    drop(call.wait(WaitFor::default(), LONG).now_or_never());
    drop(call);
    check_comes_again(&b, &id).await;
}

async fn check_comes_again(
    membership: &cli_team_bridge::bus::Membership,
    id: &cli_team_bridge::domain::ids::MessageId,
) {
    let mut call = membership.call();
    let Waited::Message(letter) = within(call.wait(WaitFor::default(), LONG)).await.unwrap() else {
        panic!("it comes again")
    };
    assert_eq!(letter.header.id, *id);
    call.answered().await;
    membership.call().answered().await;
}

async fn a_dropped_requeue_still_requeues(logs: impl Logs) {
    let bus = logs.bus();
    let (a, b) = (peer(&bus, "a").await, peer(&bus, "b").await);
    let id = send(&a, "b", "one").await;
    let mut call = b.call();
    take(&mut call).await;
    drop(call.requeue().now_or_never());
    check_comes_again(&b, &id).await;
}

async fn the_next_call_proves_that_the_answer_was_taken(logs: impl Logs) {
    let bus = logs.bus();
    let (a, b) = (peer(&bus, "a").await, peer(&bus, "b").await);
    let id = send(&a, "b", "one").await;
    let delivery =
        || bus.look(|state| state.message(&id).and_then(|message| message.delivery(&name("b"))));
    let mut call = b.call();
    take(&mut call).await;
    call.answered().await;
    assert!(matches!(delivery(), Some(Delivery::InFlight { .. })));
    b.call().answered().await;
    assert_eq!(delivery(), Some(Delivery::Seen));
}

async fn calls_at_the_same_time_never_get_the_same_message(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let mut sent = BTreeSet::new();
    for _ in 0..60 {
        sent.insert(send(&a, "b", "x").await);
    }
    let takers: Vec<_> = (0..8)
        .map(|_| {
            let b = b.clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                loop {
                    let mut call = b.call();
                    let some = ids(&take_some(&mut call, 3).await);
                    call.answered().await;
                    if some.is_empty() {
                        return got;
                    }
                    got.extend(some);
                }
            })
        })
        .collect();
    let mut got = BTreeSet::new();
    for taker in takers {
        for id in within(taker).await.unwrap() {
            assert!(got.insert(id), "handed twice");
        }
    }
    assert_eq!(got, sent);
}

async fn a_stranger_cannot_find_a_message(logs: impl Logs) {
    let bus = logs.bus();
    let (a, _b, _c) = (peer(&bus, "a").await, peer(&bus, "b").await, peer(&bus, "c").await);
    let id = send(&a, "b", "for b alone").await;
    assert!(bus.find_message(&id, &name("a")).is_ok());
    assert!(bus.find_message(&id, &name("b")).is_ok());
    let refused = bus.find_message(&id, &name("c")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "there is no message `{id}` that you sent or received, or it is too old to be found"
        )
    );
    let (found, _) = bus.history(None, |_| true, &name("c"), 100).unwrap();
    assert!(found.is_empty());
}

async fn history_returns_at_most_the_requested_number(logs: impl Logs) {
    let bus = logs.bus();
    let (a, b) = (peer(&bus, "a").await, peer(&bus, "b").await);
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(send(&a, "b", "x").await);
    }
    // One append with two messages for `a`: the report of `b`'s claim, and another one.
    let mut call = a.call();
    let hour = Duration::from_hours(1);
    let request = call.open_request("work".into(), None, hour, hour).await.unwrap();
    call.answered().await;
    b.ask(Operation::Claim(request, b.call().id())).await.unwrap();
    let (mut from, mut all) = (None, Vec::new());
    loop {
        let (found, next) =
            bus.history(from, |message| !message.is_presence(), &name("a"), 2).unwrap();
        assert!(found.len() <= 2);
        all.extend(found.into_iter().map(|message| message.id));
        from = next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(all[..3], sent);
    assert_eq!(all.len(), 5);
}

async fn a_closed_bus_says_so(logs: impl Logs) {
    let bus = logs.bus();
    let a = peer(&bus, "a").await;
    bus.close().await;
    let refused = within(a.ask(Operation::Received)).await.unwrap_err();
    assert_eq!(refused.to_string(), "this process is closing its bus");
}
