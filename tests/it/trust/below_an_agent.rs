//! Processes below an agent: they speak for that agent alone, and never lead, join, or approve.

use std::collections::BTreeMap;
use std::ffi::OsString;

use cli_team_bridge::domain::tool_names::ENDPOINT_TOOLS;
use cli_team_bridge::supervisor::Shim;
#[cfg(target_os = "linux")]
use cli_team_bridge::supervisor::{Exit, Pipes, Supervised};
use serde_json::{Value, json};
#[cfg(target_os = "linux")]
use tokio::io::AsyncReadExt as _;

#[cfg(target_os = "linux")]
use crate::support::misbehaving_agents::{Wild, eventually, signal};
#[cfg(target_os = "linux")]
use crate::support::{DEADLINE, Member};
use crate::support::{Raw, Stage};

/// How a process is started below an agent: with more variables, and behind a shim if there is one.
type Placement = (Vec<(OsString, OsString)>, Option<Shim>);

/// Returns the signs of a process below an agent: the agent's mark, or its shim, behind which the environment is no evidence.
fn placements() -> [Placement; 2] {
    let marked = vec![("BRIDGE_RUN".into(), "0198c0de-0000-7000-8000-000000000000".into())];
    let shim = Shim { binary: env!("CARGO_BIN_EXE_cli-team-bridge").into(), presence: None };
    #[cfg(target_os = "linux")]
    return [(marked, None), (Vec::new(), Some(shim))];
    #[cfg(not(target_os = "linux"))]
    return [(marked.clone(), None), (marked, Some(shim))];
}

#[tokio::test]
async fn no_process_below_an_agent_leads_joins_or_approves() {
    for (env, shim) in placements() {
        let stage = Stage::new("").with_env(env);
        let project = stage.project().to_str().unwrap().to_owned();
        let plan = stage.home().join("plan.toml");
        std::fs::write(&plan, "name = 'x'\n[[steps]]\nagent = 'scripted'\nprompt = 'x'").unwrap();
        let plan = plan.to_str().unwrap();
        for (command, expected) in [
            (vec!["run", plan, "--project", &project], "an agent cannot lead a team"),
            (vec!["trust", &project], "an agent cannot give its user's approval"),
            (vec!["demo"], "an agent cannot lead a team"),
        ] {
            let (exit, said) = stage.ended(&command, shim.clone()).await;
            assert_eq!(exit.code, Some(1), "{command:?}: {said}");
            assert!(said.contains(expected), "{command:?}: {said}");
        }
        for command in [
            vec!["orchestrator", "--project", &project],
            vec!["peer", "--name", "ann", "--project", &project],
        ] {
            let args = command.iter().map(OsString::from).collect();
            let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
            let mut client = Raw::open(stage.spawn_below(program, args, shim.clone()).await).await;
            assert_eq!(tools(&mut client).await, ENDPOINT_TOOLS, "{command:?}");
            let answer = client.call("list_agents", json!({})).await;
            let refusal = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(refusal.contains("was started by an agent of a team"), "{answer}");
            assert!(refusal.contains("MCP server `bridge`"), "{answer}");
            let answer =
                client.call("assign_task", json!({ "agent": "scripted", "prompt": "x" })).await;
            assert!(answer["error"].is_object(), "{answer}");
            client.close().await;
        }
        assert!(!stage.bus().exists(), "nothing was joined");
    }
}

