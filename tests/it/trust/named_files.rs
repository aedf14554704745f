//! A configuration file that the command line names: the user's word where it lies outside of the project, and the repository's in it. A
//! repository may bring both the file and an entry of an MCP client with `--config` among its arguments.

use crate::support::Stage;
use crate::trust::project_files::{assign, has_run};

/// A profile that leaves a mark when it runs.
const RUNS: &str = "[agents.scripted]\ncommand = \"/bin/sh\"\n\
    args = [\"-c\", \"echo ran > \\\"$HOME/ran\\\"; exit 3\"]\n[limits]\nagents = 31\n";

fn stage() -> Stage {
    Stage::new("[[agents.default.turns]]\nsteps = [{ say = 'done' }]")
}

#[tokio::test]
async fn a_named_file_of_the_project_runs_nothing_before_its_user_approves_it() {
    let stage = stage();
    let file = stage.project().join(".evil.toml");
    std::fs::write(&file, RUNS).unwrap();
    let linked = stage.home().join("link.toml");
    std::os::unix::fs::symlink(&file, &linked).unwrap();
    for named in [&file, &linked] {
        let named = named.to_str().unwrap();
        let lead = stage.orchestrator_with(&["--config", named]).await;
        let refused = lead.refused("assign_task", assign()).await;
        let says = format!(
            "`scripted` was not started: it is defined by {named:?}, a file of the project that --config names"
        );
        assert!(refused.starts_with(&says), "{refused}");
        assert!(refused.contains(&format!("`cli-team-bridge trust {named}`")), "{refused}");
        lead.close().await;
    }
    assert!(!has_run(&stage));

    let (exit, shown) = stage.ended(&["trust", file.to_str().unwrap()], None).await;
    assert_eq!(exit.code, Some(1), "{shown}");
    assert!(shown.contains("[agents.scripted] would run \"/bin/sh\""), "{shown}");
    assert!(shown.contains("[limits] agents = 31"), "{shown}");
    let hash = shown.split("--yes ").nth(1).unwrap().trim().to_owned();
    let (exit, said) = stage.ended(&["trust", file.to_str().unwrap(), "--yes", &hash], None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    let lead = stage.orchestrator_with(&["--config", file.to_str().unwrap()]).await;
    let assigned = lead.call("assign_task", assign()).await;
    lead.ended(assigned["task_id"].as_str().unwrap()).await;
    assert!(has_run(&stage));
    lead.close().await;

    let (exit, said) = stage.ended(&["trust", file.to_str().unwrap(), "--revoke"], None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("Revoked. The bridge starts no more agents of that file"), "{said}");
    let lead = stage.orchestrator_with(&["--config", file.to_str().unwrap()]).await;
    lead.refused("assign_task", assign()).await;
    lead.close().await;
}

#[tokio::test]
async fn a_named_file_outside_of_the_project_is_its_users_word() {
    let stage = stage();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("own.toml");
    std::fs::write(&file, RUNS).unwrap();
    let lead = stage.orchestrator_with(&["--config", file.to_str().unwrap()]).await;
    let assigned = lead.call("assign_task", assign()).await;
    lead.ended(assigned["task_id"].as_str().unwrap()).await;
    assert!(has_run(&stage));
    lead.close().await;
    let (exit, said) = stage.ended(&["trust", file.to_str().unwrap()], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
}
