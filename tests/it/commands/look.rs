//! The commands that look at a team: what they show, and that they change nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::{DEADLINE, Member, Stage, Terminal, until};

/// Ann waits for a message, ben asks for a permission, cay answers, and dan fails.
const SCRIPT: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { wait_for = { from = "ben", seconds = 60 }, save = "got" },
  { say = "heard it" },
]
[[agents.ben.turns]]
when = "Your task: "
steps = [
  { ask_permission = "delete \u001b[31mthe chapter", kind = "delete", on_reject = "go_on" },
  { call = "send_message", with = { to = "ann", content = "a word\nfor you" } },
  { say = "asked" },
]
[[agents.cay.turns]]
when = "Your task: "
steps = [
  { usage = { used = 1200, size = 200000 } },
  { say = "line one\nline two" },
]
[[agents.dan.turns]]
when = "Your task: "
steps = [{ fail = "no more words" }]
"#;

/// The commands that need no id.
const LOOKS: [&str; 6] = ["status", "log", "messages", "tasks", "workflows", "usage"];

/// Runs a command in the stage's project to its end; returns its exit code, and what it said.
async fn looked(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let project = stage.project().to_str().unwrap();
    let (exit, said) = stage.ended(&[arguments, &["--project", project]].concat(), None).await;
    (exit.code, said)
}

async fn shown(stage: &Stage, arguments: &[&str]) -> String {
    let (code, said) = looked(stage, arguments).await;
    assert_eq!(code, Some(0), "{said}");
    said
}

async fn json_of(stage: &Stage, arguments: &[&str]) -> Value {
    let said = shown(stage, &[arguments, &["--json"]].concat()).await;
    serde_json::from_str(&said).expect(&said)
}

/// Starts ben, who asks for permission, and ann, who waits for a message; returns the orchestrator and both tasks.
async fn ben_asks_and_ann_listens(stage: &Stage) -> (Member, String, String) {
    let lead = stage.orchestrator().await;
    let asks =
        json!({ "agent": "scripted", "name": "ben", "prompt": "tidy up", "permissions": "ask" });
    let asks = lead.call("assign_task", asks).await["task_id"].as_str().unwrap().to_owned();
    until("ben asks", || !stage.events_of("permission_asked").is_empty()).await;
    let listens = lead.start("ann", "listen closely").await;
    lead.until_waiting("ann").await;
    (lead, asks, listens)
}

/// Returns every file below a directory with its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

#[tokio::test]
async fn the_status_says_who_does_what_and_what_waits_for_a_person() {
    let stage = Stage::new(SCRIPT);
    let (lead, asks, listens) = ben_asks_and_ann_listens(&stage).await;

    let status = shown(&stage, &["status"]).await;
    let line = |mark: &str| {
        let line = status.lines().find(|line| line.contains(mark));
        line.unwrap_or_else(|| panic!("no `{mark}` in:\n{status}"))
    };
    assert!(status.starts_with("3 members ("), "{status}");
    assert!(
        line("! permission")
            .contains("delete: \"delete \\u{1b}[31mthe chapter\", for its task \"tidy up\""),
        "{status}"
    );
    assert!(line("! ben").contains("waiting permission"), "{status}");
    assert!(
        line("· ann").contains("waits for ben, who waits for you, in \"listen closely\""),
        "{status}"
    );
    assert!(line("○ orchestrator").contains("last active"), "{status}");
    assert!(line(&listens).contains("\"listen closely\""), "{status}");

    let board = json_of(&stage, &["status"]).await;
    assert_eq!(board["version"], 1);
    assert_eq!(board["needs_you"][0]["kind"], "permission");
    let permission = board["needs_you"][0]["id"].as_str().unwrap();
    let ann = board["members"].as_array().unwrap().iter().find(|member| member["name"] == "ann");
    assert_eq!(ann.unwrap()["waits_for"], "ben");
    assert_eq!(ann.unwrap()["task_id"], *listens);

    let answer = json!({ "permission_id": permission, "decision": "allow_once" });
    lead.call("answer_permission", answer).await;
    assert_eq!(lead.done(&listens).await, "heard it");
    assert_eq!(lead.done(&asks).await, "asked");
    let board = json_of(&stage, &["status"]).await;
    assert_eq!(board["needs_you"], json!([]));
    assert_eq!(board["totals"]["tasks_done"], 2);

    let talk = shown(&stage, &["messages", "--member", "ann"]).await;
    assert!(talk.contains("ben → ann: \"a word for you\""), "{talk}");
    assert!(talk.contains(": seen by ann after "), "{talk}");
    let log = shown(&stage, &["log"]).await;
    let expected = [
        format!("orchestrator assigns {listens} to ann: \"listen closely\""),
        "ben asks for permission: delete \"delete".to_owned(),
        "orchestrator allows ben this once: delete \"delete".to_owned(),
        "ben → ann: \"a word for you\"".to_owned(),
        format!("{listens} of ann is done: \"heard it\""),
    ];
    for words in expected {
        assert!(log.contains(&words), "no `{words}` in:\n{log}");
    }
    let waits = shown(&stage, &["log", "--kind", "wait"]).await;
    assert!(
        waits.contains("ann waits for ben\n") && waits.contains(" for ben: has it\n"),
        "{waits}"
    );
    let of_task = shown(&stage, &["log", "--thread", &asks]).await;
    assert!(of_task.contains(&asks) && !of_task.contains(&listens), "{of_task}");
    lead.close().await;

    // Everybody has left.
    let status = shown(&stage, &["status"]).await;
    assert!(status.starts_with("Nobody is here."), "{status}");
}

