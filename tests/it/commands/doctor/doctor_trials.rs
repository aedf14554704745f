//! Where the doctor tries agents out: where nobody else can give them settings.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::doctor_report::{check, examined, install, speaks_acp, stage_of_trials};
use crate::support::Stage;

/// Installs an agent that notes the directory in which it starts, and what it finds in those above.
fn install_noting(stage: &Stage) {
    let noted = stage.home().join("noted");
    let look = format!(
        "d=$PWD; pwd > {0}; while [ \"$d\" != / ]; do ls -d \"$d/.mcp.json\" >> {0} 2> /dev/null; d=$(dirname \"$d\"); done",
        noted.display()
    );
    install(stage, "gemini", &format!("{look}\n{}", speaks_acp(stage)));
}

fn noted(stage: &Stage) -> String {
    fs::read_to_string(stage.home().join("noted")).unwrap_or_default()
}

#[tokio::test]
async fn agents_are_tried_out_where_no_other_user_can_give_them_settings() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    install_noting(&stage);
    // What another user can do in a shared directory for temporary files.
    let shared = stage.home().join("tmp");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(shared.join(".mcp.json"), "{}").unwrap();
    let outside = tempfile::tempdir().unwrap();
    let variable = |path: &Path| path.to_str().unwrap().to_owned();
    let stage = stage.with_variable("XDG_RUNTIME_DIR", &variable(outside.path()));
    let arguments = ["doctor", "--json", "--project", stage.project().to_str().unwrap()];
    let (_, said) = stage.ended(&arguments, None).await;
    assert!(said.contains("has the bridge's tools after"), "{said}");
    let noted = noted(&stage);
    let room = stage.home().join(".cache/cli-team-bridge/trial-");
    assert!(noted.starts_with(room.to_str().unwrap()), "{noted}");
    assert!(!noted.contains(".mcp.json"), "{noted}");
    assert!(!stage.home().join(".cache").exists(), "what was made for the trials is gone");
    fs::remove_file(shared.join(".mcp.json")).unwrap();
}

#[tokio::test]
async fn without_a_safe_place_no_agent_is_started() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    install_noting(&stage);
    let [shared, tmp] = ["shared", "tmp"].map(|name| stage.home().join(name));
    fs::create_dir(&shared).unwrap();
    for path in [&shared, &tmp] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    let cache = shared.join("cache");
    let stage = stage.with_variable("XDG_CACHE_HOME", cache.to_str().unwrap());
    let (_, report) = examined(&stage, &[]).await;
    let says = format!("no agent is tried out: others may write to {}", shared.display());
    check(&report, ("bridge", "start"), "unknown", &says, "set XDG_CACHE_HOME");
    assert_eq!(noted(&stage), "");
    assert!(!cache.exists());
}

/// Otherwise each run of the doctor would leave a session among those that the agent offers its user to resume.
#[tokio::test]
async fn an_agent_that_can_is_told_to_forget_the_session_of_its_trial() {
    let stage = stage_of_trials().with_variable("GEMINI_API_KEY", "x");
    let (heard, acp) = (stage.home().join("heard"), speaks_acp(&stage));
    let offers = r#"s/"sessionCapabilities":{/"sessionCapabilities":{"delete":{},/"#;
    let acp = acp.trim_start_matches("exec ");
    install(&stage, "gemini", &format!("tee {} | {acp} | sed -u '{offers}'", heard.display()));
    let (_, report) = examined(&stage, &[]).await;
    check(&report, ("gemini", "start"), "ok", "has the bridge's tools after", "");
    let heard = fs::read_to_string(heard).unwrap();
    let deleted = heard.lines().filter(|line| line.contains("\"session/delete\"")).count();
    assert_eq!(deleted, 1, "{heard}");
    assert!(heard.find("\"session/close\"") < heard.find("\"session/delete\""), "{heard}");
}
