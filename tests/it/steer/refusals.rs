//! Where the acting commands refuse: below an agent, without a bus, and for what is not there.

use cli_team_bridge::supervisor::Shim;
use serde_json::{Value, json};

use super::{acted, done, failed};
use crate::support::{Member, Stage};

/// Each command, with arguments that are well formed.
const ACTS: [&[&str]; 6] = [
    &["send", "codex", "x"],
    &["allow", "perm-aaaaaaaaaaaa"],
    &["deny", "wf-aaaaaaaaaaaa/step"],
    &["cancel", "task-aaaaaaaaaaaa"],
    &["stop", "codex"],
    &["kill", "codex"],
];

#[tokio::test]
async fn no_act_makes_a_bus_or_uses_one_that_is_foreign_or_newer() {
    let stage = Stage::new("");
    for act in ACTS {
        let said = failed(&stage, act).await;
        assert!(said.starts_with("error: there is no team in `"), "{act:?}: {said}");
        assert!(said.contains("\nhint: a team begins"), "{act:?}: {said}");
    }
    assert!(!stage.bus().exists());

    stage.orchestrator().await.close().await;
    let copy = stage.copied();
    for act in ACTS {
        let said = failed(&copy, act).await;
        assert!(said.contains("was not created here, so it is not read\nhint: "), "{said}");
    }
    let bus_json = stage.bus().join("bus.json");
    let mut newer: Value = serde_json::from_slice(&std::fs::read(&bus_json).unwrap()).unwrap();
    newer["format"] = json!(999);
    std::fs::write(&bus_json, newer.to_string()).unwrap();
    for act in ACTS {
        let said = failed(&stage, act).await;
        assert!(said.starts_with("error: a newer cli-team-bridge uses this bus"), "{said}");
    }
    assert_eq!(stage.events_of("stop_asked"), Vec::<Value>::new());
}

#[tokio::test]
async fn no_process_below_an_agent_acts_as_its_user() {
    let plain = Stage::new("");
    plain.orchestrator().await.close().await;
    let shim = Shim { binary: env!("CARGO_BIN_EXE_cli-team-bridge").into(), presence: None };
    for act in ACTS {
        let project = plain.project().to_str().unwrap();
        let arguments = [act, &["--project", project]].concat();
        let (exit, said) = plain.ended(&arguments, Some(shim.clone())).await;
        assert_eq!(exit.code, Some(1), "{act:?}: {said}");
        assert!(said.contains("an agent cannot act as its user"), "{act:?}: {said}");
    }
    let marked = Stage::new("")
        .with_env(vec![("BRIDGE_RUN".into(), "0198c0de-0000-7000-8000-000000000000".into())]);
    // Nor does it learn which other projects there are.
    for act in ACTS.into_iter().chain([&["send", "web:alice", "x"] as &[_]]) {
        let said = failed(&marked, act).await;
        assert!(said.contains("an agent cannot act as its user"), "{act:?}: {said}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_with_what_is() {
    let stage = Stage::new("");
    let ann = stage.peer("annabel").await;
    for (act, expected) in [
        (
            &["send", "anabel", "x"] as &[_],
            "error: no member is named \"anabel\"\nhint: did you mean `annabel`?\n",
        ),
        (&["send", "human", "x"], "error: `human` is you, the person at the command line\nhint: "),
        (
            &["send", "@review", "x"],
            "error: `@review` reaches nobody\nhint: `cli-team-bridge status`",
        ),
        (
            &["send", "everybody", "x"],
            "error: no member is named \"everybody\"\nhint: `all` reaches all members",
        ),
        (
            &["kill", "annabel"],
            "error: `annabel` is no agent that a bridge started, but joined by itself (peer)\nhint: ",
        ),
        (
            &["allow", "perm-aaaaaaaaaaaa"],
            "error: there is no question `perm-aaaaaaaaaaaa`, or it was answered too long ago\nhint: `cli-team-bridge status`",
        ),
        (
            &["deny", "wf-aaaaaaaaaaaa"],
            "error: there is no workflow `wf-aaaaaaaaaaaa`, or it is too old to be found\nhint: ",
        ),
        (
            &["deny", "wf-aaaaaaaaaaaa/step"],
            "error: there is no workflow `wf-aaaaaaaaaaaa`, or it is too old to be found\nhint: ",
        ),
        (
            &["cancel", "task-aaaaaaaaaaaa"],
            "error: there is no task `task-aaaaaaaaaaaa`, or it is too old to be found\nhint: ",
        ),
        (
            &["cancel", "wf-aaaaaaaaaaaa"],
            "error: there is no workflow `wf-aaaaaaaaaaaa`, or it is too old to be found\nhint: ",
        ),
        (
            &["allow", "wf-aaaaaaaaaaaa", "--always"],
            "error: a step is approved each time it is about to begin\nhint: ",
        ),
        (
            &["deny", "perm-aaaaaaaaaaaa", "--reason", "x"],
            "error: only steps are refused with a reason\nhint: ",
        ),
    ] {
        let said = failed(&stage, act).await;
        assert!(said.starts_with(expected), "{act:?}: {said}");
    }
    for malformed in
        ["", "perm-\u{1b}[2J", "wf-aaaaaaaaaaaa/", "wf-aaaaaaaaaaaa/\u{202e}x", "../../x"]
    {
        for act in ["allow", "deny", "cancel"] {
            let (code, said) = acted(&stage, &[act, malformed]).await;
            assert_eq!(code, Some(2), "{act} {malformed:?}: {said}");
            assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
        }
    }
    ann.close().await;
}

#[tokio::test]
async fn a_group_without_members_is_said_with_the_groups_there_are() {
    let stage = Stage::new("");
    let words =
        ["--role", "reviewer", "--lane", "storage", "--capability", "rust", "--topic", "db"];
    let started = [&["peer", "--name", "ann"], &words[..]].concat();
    let (child, pipes) = stage.start(&started).await;
    let ann = Member::connect(child, pipes).await;
    ann.names().await;
    let said = failed(&stage, &["send", "@none", "x"]).await;
    let lists = "error: `@none` reaches nobody\nhint: there are lanes `@storage`; roles `@reviewer`; \
        capabilities `@rust`; topics `#db`\n";
    assert_eq!(said, lists);
    let said = failed(&stage, &["send", "#dbs", "x"]).await;
    assert!(said.contains("\nhint: did you mean `#db`? There are lanes `@storage`"), "{said}");
    ann.close().await;
}

/// What the person says is `relay` anyway.
#[tokio::test]
async fn the_person_may_say_that_it_is_theirs() {
    let stage = Stage::new("");
    let ann = stage.peer("ann").await;
    done(&stage, &["send", "ann", "one", "--no-wait", "--signal", "Relay"]).await;
    done(&stage, &["send", "ann", "two", "--no-wait"]).await;
    let sent = stage.events_of("message_sent");
    let signals: Vec<_> = sent.iter().map(|sent| &sent["more"]["signal"]).collect();
    assert_eq!(signals, ["relay", "relay"]);
    let (code, said) = acted(&stage, &["send", "ann", "x", "--signal", "PeerLeft"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("reserved for the bus itself"), "{said}");
    ann.close().await;
}
