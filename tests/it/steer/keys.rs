//! Keys for the HTTP API: made, listed and revoked by the person at the command line.

use std::path::Path;

use cli_team_bridge::supervisor::Shim;
use serde_json::{Value, json};

use super::{done, failed, json_of};
use crate::support::Stage;

/// A project with a bus, on which nobody is.
async fn stage() -> Stage {
    let stage = Stage::new("");
    stage.orchestrator().await.close().await;
    stage
}

/// Returns the contents of all files below a directory.
fn contents(directory: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.extend(std::fs::read(path).unwrap());
        }
    }
    all
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn a_secret_is_printed_once_and_only_its_hash_is_stored() {
    let stage = stage().await;
    let said = done(&stage, &["key", "new", "dashboard"]).await;
    let (secret, rest) = said.split_once('\n').unwrap();
    assert!(secret.starts_with("ctb_") && secret.len() == 68, "{said}");
    assert!(rest.starts_with("This is the secret of key-"), "{said}");
    assert!(rest.contains("the key of `dashboard` (read)"), "{said}");
    let stored = contents(&stage.bus());
    assert!(!contains(&stored, secret) && !contains(&stored, &secret[4..]));
    let [made] = stage.events_of("key_made").try_into().unwrap();
    assert_eq!(made["scopes"], json!(["read"]));
    assert!(contains(&stored, made["hash"].as_str().unwrap()));
    let again = json_of(&stage, &["key", "new", "dashboard"]).await;
    assert_ne!(again["secret"], secret);
    done(&stage, &["bus", "verify"]).await;
}

#[tokio::test]
async fn keys_are_listed_without_their_secrets_until_they_are_revoked() {
    let stage = stage().await;
    assert_eq!(json_of(&stage, &["key", "list"]).await, json!([]));
    let one = json_of(&stage, &["key", "new", "ci"]).await;
    let other = json_of(&stage, &["key", "new", "helper"]).await;
    assert_eq!(one["version"], 1);
    assert_eq!((&one["name"], &one["scopes"]), (&json!("ci"), &json!(["read"])));
    let listed = json_of(&stage, &["key", "list"]).await;
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|key| &key["key_id"]).collect();
    assert_eq!(ids, [&one["key_id"], &other["key_id"]]);
    assert!(listed[0]["made_at"].is_string() && listed[0].get("secret").is_none(), "{listed}");

    let id = one["key_id"].as_str().unwrap();
    let said = done(&stage, &["key", "revoke", id]).await;
    assert_eq!(said, format!("{id}, a key of `ci`, is revoked\n"));
    let said = failed(&stage, &["key", "revoke", id]).await;
    assert!(
        said.contains("there is no key") && said.contains("`cli-team-bridge key list`"),
        "{said}"
    );
    let said = done(&stage, &["key", "list"]).await;
    assert!(said.contains("helper  read  made 20") && !said.contains(id), "{said}");
    let told = done(&stage, &["log"]).await;
    assert!(told.contains(&format!("the user made the key {id} for ci (read)")), "{told}");
    assert!(told.contains(&format!("the user revoked the key {id}")), "{told}");
}

#[tokio::test]
async fn the_options_of_a_key_say_what_it_may_do() {
    let stage = stage().await;
    let writer = json_of(&stage, &["key", "new", "ci", "--write", "--read"]).await;
    assert_eq!(writer["scopes"], json!(["read", "write"]));
    let helper = json_of(&stage, &["key", "new", "helper", "--answer", "--assign"]).await;
    assert_eq!(helper["scopes"], json!(["assign", "answer"]));
    let labels =
        ["--role", "builder", "--capability", "rust", "--lane", "storage", "--topic", "news"];
    let builder = json_of(&stage, &[&["key", "new", "b", "--write"], &labels[..]].concat()).await;
    assert_eq!((&builder["roles"], &builder["lane"]), (&json!(["builder"]), &json!("storage")));
    let said = failed(&stage, &[&["key", "new", "b"], &labels[..]].concat()).await;
    assert!(said.contains("makes no member") && said.contains("hint: add --write"), "{said}");
    let said = done(&stage, &["key", "list"]).await;
    assert!(said.contains("@builder, lane @storage, can rust, #news"), "{said}");
    assert!(said.contains("ci      read, write     made 20"), "{said}");
    assert!(said.contains("helper  assign, answer  made 20"), "{said}");
}

#[tokio::test]
async fn a_key_has_the_name_of_a_member_and_needs_a_team() {
    let stage = Stage::new("");
    let said = failed(&stage, &["key", "new", "ci"]).await;
    assert!(said.starts_with("error: there is no team in `"), "{said}");
    assert!(!stage.bus().exists());
    for name in ["human", "all", "bridge", "a b", "s12"] {
        let (exit, said) = stage.ended(&["key", "new", name], None).await;
        assert_eq!(exit.code, Some(2), "{said}");
    }
    for name in ["orchestrator", "orchestrator-2"] {
        let said = failed(&stage, &["key", "new", name]).await;
        assert!(said.contains("is the name of a session that leads the team"), "{said}");
    }
}

#[tokio::test]
async fn no_process_below_an_agent_has_to_do_with_keys() {
    let stage = stage().await;
    let shim = Shim { binary: env!("CARGO_BIN_EXE_cli-team-bridge").into(), presence: None };
    let project = stage.project().to_str().unwrap();
    for action in [&["new", "ci"][..], &["list"], &["revoke", "key-aaaaaaaaaaaa"]] {
        let arguments = [&["key"], action, &["--project", project]].concat();
        let (exit, said) = stage.ended(&arguments, Some(shim.clone())).await;
        assert_eq!(exit.code, Some(1), "{action:?}: {said}");
        assert!(said.contains("an agent cannot manage the keys of its user"), "{said}");
    }
    assert_eq!(stage.events_of("key_made"), Vec::<Value>::new());
}