#[tokio::test]
async fn a_task_shows_its_texts_its_files_and_what_it_used() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let said = lead.start("cay", "count\nthe beans").await;
    lead.done(&said).await;
    let failed = lead.start("dan", "do it").await;
    lead.ended(&failed).await;

    let task = shown(&stage, &["task", &said]).await;
    assert!(task.starts_with(&format!("{said}  done  cay (scripted)\n")), "{task}");
    assert!(task.contains("Prompt\n  count\n  the beans\n"), "{task}");
    assert!(task.contains("Result\n  line one\n  line two\n"), "{task}");
    let followed = shown(&stage, &["task", &said, "-f"]).await;
    assert_eq!(followed, format!("line one\nline two\n{said} is done\n"));
    let tasks = json_of(&stage, &["tasks", "--status", "failed"]).await;
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(tasks[0]["task_id"], *failed);
    assert!(tasks[0]["error"].as_str().unwrap().contains("no more words"), "{tasks}");

    let usage = json_of(&stage, &["usage", "--by", "profile"]).await;
    assert_eq!(usage[0]["name"], "scripted");
    assert_eq!((&usage[0]["tasks"], &usage[0]["done"]), (&json!(2), &json!(1)), "{usage}");
    let lines = shown(&stage, &["usage"]).await;
    let sums = "cay  1 task   1 done  no usage reported\n\
                dan  1 task   0 done  no usage reported\n\
                all  2 tasks  1 done  no usage reported\n";
    assert!(lines.starts_with(sums) && lines.contains("a running turn"), "{lines}");

    let (code, said) = looked(&stage, &["tasks", "--agent", "kay"]).await;
    assert_eq!(code, Some(1));
    assert_eq!(said, "error: no task of `kay` is known\nhint: did you mean cay?\n");
    let (code, said) = looked(&stage, &["task", "task-aaaaaaaaaaaa"]).await;
    assert_eq!(code, Some(1));
    assert!(said.starts_with("error: there is no task `task-aaaaaaaaaaaa`"), "{said}");
    lead.close().await;
}

#[tokio::test]
async fn what_an_agent_answered_in_a_turn_without_a_task_can_be_read_after_its_next_task() {
    let stage = Stage::new(
        r#"
[[agents.default.turns]]
when = "Your task: "
steps = [{ say = "done" }]
[[agents.default.turns]]
steps = [{ say = "It is free." }]
"#,
    );
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.send("ann", "Is it free?").await;
    until("the answer", || !stage.events_of("message_seen").is_empty()).await;
    lead.until_idle("ann").await;
    lead.assign_and_wait("ann", "go on").await;
    let log = shown(&stage, &["log", "--json"]).await;
    let said = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut said = said.filter(|line| line["words"].as_str().unwrap().contains("It is free."));
    let id = said.next().expect(&log)["ids"][0].as_str().unwrap().to_owned();
    let turn = shown(&stage, &["task", &id]).await;
    assert!(turn.contains("a turn of ann") && turn.contains("Is it free?"), "{turn}");
    assert!(turn.contains("It is free."), "{turn}");
    let turn = json_of(&stage, &["task", &id]).await;
    assert_eq!((&turn["turn_id"], &turn["output"]), (&json!(id), &json!("It is free.")));
    lead.close().await;
}

