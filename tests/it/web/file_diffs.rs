//! The differences of an agent's files, as the page of its task and its own page show them.

use serde_json::json;

use super::gate::sign_in;
use super::http_client::WebServer;
use crate::agents::results::{git, until_git_has_looked};
use crate::support::Stage;

const SCRIPT: &str = r#"
[[agents.default.turns]]
steps = [
  { wait_for = { from = "orchestrator", seconds = 100 } },
  { write_file = "made.txt", content = "<b>new</b>\n" },
  { write_file = "kept.txt", content = "two\n" },
  { say = "done" },
]
"#;

const PROFILES: &str = r#"
[agents.filer]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
file_system = true
"#;

#[tokio::test]
async fn the_pages_of_a_task_and_its_agent_show_how_its_files_differ() {
    let stage = Stage::new(SCRIPT).with_profiles(PROFILES);
    let (project, home) = (stage.project(), stage.home());
    std::fs::write(project.join("kept.txt"), "one\n").unwrap();
    git(project, home, &["init", "-q"]);
    git(project, home, &["add", "."]);
    git(project, home, &["commit", "-qm", "first"]);
    let lead = stage.orchestrator().await;
    let new = json!({ "agent": "filer", "name": "ann", "prompt": "write" });
    let task = lead.call("assign_task", new).await["task_id"].as_str().unwrap().to_owned();
    lead.until_waiting("ann").await;
    until_git_has_looked(&stage, &task).await;
    lead.call("send_message", json!({ "to": "ann", "content": "go on" })).await;
    let ended = lead.ended(&task).await;
    assert_eq!(ended["status"], "done", "{ended}");
    let web = WebServer::start(&stage, &[]).await;
    let browser = sign_in(&web).await;
    for page in [format!("task-{task}"), "member-ann".to_owned()] {
        let shown = web.get(&browser.at(&page), &browser.cookie).await;
        assert_eq!(shown.status, 200, "{shown:?}");
        for line in ["+&lt;b&gt;new&lt;/b&gt;", "-one", "+two", "@@ -1 +1 @@"] {
            assert!(shown.body.contains(&format!("\">{line}</span>")), "{page}: {line}: {shown:?}");
        }
    }
    web.end().await;
    lead.close().await;
}