async fn tools(client: &mut Raw) -> Vec<String> {
    let id = client.request("tools/list", json!({})).await;
    let answer = client.answer(id).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orchestrator_that_an_agent_starts_speaks_for_that_agent_alone() {
    let stage = Stage::new(
        "[[agents.default.turns]]\nsteps = [{ call = 'wait_for_message', with = { timeout_seconds = 120 } }]",
    );
    let lead = stage.orchestrator().await;
    lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let identity = of_endpoint(&stage);
    let stage = stage.with_env(identity.into_iter().collect());
    let mut below = Raw::open(stage.start(&["orchestrator"]).await).await;
    assert_eq!(tools(&mut below).await, ENDPOINT_TOOLS);
    let sent = json!({ "to": "orchestrator", "content": "it is I" });
    below.call("send_message", sent).await;
    assert_eq!(lead.hear_from("ann").await, "it is I");
    assert_eq!(lead.names().await, ["orchestrator", "ann"]);
    below.close().await;
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    lead.close().await;
    stage.check_nobody_is_left();
}

/// A process that an agent leaves behind, by two forks, in a session of its own and with an empty environment. It writes `there`,
/// waits for `go`, tries to approve the project's file, and writes the result to `said`.
#[cfg(target_os = "linux")]
const APPROVES: &str = concat!(
    "env -i HIDEOUT=\"$HIDEOUT\" PATH=/usr/bin:/bin setsid -f sh -c 'echo > \"$HIDEOUT/there\"; \
     until [ -e \"$HIDEOUT/go\" ]; do sleep 0.01; done; ",
    env!("CARGO_BIN_EXE_cli-team-bridge"),
    " trust . > \"$HIDEOUT/saying\" 2>&1; mv \"$HIDEOUT/saying\" \"$HIDEOUT/said\"' < /dev/null > /dev/null 2>&1; "
);

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orphan_of_a_stopped_orchestrator_is_still_below_its_agent() {
    use nix::sys::signal::Signal::{SIGCONT, SIGKILL, SIGSTOP};

    let wild = Wild::new(APPROVES, "");
    let hideout = wild.folder.path().join("hideout");
    let lead = wild.lead().await;
    lead.start("ann").await;
    eventually("it is there", || hideout.join("there").exists()).await;
    // A stopped orchestrator does not end the orphans that it inherits when the shim is gone.
    signal(lead.pid(), SIGSTOP).unwrap();
    let [shim] = wild.running("__shim")[..] else {
        panic!("one agent has one shim");
    };
    signal(shim, SIGKILL).unwrap();
    eventually("the shim is gone", || wild.running("__shim").is_empty()).await;
    std::fs::write(hideout.join("go"), "").unwrap();
    let said = hideout.join("said");
    eventually("it has tried", || said.exists()).await;
    signal(lead.pid(), SIGCONT).unwrap();
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("was started by an agent of a team"), "{said}");
    wild.nothing_is_left().await;
    lead.close().await;
}

/// Returns the variables by which the endpoint of the only agent knows its agent.
#[cfg(target_os = "linux")]
fn of_endpoint(stage: &Stage) -> BTreeMap<OsString, OsString> {
    use cli_team_bridge::sys::process::variable;
    let token = |pid: &u32| variable(*pid, "BRIDGE_TOKEN").is_some();
    let pid = stage.processes().into_iter().find(token).unwrap();
    ["BRIDGE_DIR", "BRIDGE_MEMBER", "BRIDGE_SESSION", "BRIDGE_TOKEN", "BRIDGE_RUN"]
        .into_iter()
        .map(|name| (name.into(), variable(pid, name).unwrap().into()))
        .collect()
}

/// Runs this binary in a PID namespace of its own, where it sees no ancestors, with the environment of a user.
#[cfg(target_os = "linux")]
async fn secluded(stage: &Stage, arguments: &[&str]) -> (Supervised, Pipes) {
    let own = [UNSHARE, &[env!("CARGO_BIN_EXE_cli-team-bridge")], arguments].concat();
    start(stage, words(&own)).await
}

#[cfg(target_os = "linux")]
const UNSHARE: &[&str] = &["unshare", "-Urpf", "--kill-child", "--mount-proc"];

