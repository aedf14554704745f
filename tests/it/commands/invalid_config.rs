//! A client shows nothing of a server that ends at once, so a server whose configuration is invalid, or that has no project, says so in
//! its answers.

use serde_json::{Value, json};

use crate::support::{Raw, Stage, of_name};

/// Calls a tool that must refuse, and returns its error text.
async fn refused(client: &mut Raw, tool: &str, arguments: Value) -> String {
    let answer = client.call(tool, arguments).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_tool_of_an_orchestrator_names_what_is_wrong_until_it_is_corrected() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ say = 'hello' }]")
        .with_project_file("[limits]\nmesages_per_minute = 5\n");
    let file = stage.project().join(".claude/bridge.toml");
    let mut client = Raw::open(stage.start(&["orchestrator"]).await).await;
    let instructions = client.instructions();
    let place = format!("{}:2:1", file.display());
    assert!(instructions.contains(&place), "{instructions}");
    let listing = client.request("tools/list", json!({})).await;
    let listed = client.answer(listing).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 22);

    let work = json!({ "agent": "scripted", "prompt": "Say hello.", "wait": true });
    for (tool, arguments) in [("list_agents", json!({})), ("assign_task", work.clone())] {
        let error = refused(&mut client, tool, arguments).await;
        assert!(error.contains(&place), "{error}");
        assert!(error.contains("did you mean `messages_per_minute`?"), "{error}");
        assert!(error.contains("call again"), "{error}");
    }
    assert!(!stage.bus().exists(), "there is no bus without a configuration");

    std::fs::write(&file, "[limits]\nmessages_per_minute = \"5\"\n").unwrap();
    let error = refused(&mut client, "list_agents", json!({})).await;
    assert!(error.contains(&format!("{}:2:23", file.display())), "{error}");

    std::fs::write(&file, "[limits]\nmessages_per_minute = 5\n").unwrap();
    let answer = client.call("assign_task", work).await;
    assert_eq!(answer["result"]["structuredContent"]["output"], "hello", "{answer}");
    client.close().await;
}

#[tokio::test]
async fn a_peer_without_a_name_joins_as_soon_as_the_pool_of_names_is_corrected() {
    let stage = Stage::new("").with_profiles("[names]\npool = ['Ada',\n  'Zoë']\n");
    let mut client = Raw::open(stage.start(&["peer"]).await).await;
    let error = refused(&mut client, "list_agents", json!({})).await;
    let expected =
        "config.toml:3:3: `pool` of [names] has `Zoë`: it must be 1 to 12 of the letters";
    assert!(error.contains(expected), "{error}");

    let stage = stage.with_profiles("[names]\npool = ['Ada']\n");
    let answer = client.call("list_agents", json!({})).await;
    assert!(of_name(&answer["result"]["structuredContent"], "Ada").is_some(), "{answer}");
    client.close().await;
    drop(stage);
}

/// Clients are started in the home directory, too.
#[tokio::test]
async fn every_tool_of_a_server_in_the_home_directory_says_that_no_project_can_be_there() {
    let stage = Stage::new("");
    for command in [&["orchestrator"][..], &["peer", "--name", "ann"]] {
        let mut client = Raw::open(stage.start_in(stage.home(), command).await).await;
        let listing = client.request("tools/list", json!({})).await;
        let listed = client.answer(listing).await;
        assert!(listed["result"]["tools"].as_array().unwrap().len() >= 8, "{listed}");
        let error = refused(&mut client, "list_agents", json!({})).await;
        assert!(error.contains("it is or contains your home directory"), "{error}");
        assert!(error.contains("start in the project's directory"), "{error}");
        if command == ["orchestrator"] {
            let instructions = client.instructions();
            assert!(instructions.contains("it has no project"), "{instructions}");
            assert!(!instructions.contains("The project is"), "{instructions}");
        }
        client.close().await;
    }
    assert!(!stage.home().join(".claude").exists(), "nothing is written there");
}
