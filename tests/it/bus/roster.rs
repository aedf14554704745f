//! Live members: names, presence, deaths, and the view for people.

use cli_team_bridge::bus::rules::{NameChoice, Operation};
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::member::{Departure, MemberKind};

use super::every_engine::{
    Logs, ids, join, name, on_every_log, open_files, peer, send, take, until, within,
};

on_every_log!(
    a_new_member_is_seen_by_every_process,
    a_name_is_waited_for_until_its_holder_leaves,
    orchestrators_get_a_name_each,
    the_view_shows_the_live_members,
    the_next_keeper_of_the_view_writes_it_again,
    an_endpoint_shows_the_token_of_its_session;
    the_name_of_a_dead_holder_is_taken_over_with_its_mail,
    a_death_is_seen_and_its_claims_are_free,
);

fn names(bus: &Bus) -> Vec<String> {
    bus.look(|state| {
        let live = state.live_sessions().into_iter();
        live.map(|session| session.name.to_string()).collect()
    })
}

async fn a_new_member_is_seen_by_every_process(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, _b) = (peer(&here, "a").await, peer(&there, "b").await);
    // On another host, a member is seen soon, but not at once.
    let renew = |bus: &Bus| tokio::task::block_in_place(|| bus.fetch()).unwrap();
    renew(&here);
    here.refresh().unwrap();
    assert_eq!(names(&here), ["a", "b"]);
    a.leave(Departure::Closed).await.unwrap();
    renew(&there);
    there.refresh().unwrap();
    assert_eq!(names(&there), ["b"]);
    assert_eq!(names(&logs.bus()), ["b"], "and by one that comes later");
}

async fn a_name_is_waited_for_until_its_holder_leaves(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let first = peer(&here, "a").await;
    let heir = tokio::spawn(async move { peer(&there, "A").await });
    first.leave(Departure::Closed).await.unwrap();
    let heir = within(heir).await.unwrap();
    assert_ne!(heir.session(), first.session());
}

async fn the_name_of_a_dead_holder_is_taken_over_with_its_mail(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let id = send(&b, "a", "kept").await;
    // The process ends without leaving: its presence is free, its session is still in the log.
    die(a, here).await;
    let heir = peer(&there, "a").await;
    let mut call = heir.call();
    assert_eq!(ids(&take(&mut call).await), [id]);
    call.answered().await;
}

/// Closes a process's bus without recording that it leaves.
async fn die(membership: Membership, bus: Bus) {
    bus.close().await;
    drop((membership, bus));
}

#[tokio::test]
async fn a_clean_end_leaves_nothing_of_the_dead_behind() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("bridge");
    let (here, there) = (open_files(&directory), open_files(&directory));
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    die(a, here).await;
    until(&there, |state| state.live(&name("a")).is_none()).await;
    b.leave(Departure::Closed).await.unwrap();
    for part in ["presence", "bell"] {
        let left = std::fs::read_dir(directory.join(part)).unwrap();
        assert_eq!(left.count(), 0, "{part}");
    }
}

async fn a_death_is_seen_and_its_claims_are_free(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let (a, b) = (peer(&here, "a").await, peer(&there, "b").await);
    let mut call = b.call();
    let hour = std::time::Duration::from_hours(1);
    let id = call.open_request("work".into(), None, hour, hour).await.unwrap();
    call.answered().await;
    a.ask(Operation::Claim(id.clone(), a.call().id())).await.unwrap();
    there.refresh().unwrap();
    assert!(there.look(|state| state.open_requests().next().is_none()));
    die(a, here).await;
    until(&there, |state| state.open_requests().any(|open| open.id == id)).await;
    assert_eq!(names(&there), ["b"]);
}

async fn orchestrators_get_a_name_each(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let choice = || NameChoice::Like(name("orchestrator"));
    let one = join(&here, choice(), MemberKind::Orchestrator).await;
    let two = join(&there, choice(), MemberKind::Orchestrator).await;
    assert_eq!(one.name().as_str(), "orchestrator");
    assert_eq!(two.name().as_str(), "orchestrator-2");
}

/// Waits until the view names exactly these members.
async fn check_view(logs: &impl Logs, expected: &[&str]) {
    let named = |view: &str| {
        let view: serde_json::Value = serde_json::from_str(view).unwrap_or_default();
        let agents = view["agents"].as_array().cloned().unwrap_or_default();
        let names = agents.iter().map(|agent| agent["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    within(async {
        while named(&logs.view()) != expected {
            // No event reports that a file for people has been written.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

async fn the_view_shows_the_live_members(logs: impl Logs) {
    let bus = logs.bus();
    let a = peer(&bus, "a").await;
    let b = peer(&bus, "b").await;
    check_view(&logs, &["a", "b"]).await;
    a.leave(Departure::Closed).await.unwrap();
    check_view(&logs, &["b"]).await;
    b.leave(Departure::Closed).await.unwrap();
    check_view(&logs, &[]).await;
}

async fn the_next_keeper_of_the_view_writes_it_again(logs: impl Logs) {
    let (here, there) = (logs.bus(), logs.bus());
    let _a = peer(&here, "a").await;
    check_view(&logs, &["a"]).await;
    let choice = NameChoice::Like(name("orchestrator"));
    let lead = join(&there, choice, MemberKind::Orchestrator).await;
    check_view(&logs, &["a", "orchestrator"]).await;
    lead.leave(Departure::Closed).await.unwrap();
    check_view(&logs, &["a"]).await;
}

async fn an_endpoint_shows_the_token_of_its_session(logs: impl Logs) {
    use cli_team_bridge::bus::api::membership::token_hash;
    use cli_team_bridge::bus::event::Starting;
    use cli_team_bridge::bus::rules::NewAgent;

    let bus = logs.bus();
    let choice = NameChoice::Like(name("orchestrator"));
    let lead = join(&bus, choice, MemberKind::Orchestrator).await;
    let session = cli_team_bridge::sys::random_ids::session();
    bus.hold(session).unwrap();
    let starting = Starting {
        session,
        name: name("codex"),
        chosen: false,
        profile: "codex".into(),
        model: None,
        cwd: "/project".into(),
        roles: Vec::new(),
        owner: lead.session(),
        token_hash: token_hash("secret"),
    };
    let choice = NameChoice::Like(name("codex"));
    let start = Operation::Start(Box::new(NewAgent::new(choice, starting)), None);
    lead.ask(start).await.unwrap();
    let membership = Membership::of_agent(&bus, session, "secret").unwrap();
    assert_eq!(membership.name().as_str(), "codex");
    assert!(Membership::of_agent(&bus, session, "guess").is_err());
    assert!(Membership::of_agent(&bus, lead.session(), "secret").is_err());
}
