//! A team on two machines: two projects with a mirror each, and a server between them.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{DEADLINE, Stage, postgres_server, until};

/// Plays nothing: the test speaks for its members.
const SCRIPT: &str = "";

/// A plan of one step.
const PLAN: &str =
    "name = \"one\"\n[[steps]]\nname = \"one\"\nagent = \"scripted\"\nprompt = \"hello\"\n";

/// Runs a command line of the program in a project. Returns what it printed.
pub(super) fn command(stage: &Stage, arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .args(arguments)
        .current_dir(stage.project())
        .env("HOME", stage.home())
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    text
}

/// Runs a command line that must fail, without input. Returns what it said.
fn refusal(stage: &Stage, arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .args(arguments)
        .current_dir(stage.project())
        .env("HOME", stage.home())
        .env_remove("XDG_STATE_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_on_two_machines_talks_and_outlives_the_death_of_one() {
    let Some(mut server) = tokio::task::block_in_place(postgres_server::TestServer::start) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there) = (Stage::new(SCRIPT), Stage::new(SCRIPT));
    for stage in [&here, &there] {
        let made = command(stage, &["bus", "init", &server.address(), "--team", "shop"]);
        assert!(made.starts_with("The team \"shop\" is on "), "{made}");
    }
    let lead = here.orchestrator().await;
    let far = there.orchestrator_with(&["--name", "far"]).await;
    far.call("send_message", json!({ "to": "orchestrator", "content": "hello over there" })).await;
    let heard = lead.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("hello over there"), "{heard}");
    let agents = lead.call("list_agents", json!({})).await;
    let hosts: Vec<_> =
        agents["agents"].as_array().unwrap().iter().map(|one| &one["host"]).collect();
    assert!(hosts.len() == 2 && hosts.iter().all(|host| host.is_string()), "{agents}");
    until("both machines know the same", || {
        command(&there, &["bus", "status"]).contains("all of them here")
    })
    .await;
    assert!(command(&there, &["status"]).contains("orchestrator"));

    tokio::task::block_in_place(|| server.kill());
    let away =
        far.refused("send_message", json!({ "to": "orchestrator", "content": "lost?" })).await;
    assert!(away.contains("cannot be reached"), "{away}");
    let listed = command(&there, &["messages"]);
    assert!(listed.contains("hello over there"), "what is known is shown: {listed}");
    tokio::task::block_in_place(|| server.restart());
    far.call("send_message", json!({ "to": "orchestrator", "content": "back again" })).await;
    let heard = lead.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("back again"), "{heard}");

    far.die().await;
    let begun = Instant::now();
    while lead.call("list_agents", json!({})).await.to_string().contains("\"far\"") {
        assert!(begun.elapsed() < DEADLINE, "the dead machine is found");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The same machine again: it is another host, whose members stay.
    let again = there.orchestrator_with(&["--name", "far"]).await;
    for number in 0..8 {
        let content = format!("here again {number}");
        again.call("send_message", json!({ "to": "orchestrator", "content": content })).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    again.close().await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_bus_keeps_to_the_server_that_its_user_has_chosen() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there) = (Stage::new(SCRIPT), Stage::new(SCRIPT));
    for stage in [&here, &there] {
        command(stage, &["bus", "init", &server, "--team", "kept"]);
    }
    let ann = here.peer("ann").await;
    // A machine without a member acts, too.
    command(&there, &["send", "ann", "from the command line"]);
    let heard = ann.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("from the command line"), "{heard}");
    // A lost mirror is fetched again, and no bus of its own takes its place.
    std::fs::remove_dir_all(there.bus()).unwrap();
    let ben = there.peer("ben").await;
    ben.call("send_message", json!({ "to": "ann", "content": "still with you" })).await;
    let heard = ann.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("still with you"), "{heard}");
    ben.close().await;
    // It leaves the team only by its user's word.
    let aside = there.project().join("aside");
    std::fs::rename(there.bus(), &aside).unwrap();
    let left = command(&there, &["bus", "init", "--files"]);
    assert!(left.contains("has a bus of its own now"), "{left}");
    assert!(command(&there, &["bus", "status"]).starts_with("kept in files here"));
    std::fs::remove_dir_all(there.bus()).unwrap();
    std::fs::rename(&aside, there.bus()).unwrap();
    // No file of the project chooses another server.
    let file = there.bus().join("bus.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("user=bridge", "user=other")).unwrap();
    let refused = refusal(&there, &["send", "ann", "x"]);
    assert!(
        refused.contains("names another server than the one that its user has chosen"),
        "{refused}"
    );
    let adopted = there.copied();
    let refused = refusal(&adopted, &["orchestrator", "--adopt"]);
    assert!(refused.contains("is not adopted"), "{refused}");
    ann.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_bus_is_on_the_server_of_the_configuration_and_a_present_one_stays_what_it_is() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let setting = format!("bus = {server:?}\nteam = \"configured\"\n");
    let new = Stage::new(SCRIPT).with_profiles(&setting);
    let other = Stage::new(SCRIPT).with_profiles(&setting);
    let (ann, ben) = (new.peer("ann").await, other.orchestrator().await);
    ben.call("send_message", json!({ "to": "ann", "content": "from the other machine" })).await;
    let heard = ann.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert!(heard.to_string().contains("from the other machine"), "{heard}");
    ann.close().await;
    ben.close().await;
    assert!(command(&new, &["bus", "status"]).contains("configured"));
    // Whoever has a bus in files keeps it.
    let own = Stage::new(SCRIPT);
    own.peer("carl").await.close().await;
    let own = own.with_profiles(&setting);
    own.peer("carl").await.close().await;
    assert!(command(&own, &["bus", "status"]).starts_with("kept in files here"));
    std::fs::write(own.project().join("plan.toml"), PLAN).unwrap();
    let run = ["run", "plan.toml", "--bus", &server, "--team", "other"];
    let refused = refusal(&own, &run);
    assert!(refused.contains("is in files, and stays so"), "{refused}");
    // A repository names no server, and neither does an unreachable one leave a bus behind.
    let brought = Stage::new(SCRIPT).with_project_file(&setting);
    let refused = refusal(&brought, &["run", "plan.toml"]);
    assert!(!brought.bus().join("bus.json").exists(), "{refused}");
    let nameless = Stage::new(SCRIPT);
    let nowhere = ["bus", "init", "postgres://bridge@nowhere.invalid/agents"];
    let refused = refusal(&nameless, &nowhere);
    assert!(refused.contains("\"nowhere.invalid\" is not known here"), "{refused}");
    assert!(!nameless.bus().join("bus.json").exists());
}

#[test]
fn a_bus_of_others_is_not_called_no_team() {
    let here = Stage::new(SCRIPT);
    std::fs::create_dir_all(here.bus().join("log")).unwrap();
    let text = r#"{"format":3,"id":"00000000-0000-0000-0000-000000000001","secret":"x","order":{"server":"host=/x user=y","team":"t","epoch":"00000000-0000-0000-0000-000000000002"}}"#;
    let file = here.bus().join("bus.json");
    std::fs::write(&file, text).unwrap();
    for (path, mode) in [(here.bus(), 0o700), (here.bus().join("log"), 0o700), (file, 0o600)] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let said = refusal(&here, &["bus", "status"]);
    assert!(said.contains("was not created here") && said.contains("several machines"), "{said}");
}
