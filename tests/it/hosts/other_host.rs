//! Agents that are started on another machine: by the bridge of `host` there, for a member here.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};

use super::two_machines::command;
use crate::support::{DEADLINE, Member, Stage, of_name, postgres_server};
use crate::web::gate::sign_in;
use crate::web::http_client::WebServer;

/// Agents of the other machine: they write, ask, or hang.
const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: write"
steps = [{ write_file = "made.txt", content = "x" }, { say = "written" }]
[[agents.default.turns]]
when = "Your task: ask"
steps = [{ ask_permission = "a look", kind = "execute" }, { say = "allowed" }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "hanging" }, { hang = true }]
"#;

pub(super) const PROFILE: &str = "[agents.scripted]\nfile_system = true\npermissions = \"rules\"\n";

/// The command `host` as it runs. It is killed when this is dropped.
pub(super) struct Host {
    pub(super) child: tokio::process::Child,
    said: Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Host {
    pub(super) fn start(stage: &Stage, arguments: &[&str]) -> Self {
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
            .arg("host")
            .args(arguments)
            .arg("--project")
            .arg(stage.project())
            .env_clear()
            .envs(stage.environment())
            .env("HOME", stage.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    /// Returns its next line that contains a text.
    pub(super) async fn says(&mut self, text: &str) -> String {
        let reading = async {
            loop {
                let line = self.said.next_line().await.unwrap();
                let line = line.unwrap_or_else(|| panic!("it ended before it said {text:?}"));
                if line.contains(text) {
                    return line;
                }
            }
        };
        tokio::time::timeout(DEADLINE, reading).await.unwrap_or_else(|_| panic!("{text:?}"))
    }

    /// Ends it as Ctrl-C does, and waits for its end.
    pub(super) async fn interrupt(mut self) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGINT).unwrap();
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        assert!(ended.expect("it ends").unwrap().success());
    }
}

async fn place(lead: &Member, host: &str, prompt: &str) -> String {
    let task = json!({ "agent": "scripted", "prompt": prompt, "host": host });
    let assigned = lead.call("assign_task", task).await;
    assigned["task_id"].as_str().unwrap_or_else(|| panic!("{assigned}")).to_owned()
}

fn has_made(project: &Path) -> bool {
    project.join("made.txt").exists()
}

/// Checks that the page of a task which ran on another host shows no differences of files that are here. Both hosts of a test have the
/// name of its machine.
async fn check_page_asks_no_git_here(here: &Stage, task: &str) {
    let web = WebServer::start(here, &[]).await;
    let browser = sign_in(&web).await;
    let page = web.get(&browser.at(&format!("task-{task}")), &browser.cookie).await;
    assert!(page.body.contains("The files are in another checkout, on a machine"), "{page:?}");
    assert!(!page.body.contains("id=\"diff-0\""), "{page:?}");
    web.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_started_on_another_machine_where_its_user_offers_that() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there) = (Stage::new(SCRIPT), Stage::new(SCRIPT).with_profiles(PROFILE));
    for stage in [&here, &there] {
        command(stage, &["bus", "init", &server, "--team", "offered"]);
    }
    // Each machine has its own checkout, and git says what changes in it.
    let made = std::process::Command::new("git").arg("init").arg(there.project()).output();
    assert!(made.unwrap().status.success());
    let lead = here.orchestrator().await;
    let refused = lead
        .refused("assign_task", json!({ "agent": "scripted", "prompt": "write", "host": "host" }))
        .await;
    assert!(refused.contains("no host `host` starts agents for this team"), "{refused}");

    let mut host = Host::start(&there, &["--for", "all", "--agents", "scripted"]);
    host.says("starts scripted in ").await;
    let offers = |list: &Value| {
        of_name(list, "host").is_some_and(|host| host["starts"] == json!(["scripted"]))
    };
    lead.until("list_agents", json!({}), offers).await;
    let written = json!({ "agent": "scripted", "prompt": "write", "host": "host", "name": "far", "wait": true });
    let result = lead.call("assign_task", written).await;
    let ended = (&result["status"], &result["output"]);
    assert_eq!(ended, (&json!("done"), &json!("written")), "{result}");
    assert!(result["host"].is_string() && result["files"].is_array(), "{result}");
    assert!(has_made(there.project()) && !has_made(here.project()));
    check_page_asks_no_git_here(&here, result["task_id"].as_str().unwrap()).await;
    let told = host.says("Started `far` (scripted) for `orchestrator`").await;
    assert!(told.ends_with(result["task_id"].as_str().unwrap()), "{told}");
    // It is a member like any other: more work needs no `host`.
    let more = lead.assign_and_wait("far", "write").await;
    assert_eq!(more, "written");

