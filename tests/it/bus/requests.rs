//! Requests over several processes: each has one owner, and the members concerned are notified.

use std::time::Duration;

use cli_team_bridge::bus::{Claimed, Membership, WaitFor, Waited};
use cli_team_bridge::domain::ids::RequestId;
use cli_team_bridge::domain::messaging::{MessageKind, RequestStatus};

use super::every_engine::{Logs, on_every_log, peer, take, within};

/// Longer than a test takes.
const HOUR: Duration = Duration::from_hours(1);

on_every_log!(
    each_request_has_one_winner,
    a_claim_and_its_answer_reach_the_requester,
    an_unclaimed_request_is_nudged_and_expires_by_itself,
);

async fn open(membership: &Membership, nudge: Duration, ttl: Duration) -> RequestId {
    let mut call = membership.call();
    let id = call
        .open_request("look at this".into(), Some("all of it".into()), nudge, ttl)
        .await
        .unwrap();
    call.answered().await;
    id
}

async fn each_request_has_one_winner(logs: impl Logs) {
    let asker = peer(&logs.bus(), "asker").await;
    let mut requests = Vec::new();
    for _ in 0..12 {
        requests.push(open(&asker, HOUR, HOUR).await);
    }
    let mut racers = Vec::new();
    for number in 0..6 {
        let racer = peer(&logs.bus(), &format!("racer-{number}")).await;
        let requests = requests.clone();
        racers.push(tokio::spawn(async move {
            let mut won = Vec::new();
            for id in requests {
                let mut call = racer.call();
                if let Claimed::Won(request) = call.claim(id).await.unwrap() {
                    won.push(request.id);
                }
                call.answered().await;
            }
            (won, racer)
        }));
    }
    let (mut won, mut alive) = (Vec::new(), Vec::new());
    for racer in racers {
        // A racer lives on: its end would free its claims.
        let (its, racer) = within(racer).await.unwrap();
        won.extend(its);
        alive.push(racer);
    }
    won.sort();
    requests.sort();
    assert_eq!(won, requests);
}

async fn a_claim_and_its_answer_reach_the_requester(logs: impl Logs) {
    let (asker, owner) = (peer(&logs.bus(), "asker").await, peer(&logs.bus(), "owner").await);
    let id = open(&asker, HOUR, HOUR).await;
    let mut call = owner.call();
    let shown = take(&mut call).await;
    assert_eq!(shown[0].header.request.as_ref(), Some(&id));
    assert_eq!(shown[0].text, "look at this\n\nContext: all of it");
    assert!(matches!(call.claim(id.clone()).await.unwrap(), Claimed::Won(_)));
    call.answered().await;

    let notice = wait(&asker, &id).await;
    assert_eq!(
        (notice.header.kind, notice.text.as_str()),
        (MessageKind::Response, "claimed by owner")
    );
    let mut call = owner.call();
    call.send("asker".into(), "done".into(), Some(id.to_string())).await.unwrap();
    call.answered().await;
    let answer = wait(&asker, &id).await;
    assert_eq!(answer.text, "done");
    let status = |state: &cli_team_bridge::bus::state::State| state.request(&id).unwrap().status;
    assert_eq!(asker.bus().look(status), RequestStatus::Completed);
}

async fn wait(membership: &Membership, about: &RequestId) -> cli_team_bridge::bus::LoadedMessage {
    let mut call = membership.call();
    let Waited::Message(letter) =
        within(call.wait(WaitFor { request: Some(about.clone()), ..WaitFor::default() }, HOUR))
            .await
            .unwrap()
    else {
        panic!("it waits for long enough")
    };
    call.answered().await;
    *letter
}

async fn an_unclaimed_request_is_nudged_and_expires_by_itself(logs: impl Logs) {
    let (asker, idle) = (peer(&logs.bus(), "asker").await, peer(&logs.bus(), "idle").await);
    open(&asker, Duration::from_millis(1), Duration::from_millis(400)).await;
    let mut notices = Vec::new();
    while notices.len() < 2 {
        let mut call = asker.call();
        if let Waited::Message(letter) = within(call.wait(WaitFor::default(), HOUR)).await.unwrap()
        {
            assert_eq!(letter.header.kind, MessageKind::Notice);
            notices.push(letter.text);
        }
        call.answered().await;
    }
    assert!(notices[0].contains("All members were reminded"), "{notices:?}");
    assert!(notices[1].contains("expired: no member"), "{notices:?}");
    idle.bus().refresh().unwrap();
    let mut call = idle.call();
    let kinds: Vec<_> = take(&mut call).await.iter().map(|letter| letter.header.kind).collect();
    assert_eq!(kinds, [MessageKind::Nudge], "the request itself was withdrawn");
    call.answered().await;
}