#[tokio::test]
async fn the_log_goes_on_with_what_happens() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let (child, pipes) = stage.start(&["log", "-f", "--kind", "message"]).await;
    let mut lines = BufReader::new(pipes.stdout).lines();
    ann.send("orchestrator", "one").await;
    let mut line = async || {
        let line = tokio::time::timeout(DEADLINE, lines.next_line()).await;
        line.expect("a line comes").unwrap().expect("it goes on")
    };
    assert!(line().await.contains("ann (peer, s2) has joined"));
    assert!(line().await.ends_with("  message     ann → orchestrator: \"one\""));
    lead.send("ann", "two").await;
    assert!(line().await.ends_with("  message     orchestrator → ann: \"two\""));
    // It ends with its reader.
    drop(lines);
    ann.send("orchestrator", "three").await;
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.expect("it ends");
    assert_eq!(exit.code, Some(0), "{exit}: {}", child.stderr_tail());
    lead.close().await;
    ann.close().await;
}

#[tokio::test]
async fn a_member_whose_process_is_dead_is_gone_though_nobody_has_recorded_it() {
    let stage = Stage::new(SCRIPT);
    let peer = stage.peer("ann").await;
    let question = json!({ "to": "human", "content": "May I merge?", "signal": "question" });
    peer.call("send_message", question).await;
    let board = json_of(&stage, &["status"]).await;
    assert_eq!(board["needs_you"][0]["kind"], "question", "{board}");
    peer.die().await;
    let before = files(&stage.bus());
    let status = shown(&stage, &["status"]).await;
    assert!(status.contains("✗ ann"), "{status}");
    assert!(status.contains("its process has ended"), "{status}");
    let board = json_of(&stage, &["status"]).await;
    assert_eq!(board["needs_you"], json!([]), "nobody would get the answer");
    assert_eq!(files(&stage.bus()), before);
}

#[tokio::test]
async fn what_a_killed_bridge_had_is_gone_everywhere_and_its_questions_wait_for_nobody() {
    let stage = Stage::new(SCRIPT);
    let (lead, asks, listens) = ben_asks_and_ann_listens(&stage).await;
    let steps =
        json!([{ "name": "deploy", "agent": "scripted", "approve": "human", "prompt": "go" }]);
    let release = json!({ "name": "release", "steps": steps });
    let release = lead.call("create_workflow", release).await["workflow_id"].clone();
    until("a step asks", || !stage.events_of("step_asked").is_empty()).await;
    let line = async |command: &[&str], id: &str| {
        let said = shown(&stage, command).await;
        let line = said.lines().find(|line| line.contains(id));
        line.unwrap_or_else(|| panic!("no `{id}` in:\n{said}")).to_owned()
    };
    for command in ["status", "tasks"] {
        assert!(line(&[command], &asks).await.contains("waiting permission"), "{command}");
    }
    lead.die().await;

    for id in [&listens, &asks] {
        for command in [&["status"][..], &["tasks"], &["task", id]] {
            assert!(line(command, id).await.contains("  gone  "), "{command:?}");
        }
        let task = json_of(&stage, &["task", id]).await;
        assert_eq!((&task["status"], &task["agent_state"]), (&json!("running"), &json!("gone")));
    }
    let followed = shown(&stage, &["task", &listens, "-f"]).await;
    assert!(followed.contains("its agent's process has ended"), "{followed}");
    let board = json_of(&stage, &["status"]).await;
    assert_eq!(board["permissions"], json!([]), "{board}");
    // An approval is kept for whoever resumes the workflow.
    assert_eq!(board["needs_you"].as_array().unwrap().len(), 1, "{board}");
    assert_eq!(board["needs_you"][0]["kind"], "approval");
    let release = release.as_str().unwrap();
    assert!(line(&["workflows"], release).await.contains("  gone  "));
    let status = shown(&stage, &["status"]).await;
    assert!(status.contains("Workflows (`cli-team-bridge run --resume ID`"), "{status}");
    assert!(!status.contains("leads"), "{status}");
    assert!(stage.events_of("member_left").is_empty(), "nobody has recorded it");
}

