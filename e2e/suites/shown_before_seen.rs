//! What models are shown, and which messages count as seen: long results, many messages at once, and messages that came into a turn
//! that did not go on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::agent_kinds::{CLAUDE_CODE, CODEX, Kind, Reach};
use crate::model::{Newest, Rule};
use crate::real_project::Scene;
use crate::support::{Member, Stage, until};

/// The message that goes into a turn.
const CODE: &str = "the code is 4716";

/// The bytes of each part of a long message.
const PART: usize = 100;

/// The parts of the longest message.
const MOST_PARTS: usize = 6_000;

/// With this variable the test measures how much of a result each agent shows its model, instead of checking it. `--nocapture`
/// shows the figures.
const MEASURE: &str = "BRIDGE_E2E_MEASURE";

/// Returns a text of numbered parts.
fn parts(count: usize) -> String {
    let part = |number| {
        let head = format!("part-{number:05} ");
        format!("{head}{}\n", "x".repeat(PART - 1 - head.len()))
    };
    (0..count).map(part).collect()
}

/// Returns how many parts, counted from the first, a text has complete.
fn whole_parts(text: &str) -> usize {
    let is_whole = |number: &usize| {
        let head = format!("part-{number:05} ");
        let whole = format!("{head}{}", "x".repeat(PART - 1 - head.len()));
        text.contains(&whole)
    };
    (0..MOST_PARTS).take_while(is_whole).count()
}

/// Returns the request that a rule answered.
fn shown_to(scene: &Scene, rule: &str) -> String {
    let shown = scene.model.shown().into_iter();
    let mut ours = shown.filter(|shown| shown.rule.as_deref() == Some(rule));
    ours.next().unwrap_or_else(|| panic!("{rule}: {}", scene.shown_to_models())).whole
}

/// An agent shows its model our longest results uncut, and no part of a longer message is lost.
pub(crate) async fn shows_results_in_full(kind: &Kind) {
    let measures = std::env::var_os(MEASURE).is_some();
    let profile = if measures {
        format!("[agents.{}]\nresult_bytes = 1000000", kind.name)
    } else {
        String::new()
    };
    let rules = vec![
        Rule::result("part-00000").says("read"),
        Rule::user("wait for it").calls("wait_for_message", json!({ "timeout_seconds": 100 })),
    ];
    let scene = Scene::with_profiles(&[kind], rules, &profile).await;
    let task = scene.start(kind, "wait for it").await;
    scene.lead.until_waiting(kind.name).await;
    scene.lead.send(kind.name, &parts(MOST_PARTS)).await;
    assert_eq!(scene.done(&task).await, "read", "{}", scene.shown_to_models());
    let shown = shown_to(&scene, "part-00000");
    let whole = whole_parts(&shown) * PART;
    if measures {
        eprintln!("{}: {whole} bytes of a result", kind.name);
    } else {
        let is_shown = |number: &usize| shown.contains(&format!("part-{number:05} "));
        let last = (0..MOST_PARTS).rev().find(is_shown).unwrap();
        // The bridge cuts the last part, and says so.
        assert!(
            whole / PART >= last,
            "a part before {last} is missing: {whole}; {}",
            scene.shown_to_models()
        );
        assert!(whole >= 30_000, "{whole}");
        assert!(shown.contains("next_offset"), "{}", scene.shown_to_models());
    }
    scene.end().await;
}

/// Many messages that came during a turn wake an agent once, and it shows its model each of them once.
pub(crate) async fn is_woken_once_by_a_storm(kind: &Kind) {
    const STORM: usize = 50;
    let limits = "[limits]\nmessages_per_minute = 0";
    let profile = format!("{limits}\n[agents.{}]\nmid_turn = \"never\"", kind.name);
    let rules = vec![
        Rule::user("storm-49").says("all read"),
        Rule::user("think it over").behind("the storm is over").says("done"),
    ];
    let scene = Scene::with_profiles(&[kind], rules, &profile).await;
    let task = scene.start(kind, "think it over").await;
    scene.until_answered("think it over").await;
    for number in 0..STORM {
        let text = format!("storm-{number:02} {}", "x".repeat(4_000));
        scene.lead.send(kind.name, &text).await;
    }
    scene.model.open("the storm is over");
    assert_eq!(scene.done(&task).await, "done", "{}", scene.shown_to_models());
    scene.lead.until_idle(kind.name).await;
    let handed = scene.stage.events_of("message_handed").into_iter();
    let deliveries: Vec<_> = handed
        .filter(|handed| handed["member"] == kind.name)
        .map(|handed| (handed["way"].clone(), handed["ids"].as_array().unwrap().len()))
        .collect();
    assert_eq!(deliveries, [(json!("prompt"), STORM)], "{}", scene.shown_to_models());
    let shown = shown_to(&scene, "storm-49");
    for number in 0..STORM {
        let text = format!("storm-{number:02} {}", "x".repeat(4_000));
        assert_eq!(shown.matches(&text).count(), 1, "{number}");
    }
    scene.end().await;
}

