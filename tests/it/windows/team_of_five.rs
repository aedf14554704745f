//! A team of five scripted agents in the window.

use serde_json::json;

use crate::support::{DEADLINE, Member, PAUSE, Stage, Terminal, until};

/// Ann asks for a permission, ben waits for cay, cay writes to eve, dan is done, and eve is at work.
pub(super) const SCRIPT: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { ask_permission = "rm -rf \u001b[2Jbuild && echo 字字 done", kind = "execute", on_reject = "go_on", save = "answer" },
  { say = "the answer has come" },
]
[[agents.ben.turns]]
when = "Your task: "
steps = [{ wait_for = { from = "cay", seconds = 120 } }]
[[agents.cay.turns]]
when = "Your task: "
steps = [{ call = "send_message", with = { to = "eve", content = "the map is wrong" } }, { hang = true }]
[[agents.dan.turns]]
when = "Your task: "
steps = [{ usage = { used = 1200, size = 200000 } }, { say = "all checked" }]
[[agents.eve.turns]]
when = "Your task: "
steps = [{ say = "I read \u001b]0;x\u0007the map\nline two" }, { hang = true }]
"#;

pub(super) const SMALL: (u16, u16) = (15, 60);

/// Starts the five, and waits until each is where its script leaves it.
pub(super) async fn five(stage: &Stage) -> Member {
    let lead = stage.orchestrator().await;
    let asks =
        json!({ "agent": "scripted", "name": "ann", "prompt": "clean up", "permissions": "ask" });
    lead.call("assign_task", asks).await;
    until("ann asks", || !stage.events_of("permission_asked").is_empty()).await;
    lead.start("eve", "read the map").await;
    until("eve works", || stage.events_of("task_started").len() == 2).await;
    lead.start("cay", "correct the map").await;
    until("cay works", || stage.events_of("task_started").len() == 3).await;
    lead.start("ben", "wait for cay").await;
    lead.until_waiting("ben").await;
    let dan = lead.start("dan", "check it").await;
    lead.done(&dan).await;
    until("cay has written", || !stage.events_of("message_sent").is_empty()).await;
    lead
}

/// Returns the panes with each age replaced by `T`, without the leader, whose row changes with each of its calls.
fn masked(terminal: &Terminal) -> Vec<String> {
    let screen = terminal.screen();
    let is_age = |word: &str| {
        let number = word.strip_suffix(['s', 'm']).unwrap_or_default();
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    };
    let line = |line: &str| {
        let words = line.split_whitespace();
        words.map(|word| if is_age(word) { "T" } else { word }).collect::<Vec<_>>().join(" ")
    };
    let lines = screen.lines().skip(1).map(line);
    lines.filter(|line| !line.is_empty() && !line.contains("orchestrator")).collect()
}

#[tokio::test]
async fn a_stranger_tells_from_the_window_who_needs_them_who_works_and_what_was_said() {
    let stage = Stage::new(SCRIPT);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("There is no team in this project yet.").await;
    let lead = five(&stage).await;
    terminal.until_shows("1 needs you, 6 members, 2 working, 1 waiting").await;
    let expected = [
        "1 Team 2 Messages 3 Tasks 4 Requests 5 Workflows 6 Events",
        "name now age new tokens cost",
        "Needs you (1)",
        "! ann execute: \"rm -rf \\u{1… T – –",
        "Working (3)",
        "● eve \"read the map\" T 1 – –",
        "● cay \"correct the map\" T – –",
        "· ben waits for cay, in \"wa… T – –",
        "Idle (2)",
        "○ dan idle T – –",
        "a answer m message ? help enter open space peek q quit",
    ];
    let settling = async {
        while masked(&terminal) != expected {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let _ = tokio::time::timeout(DEADLINE, settling).await;
    assert_eq!(masked(&terminal), expected, "{}", terminal.screen());
    assert!(terminal.sent().contains("\x1b]2;1 needs you: project\x1b\\"));

    // What the one that works says, without leaving the list.
    terminal.press("/eve\r");
    terminal.until_shows("filter \"eve\"").await;
    terminal.press(" ");
    terminal.until_shows("eve: live words").await;
    terminal.until_shows("I read").await;
    terminal.until_shows("line two").await;
    assert!(!terminal.sent().contains("\x1b]0;x"), "words act on no terminal");
    terminal.press("\x1b");
    until("the peek is closed", || !terminal.screen().contains("live words")).await;
    terminal.press("\x1b");
    until("the filter is gone", || !terminal.screen().contains("filter \"eve\"")).await;

    // What was said, and how far it has come.
    terminal.press("2");
    terminal.until_shows("cay → eve").await;
    terminal.until_shows("the map is wrong").await;
    terminal.press("\r");
    terminal.until_shows("eve: ").await;
    terminal.press("q");
    until("the message is closed", || !terminal.screen().contains("┌─ cay → eve")).await;

    // A larger window has room for more.
    terminal.press("1");
    terminal.resize((40, 120));
    terminal.until_shows(" left: ").await;
    terminal.until_shows("── ann: messages").await;
    let screen = terminal.screen();
    assert!(screen.lines().all(|line| line.chars().count() <= 120), "{screen}");
    terminal.resize(SMALL);
    until("it is small again", || !terminal.screen().contains("── ann: messages")).await;

    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    until("the terminal is back", || !terminal.is_on_other_screen()).await;
    assert!(terminal.has_lines() && !terminal.is_odd());
    lead.close().await;
}

#[tokio::test]
async fn looking_changes_nothing_and_a_window_below_an_agent_only_looks() {
    let stage = Stage::new(SCRIPT).with_env(vec![("BRIDGE_RUN".into(), "1".into())]);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("There is no team in this project yet.").await;
    terminal.press("m");
    terminal.until_shows("This window only looks: this process was started").await;
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    assert!(!stage.bus().exists(), "a look makes no bus");
}

#[tokio::test]
async fn keys_are_bound_in_the_users_own_file_and_a_bad_binding_is_named() {
    let stage = Stage::new(SCRIPT).with_profiles("[top.keys]\nquit = \"Z\"\n");
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("There is no team").await;
    terminal.press("q?");
    terminal.until_shows("┌─ Keys").await;
    terminal.press("\x1b");
    until("the help is closed", || !terminal.screen().contains("┌─ Keys")).await;
    terminal.press("Z");
    assert_eq!(terminal.ended("").await, Some(0));

    let stage = Stage::new(SCRIPT).with_profiles("[top.keys]\nquit = \"esc\"\n");
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    assert_eq!(terminal.ended("which has a fixed").await, Some(1));
    assert!(terminal.all().concat().contains("config.toml:2:8"), "{:?}", terminal.all());
}