#[tokio::test]
async fn a_step_has_waited_for_approval_since_the_end_of_the_step_before_it() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let steps = json!([
        { "name": "list", "agent": "cay", "prompt": "list" },
        { "name": "deploy", "agent": "cay", "depends_on": ["list"], "approve": "human", "prompt": "go" },
    ]);
    lead.start_and_wait("cay", "count").await;
    lead.call("create_workflow", json!({ "name": "release", "steps": steps })).await;
    until("a step asks", || !stage.events_of("step_asked").is_empty()).await;
    let board = json_of(&stage, &["status"]).await;
    let (need, list) = (&board["needs_you"][0], &board["workflows"][0]["steps"][0]);
    assert_eq!((&need["kind"], &need["who"]), (&json!("approval"), &json!("deploy")));
    assert_eq!(need["words"], "step for cay of \"release\"");
    assert!(need["since"].is_string(), "{board}");
    assert_eq!(need["since"], list["ended_at"]);
    let mut overview = Terminal::run_in(&stage, stage.project(), &[], (60, 120));
    assert_eq!(overview.ended("lists all commands").await, Some(0));
    let next = "next: `cli-team-bridge status` shows what needs you, and the command for it";
    assert!(overview.screen().contains(next), "{}", overview.screen());
    lead.close().await;
}

#[tokio::test]
async fn no_look_makes_or_changes_a_bus() {
    let stage = Stage::new(SCRIPT);
    for look in LOOKS {
        let said = shown(&stage, &[look]).await;
        assert!(said.contains("There is no team in `"), "{look}: {said}");
    }
    let (code, said) = looked(&stage, &["task", "task-aaaaaaaaaaaa"]).await;
    assert!(code == Some(1) && said.starts_with("error: there is no team in `"), "{said}");
    assert!(said.contains("\nhint: a team begins when a connected client starts there"), "{said}");
    let keys = shown(&stage, &["key", "list"]).await;
    assert!(keys.contains("There is no team in `") && !keys.contains("key new"), "{keys}");
    assert!(!stage.bus().exists());

    let lead = stage.orchestrator().await;
    lead.start_and_wait("cay", "count").await;
    lead.close().await;
    let (code, said) = looked(&stage, &["task", "task-aaaaaaaaaaaa"]).await;
    let unknown =
        "error: there is no task `task-aaaaaaaaaaaa`, or it is too old to be found\nhint: ";
    assert!(code == Some(1) && said.starts_with(unknown), "{said}");
    for [look, number, how] in [
        ["log", "--last", "write a whole number, such as 20"],
        ["messages", "--last", "write a whole number, such as 20"],
        ["log", "--after", "write the `seq` of"],
    ] {
        let (code, said) = looked(&stage, &[look, number, "x"]).await;
        assert!(code == Some(2) && said.contains(how), "{said}");
    }
    let log = std::fs::read_dir(stage.bus().join("log")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&log).unwrap();
    let before = files(&stage.bus());
    for look in LOOKS {
        shown(&stage, &[look]).await;
        shown(&stage, &[look, "--json"]).await;
    }
    assert_eq!(files(&stage.bus()), before);

    // A damaged line in the middle.
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut damaged = whole.clone();
    damaged[second + 20] ^= 1;
    std::fs::write(&log, &damaged).unwrap();
    for snapshot in std::fs::read_dir(stage.bus().join("snapshot")).unwrap() {
        std::fs::remove_file(snapshot.unwrap().path()).unwrap();
    }
    let before = files(&stage.bus());
    let status = shown(&stage, &["status"]).await;
    assert!(status.contains("1 line of the log is damaged"), "{status}");
    shown(&stage, &["log"]).await;
    assert_eq!(files(&stage.bus()), before);

    let copy = stage.copied();
    let before = files(&copy.bus());
    for look in LOOKS {
        let (code, said) = looked(&copy, &[look]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("was not created here, so it is not read\nhint: "), "{said}");
    }
    assert_eq!(files(&copy.bus()), before);

    let bus_json = stage.bus().join("bus.json");
    let mut newer: Value = serde_json::from_slice(&std::fs::read(&bus_json).unwrap()).unwrap();
    newer["format"] = json!(999);
    std::fs::write(&bus_json, newer.to_string()).unwrap();
    let before = files(&stage.bus());
    for look in LOOKS {
        let (code, said) = looked(&stage, &[look]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.starts_with("error: a newer cli-team-bridge uses this bus"), "{said}");
    }
    assert_eq!(files(&stage.bus()), before);
}

