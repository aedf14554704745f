//! An agent whose program is a client of the bridge, too: its user's own settings name an MCP server `bridge`, which leads a team.

use std::fs;

use serde_json::json;

use crate::agent_kinds::DROID;
use crate::model::Rule;
use crate::real_project::Scene;

/// Droid starts the server of its user's settings in place of the one that the bridge gives it, and still reaches the team.
pub(crate) async fn reaches_the_team_although_its_user_has_connected_it() {
    let call = json!({ "to": "orchestrator", "content": "hello from droid" });
    let rules = vec![
        Rule::result("message_id").says("greeted"),
        Rule::user("say hello").with_tools(1).calls("send_message", call),
    ];
    let scene = Scene::new(&[&DROID], rules).await;
    let entry =
        json!({ "command": env!("CARGO_BIN_EXE_cli-team-bridge"), "args": ["orchestrator"] });
    let settings = json!({ "mcpServers": { "bridge": entry } });
    let file = scene.stage.home().join(".factory/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, settings.to_string()).unwrap();

    let task = scene.start(&DROID, "say hello").await;
    assert_eq!(scene.done(&task).await, "greeted", "{}", scene.shown_to_models());
    let sent = scene.stage.events_of("message_sent");
    let greeting = sent.iter().find(|sent| sent["from"] == "droid");
    assert!(greeting.is_some(), "{sent:?}");
    assert_eq!(
        scene.stage.events_of("permission_asked").len(),
        0,
        "our own tools need no question"
    );
    scene.end().await;
}