/// How a turn ends before its model was shown the message that came into it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The task is cancelled.
    Cancel,
    /// The agent process is killed and restarted.
    Crash,
    /// The orchestrator is killed, and the next one resumes the agent.
    Orchestrator,
}

/// A message that came into a turn that did not go on is shown to the model later.
pub(crate) async fn gets_the_message_again(kind: &'static Kind, end: End) {
    let mut profile = format!("[agents.{}]\nrestart = \"on_failure\"", kind.name);
    if end != End::Crash {
        profile.clear();
    }
    let thinking = Rule::user("think it over");
    let rules = vec![
        Rule::user(CODE).behind("the end").says("heard"),
        Rule::result(CODE).behind("the end").says("heard"),
        Rule::result("").behind("the end").says("heard nothing"),
        match kind.reach {
            Reach::Drain(own) => {
                thinking.behind("it is sent").calls_own(own, json!({ "file_path": "notes.txt" }))
            }
            _ => thinking
                .calls("wait_for_message", json!({ "from": "gate", "timeout_seconds": 100 })),
        },
    ];
    let scene = Scene::with_profiles(&[kind], rules, &profile).await;
    let gate = scene.stage.peer("gate").await;
    let mut task = kind.task("think it over");
    task["name"] = json!("worker");
    let task = scene.lead.call("assign_task", task).await["task_id"].clone();
    let method = if let Reach::Drain(_) = kind.reach {
        scene.until_answered("think it over").await;
        "drain"
    } else {
        scene.lead.until_waiting("worker").await;
        "steer"
    };
    // During a tool call, Claude Code is steered only with urgent messages.
    let message = json!({ "to": "worker", "content": CODE, "priority": "urgent" });
    let id = scene.lead.call("send_message", message).await["message_id"].clone();
    scene.model.open("it is sent");
    until("the agent has it", || {
        let taken = method == "drain" || !scene.transcript("taken").is_empty();
        taken && !handed(&scene.stage, &id, method).is_empty()
    })
    .await;
    assert_eq!(seen_calls(&scene.stage, &id), [""; 0], "{}", scene.shown_to_models());
    let Scene { lead, model, stage, .. } = scene;
    let lead = match end {
        End::Cancel => {
            lead.call("cancel_task", json!({ "task_id": task })).await;
            lead
        }
        End::Crash => {
            let runs = stage.events_of("agent_runs");
            let pid = runs.last().unwrap()["agent"]["pid"].as_i64().unwrap();
            signal(pid, Signal::SIGKILL);
            lead
        }
        End::Orchestrator => {
            lead.die().await;
            let next = stage.orchestrator().await;
            next.until_agent("worker", |agent| agent["status"] == "dead").await;
            let resumed = json!({ "agent": "worker", "prompt": "what was it" });
            next.call("assign_task", resumed).await;
            next
        }
    };
    model.open("the end");
    until("its model is shown it", || !seen_calls(&stage, &id).is_empty()).await;
    let shown = model.shown();
    let answered = shown
        .iter()
        .any(|shown| shown.answered && shown.rule.is_some() && shown.whole.contains(CODE));
    assert!(answered, "{}", crate::real_project::shown_to_models(&model));
    lead.until_idle("worker").await;
    gate.close().await;
    finish(lead, &stage).await;
}

async fn finish(lead: Member, stage: &Stage) {
    lead.close().await;
    stage.check_nobody_is_left();
}