    let asked = place(&lead, "host", "ask").await;
    let all = lead
        .until("get_agent_status", json!({}), |all| {
            all["permissions"].as_array().is_some_and(|open| !open.is_empty())
        })
        .await;
    let id = &all["permissions"][0]["permission_id"];
    let answer = json!({ "permission_id": id, "decision": "allow_once" });
    lead.call("answer_permission", answer).await;
    assert_eq!(lead.done(&asked).await, "allowed");

    let hanging = place(&lead, "host", "hang").await;
    lead.task_is(&hanging, "running").await;
    lead.call("cancel_task", json!({ "task_id": hanging })).await;
    lead.task_is(&hanging, "cancelled").await;

    let unknown = json!({ "agent": "gemini", "prompt": "x", "host": "host" });
    let refused = lead.refused("assign_task", unknown).await;
    assert!(refused.contains("does not offer the profile `gemini`, but `scripted`"), "{refused}");
    let outside = json!({ "agent": "scripted", "prompt": "x", "host": "host", "cwd": "../.." });
    let refused = lead.refused("assign_task", outside).await;
    assert!(refused.contains("did not start the agent: \"cwd"), "{refused}");

    // Its agents end with it.
    host.interrupt().await;
    assert!(there.processes().is_empty());
    lead.until("list_agents", json!({}), |list| of_name(list, "far").is_none()).await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_host_had_taken_up_is_told_and_nothing_of_it_is_left() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let mut host =
        Host::start(&stage, &["--for", "all", "--agents", "scripted", "--name", "builder"]);
    host.says("`builder` starts scripted in ").await;
    let task = place(&lead, "builder", "hang").await;
    lead.task_is(&task, "running").await;
    host.child.kill().await.unwrap();
    lead.task_is(&task, "interrupted").await;
    let refused = lead
        .refused("assign_task", json!({ "agent": "scripted", "prompt": "x", "host": "builder" }))
        .await;
    assert!(refused.contains("no host `builder`"), "{refused}");
    // Only for a machine that is not this one, as far as its user knows: a bus in files has no names of machines.
    let mut other = Host::start(&stage, &["--for", "laptop", "--agents", "scripted"]);
    other.says("for members on laptop").await;
    let refused = lead
        .refused("assign_task", json!({ "agent": "scripted", "prompt": "x", "host": "host" }))
        .await;
    assert!(refused.contains("`host` starts agents for \"laptop\" only"), "{refused}");
    other.interrupt().await;
    lead.close().await;
    stage.check_nobody_is_left();
    let (exit, said) = stage.ended(&["host"], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("nobody is named whose agents may be started here"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_hosts_with_one_machine_name_none_is_chosen_for_whoever_asks() {
    let Some(server) = tokio::task::block_in_place(postgres_server::shared) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let (here, there) = (Stage::new(SCRIPT), Stage::new(SCRIPT).with_profiles(PROFILE));
    for stage in [&here, &there] {
        command(stage, &["bus", "init", &server, "--team", "namesakes"]);
    }
    let lead = here.orchestrator().await;
    let mut host = Host::start(&there, &["--for", "all", "--agents", "scripted"]);
    host.says("starts scripted in ").await;
    let list = lead.until("list_agents", json!({}), |list| of_name(list, "host").is_some()).await;
    // Both checkouts are on the machine of the test.
    let machine = of_name(&list, "host").unwrap()["host"].as_str().unwrap().to_owned();
    let asked = json!({ "agent": "scripted", "prompt": "write", "host": machine });
    let refused = lead.refused("assign_task", asked).await;
    assert!(refused.contains("several hosts are called"), "{refused}");
    assert!(refused.contains("or leave `host` out for an agent of your own"), "{refused}");
    let task = place(&lead, "host", "write").await;
    assert_eq!(lead.done(&task).await, "written");
    assert!(has_made(there.project()) && !has_made(here.project()));
    host.interrupt().await;
    lead.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_output_nobody_reads_goes_on_and_ends_by_ctrl_c() {
    let stage = Stage::new(SCRIPT).with_profiles(PROFILE);
    let lead = stage.orchestrator().await;
    let mut host =
        Host::start(&stage, &["--for", "all", "--agents", "scripted", "--name", "builder"]);
    host.says("`builder` starts scripted in ").await;
    let nowhere = format!("{}/nowhere", "long".repeat(1_000));
    let task = json!({ "agent": "scripted", "prompt": "x", "host": "builder", "cwd": nowhere });
    let told = lead.refused("assign_task", task.clone()).await;
    assert!(told.contains("`builder` did not start the agent"), "{told}");
    let line = host.says("Did not start scripted").await;
    assert!(line.len() < 2_500, "an asker's words are cut: {}", line.len());
    // More than a pipe holds, of which nothing is read.
    for _ in 0..80 {
        lead.refused("assign_task", task.clone()).await;
    }
    let done = place(&lead, "builder", "write").await;
    assert_eq!(lead.done(&done).await, "written");
    host.interrupt().await;
    lead.close().await;
    stage.check_nobody_is_left();
}