/// Runs a command while the project and the user's home are on a read-only disk; none where this user may not make one.
#[cfg(target_os = "linux")]
fn on_a_read_only_disk(stage: &Stage, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    const READ_ONLY: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" || exit 99; shift; exec \"$@\"";
    let place = stage.project().parent().unwrap();
    let ran = std::process::Command::new("unshare")
        .args(["-Urm", "sh", "-c", READ_ONLY, "sh"])
        .arg(place)
        .arg(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .args(arguments)
        .arg("--project")
        .arg(stage.project())
        .env_clear()
        .envs(stage.environment())
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let is_possible = ran.status.code() != Some(99) && !said.contains("unshare failed");
    is_possible.then_some((ran.status.code(), said))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_bus_that_can_only_be_read_is_looked_at_and_named_by_doctor() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("cay", "count").await;
    lead.close().await;
    for look in LOOKS {
        let Some((code, said)) = on_a_read_only_disk(&stage, &[look]) else {
            return;
        };
        assert_eq!(code, Some(0), "{look}: {said}");
    }
    let (_, said) = on_a_read_only_disk(&stage, &["tasks"]).unwrap();
    assert!(said.contains("cay"), "{said}");
    let (_, said) = on_a_read_only_disk(&stage, &["doctor", "--no-start"]).unwrap();
    assert!(
        said.contains("but not write to it (the directory itself, `bus.json`, `lock` and "),
        "{said}"
    );
    assert!(said.contains("chmod -R u+rwX"), "{said}");
    let (code, said) = on_a_read_only_disk(&stage, &["orchestrator", "--adopt"]).unwrap();
    assert_eq!(code, Some(1), "{said}");
}

#[tokio::test]
async fn the_status_says_how_many_ended_tasks_it_leaves_out() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let tasks = |status: &str| {
        status.lines().find(|line| line.starts_with("Tasks")).unwrap_or_default().to_owned()
    };
    lead.start_and_wait("cay", "go").await;
    for _ in 1..5 {
        lead.assign_and_wait("cay", "go on").await;
    }
    assert_eq!(tasks(&shown(&stage, &["status"]).await), "Tasks");
    for _ in 5..7 {
        lead.assign_and_wait("cay", "go on").await;
    }
    let expected = "Tasks (2 more have ended: `cli-team-bridge tasks`)";
    assert_eq!(tasks(&shown(&stage, &["status"]).await), expected);
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn what_a_killed_session_had_not_proven_is_unread_in_every_list() {
    let stage = Stage::new("");
    let [ann, bob] = [stage.peer("ann").await, stage.peer("bob").await];
    let sent = ann.send("bob", "lost one").await;
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["id"], sent["message_id"], "{read}");
    let status = async || {
        let listed = json_of(&stage, &["messages"]).await;
        listed[0]["receipts"][0]["status"].clone()
    };
    assert_eq!(status().await, "delivered");
    bob.die().await;
    until("its end is written", || !stage.events_of("member_left").is_empty()).await;
    assert_eq!(status().await, "unread");
    let asked = ann.call("check_messages", json!({ "id": sent["message_id"] })).await;
    assert_eq!(asked["receipts"][0]["state"], "unread", "{asked}");
    ann.close().await;
}