fn signal(pid: i64, signal: Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

/// Returns the calls that carried a message by this delivery method; an empty method means any.
fn handed(stage: &Stage, id: &Value, method: &str) -> Vec<Value> {
    let handed = stage.events_of("message_handed").into_iter();
    handed
        .filter(|handed| method.is_empty() || handed["way"] == method)
        .filter(|handed| handed["ids"].as_array().unwrap().contains(id))
        .map(|handed| handed["call"].clone())
        .collect()
}

/// Returns the calls by which a message was seen.
fn seen_calls(stage: &Stage, id: &Value) -> Vec<String> {
    let calls = handed(stage, id, "");
    let seen = stage.events_of("message_seen").into_iter();
    seen.filter(|seen| calls.contains(&seen["call"])).map(|seen| seen["call"].to_string()).collect()
}

/// The programs that a dialogue needs.
pub(crate) const PROGRAMS: [&str; 3] = ["node", CODEX.name, CLAUDE_CODE.name];

/// How long an answer may take. The models answer at once, and a wait that misses an answer takes twice as long.
const ANSWER_LIMIT: Duration = Duration::from_secs(7);

/// This variable sets how many dialogues are played; one by default.
const DIALOGUES: &str = "BRIDGE_E2E_DIALOGUES";

/// Two agents of two vendors throw a ball ten times, as fast as they can, and no answer waits in an inbox.
pub(crate) async fn answers_arrive_without_delay() {
    let count = std::env::var(DIALOGUES).map_or(1, |count| count.parse().unwrap());
    for number in 0..count {
        let slowest = dialogue().await;
        eprintln!("dialogue {number}: slowest answer {slowest:?}");
    }
}

/// Returns the highest ball number in a text.
fn newest_ball(text: &str) -> Option<usize> {
    let named = text.match_indices("ball ").filter_map(|(at, word)| {
        let digits = text[at + word.len()..].chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().ok()
    });
    named.max()
}

async fn dialogue() -> Duration {
    const THROWS: usize = 10;
    let throw = |to: &'static str| {
        move |text: &str| {
            let next = newest_ball(text).unwrap_or(0) + 1;
            json!({ "to": to, "content": format!("ball {next}") })
        }
    };
    let wait = json!({ "timeout_seconds": 15 });
    let mut rules = vec![Rule::user("ball 10").says("over"), Rule::result("ball 10").says("over")];
    for (kind, to) in [(&CODEX, "right"), (&CLAUDE_CODE, "left")] {
        rules.push(Rule::result("ball ").of(kind.api).calls_with("send_message", throw(to)));
        rules.push(Rule::user("ball ").of(kind.api).calls_with("send_message", throw(to)));
        rules.push(Rule::result("\"timed_out\": true").of(kind.api).says("no more"));
        rules.push(Rule::result("timed_out\":true").of(kind.api).says("no more"));
        rules.push(Rule::result("").of(kind.api).calls("wait_for_message", wait.clone()));
        // An agent that searches for tools has found both when the ball comes.
        let ready = json!({ "to": "orchestrator", "content": "ready" });
        rules.push(Rule::user("play").of(kind.api).calls("send_message", ready));
    }
    let scene = Scene::new(&[&CODEX, &CLAUDE_CODE], rules).await;
    let mut tasks = Vec::new();
    for (kind, name) in [(&CODEX, "left"), (&CLAUDE_CODE, "right")] {
        let mut task = kind.task("play");
        task["name"] = json!(name);
        let assigned = scene.lead.call("assign_task", task).await;
        tasks.push(assigned["task_id"].as_str().unwrap().to_owned());
    }
    // They need not wait at the same time: if the wait of one has ended before the other begins, the ball wakes it.
    until("both have begun to wait", || {
        let waits = scene.stage.events_of("wait_started").into_iter();
        let waiters: BTreeSet<_> = waits.map(|wait| wait["session"].to_string()).collect();
        waiters.len() == 2
    })
    .await;
    scene.lead.send("left", "ball 0").await;
    let (mut balls, mut last, mut slowest) = (0, Instant::now(), Duration::ZERO);
    while balls < THROWS {
        // A ball that comes twice is thrown on twice.
        let sent = scene.stage.events_of("message_sent").into_iter();
        let thrown = sent.filter(|sent| sent["from"] != "orchestrator");
        let thrown = thrown.filter_map(|sent| newest_ball(&sent["body"].to_string()));
        let now = thrown.max().unwrap_or(0);
        if now > balls {
            balls = now;
            slowest = slowest.max(last.elapsed());
            last = Instant::now();
        }
        assert!(last.elapsed() < Duration::from_mins(1), "{}", scene.shown_to_models());
        tokio::time::sleep(crate::support::PAUSE).await;
    }
    for task in &tasks {
        scene.lead.ended(task).await;
    }
    assert!(
        scene.model.was_shown_to(CODEX.api, Newest::ToolResult, "ball ")
            || scene.model.was_shown_to(CODEX.api, Newest::User, "ball "),
    );
    assert!(slowest < ANSWER_LIMIT, "{slowest:?}; {}", scene.shown_to_models());
    scene.end().await;
    slowest
}