/// Says whether the system lets this user make namespaces; where it does not, no agent can either.
#[cfg(target_os = "linux")]
fn can_seclude() -> bool {
    let tried = std::process::Command::new(UNSHARE[0]).args(&UNSHARE[1..]).arg("true").status();
    tried.is_ok_and(|status| status.success())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_does_not_see_a_live_agent_does_not_join_its_team() {
    if !can_seclude() {
        return;
    }
    let stage = Stage::new(
        "[[agents.default.turns]]\nsteps = [{ call = 'wait_for_message', with = { timeout_seconds = 120 } }]",
    );
    let project = stage.project().to_str().unwrap().to_owned();
    let lead = stage.orchestrator().await;
    lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    // Nor may it join the team of another project, where it could answer for the user.
    let other = stage.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    for (command, project) in [
        (&["orchestrator"][..], &*project),
        (&["peer", "--name", "eve"], &project),
        (&["orchestrator"], other),
    ] {
        let command = [command, &["--project", project]].concat();
        let mut hidden = Raw::open(secluded(&stage, &command).await).await;
        let answer = hidden.call("list_agents", json!({})).await;
        let refusal = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(refusal.contains("the live agent `ann` is not visible"), "{answer}");
        assert!(refusal.contains("stop `ann` first"), "{answer}");
        hidden.close().await;
    }
    assert_eq!(lead.names().await, ["orchestrator", "ann"]);
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    // As in a container that has the team to itself: it sees its own agents.
    let (child, pipes) = secluded(&stage, &["orchestrator", "--project", &project]).await;
    let contained = Member::connect(child, pipes).await;
    contained.start("bob", "wait").await;
    contained.until_waiting("bob").await;
    contained.call("kill_agent", json!({ "agent": "bob" })).await;
    contained.close().await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_shim_is_found_from_a_namespace_that_shows_the_processes_around_it() {
    if !can_seclude() {
        return;
    }
    let stage = Stage::new("");
    let project = stage.project().to_str().unwrap().to_owned();
    let [_, behind_shim] = placements();
    // Its pid is 1, and that of its namespace; `/proc` is that of the namespace around it.
    let own = ["-Urpf", env!("CARGO_BIN_EXE_cli-team-bridge"), "trust", &project];
    let (child, mut pipes) = stage.spawn_below("unshare".into(), words(&own), behind_shim.1).await;
    drop(pipes.stdin);
    let mut said = String::new();
    pipes.stdout.read_to_string(&mut said).await.unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    let stderr = child.stderr_tail();
    assert_eq!(exit.code, Some(1), "{said}{stderr}");
    assert!(stderr.contains("was started by an agent of a team"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_sees_no_others_neither_leads_nor_approves() {
    if !can_seclude() {
        return;
    }
    let stage = Stage::new("");
    let project = stage.project().to_str().unwrap().to_owned();
    // An empty directory covers `/proc`.
    let covered = "mount --bind \"$1\" /proc && shift && exec \"$@\"";
    let empty = stage.home().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let run = |words: &[&str]| {
        let mut all: Vec<OsString> =
            ["unshare", "-Urm", "sh", "-c", covered, "sh"].map(Into::into).into();
        all.push(empty.clone().into());
        all.push(env!("CARGO_BIN_EXE_cli-team-bridge").into());
        all.extend(words.iter().map(OsString::from));
        all
    };
    let (exit, said) = ended(&stage, run(&["trust", &project])).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("cannot see its ancestors"), "{said}");
    let blind = run(&["orchestrator", "--project", &project]);
    let mut blind = Raw::open(start(&stage, blind).await).await;
    assert_eq!(tools(&mut blind).await, ENDPOINT_TOOLS);
    blind.close().await;
    assert!(!stage.bus().exists(), "nothing was joined");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_working_agent_approves_from_its_own_namespace_or_session() {
    let stage = Stage::new(
        "[[agents.default.turns]]\nsteps = [{ call = 'wait_for_message', with = { timeout_seconds = 120 } }]",
    );
    let other = stage.home().join("other");
    std::fs::create_dir_all(other.join(".claude")).unwrap();
    std::fs::write(other.join(".claude/bridge.toml"), "[agents.x]\ncommand = 'sh'").unwrap();
    let other = other.to_str().unwrap();
    let ask = [env!("CARGO_BIN_EXE_cli-team-bridge"), "trust", other];
    let (_, shown) = ended(&stage, words(&ask)).await;
    let hash = shown.split("SHA-256 ").nth(1).unwrap();
    let hash = hash.split_whitespace().next().unwrap().to_owned();
    let lead = stage.orchestrator().await;
    lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let yes = [&ask[..], &["--yes", &hash]].concat();
    // A terminal of its own does not make an invisible process visible.
    let at_a_terminal = format!("exec script -qec '{}' /dev/null", yes.join(" "));
    let at_a_terminal = ["sh", "-c", &at_a_terminal];
    let mut attempts = vec![([&["setsid", "--wait"], &yes[..]].concat(), "has no terminal")];
    if can_seclude() {
        attempts.push(([UNSHARE, &yes].concat(), "is not visible"));
        attempts.push(([UNSHARE, &at_a_terminal].concat(), "is not visible"));
    }
    for (attempt, why) in attempts {
        let (exit, said) = ended(&stage, words(&attempt)).await;
        assert_eq!(exit.code, Some(1), "{attempt:?}: {said}");
        assert!(said.contains(why), "{attempt:?}: {said}");
        assert!(said.contains("`ann`"), "{attempt:?}: {said}");
    }
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    // Without a working agent, neither a container nor an unattended program needs a terminal.
    let by_itself = [&["setsid", "--wait"], &yes[..]].concat();
    let (exit, said) = ended(&stage, words(&by_itself)).await;
    assert_eq!(exit.code, Some(0), "{said}");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[cfg(target_os = "linux")]
fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Starts a program with its arguments in the stage.
#[cfg(target_os = "linux")]
async fn start(stage: &Stage, mut words: Vec<OsString>) -> (Supervised, Pipes) {
    let program = words.remove(0);
    stage.spawn_below(program.into(), words, None).await
}

/// Runs a program to its end, without input; returns its exit and its output.
#[cfg(target_os = "linux")]
async fn ended(stage: &Stage, words: Vec<OsString>) -> (Exit, String) {
    let (child, mut pipes) = start(stage, words).await;
    drop(pipes.stdin);
    let mut said = String::new();
    let running = async {
        pipes.stdout.read_to_string(&mut said).await.unwrap();
        child.exited().await
    };
    let exit = tokio::time::timeout(DEADLINE, running).await;
    let exit = exit.expect("a command without questions ends");
    (exit, said + &child.stderr_tail())
}
