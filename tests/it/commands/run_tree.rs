//! `run` at a terminal: a tree that changes in place, on real pseudo-terminals.

use std::fmt::Write as _;

use nix::sys::signal::Signal;

use crate::support::{Stage, Terminal};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ hang = true }]
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "no way" }]
[[agents.default.turns]]
when = "Your task: delete"
steps = [{ ask_permission = "delete the chapter", kind = "delete" }, { say = "{{name}} was answered" }]
[[agents.default.turns]]
when = "Your task: be odd"
steps = [{ repeat = 5, steps = [{ raw = '{"jsonrpc":"2.0","method":"odd","params":{}}' }, { sleep_ms = 120 }] }]
[[agents.default.turns]]
when = "Your task: take a while"
steps = [{ sleep_ms = 700 }, { say = "{{name}} has done it" }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

const DIAMOND: &str = r#"
name = "diamond"
[[steps]]
name = "top"
agent = "red"
prompt = "look"
[[steps]]
name = "left"
agent = "blue"
prompt = "take a while"
depends_on = ["top"]
[[steps]]
name = "right"
agent = "green"
prompt = "take a while"
depends_on = ["top"]
[[steps]]
name = "end"
agent = "red"
prompt = "sum up"
depends_on = ["left", "right"]
"#;

const SIZE: (u16, u16) = (24, 80);

fn stage(plan: &str) -> Stage {
    Stage::new(SCRIPT).with_plan(plan)
}

fn run(stage: &Stage, size: (u16, u16)) -> Terminal {
    let plan = stage.project().join("plan.toml");
    let script = stage.home().join("script.toml");
    let arguments = ["run", plan.to_str().unwrap()];
    let played = ["--scripted", script.to_str().unwrap()];
    Terminal::run(stage, &[arguments, played].concat(), size)
}

/// Replaces the workflow's id by `ID`, each time by `T`, and gaps between columns by one space.
fn plain(stage: &Stage, line: &str) -> String {
    let id = stage.events_of("workflow_created")[0]["id"].clone();
    let line = line.replace(id.as_str().unwrap(), "ID");
    let indent: String = line.chars().take_while(|letter| *letter == ' ').collect();
    let is_time = |word: &str| {
        let number = word.strip_suffix('s');
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let words = line.split_whitespace();
    let words = words.map(|word| if is_time(word) { "T" } else { word });
    indent + &words.collect::<Vec<_>>().join(" ")
}

fn plain_lines(stage: &Stage, lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| plain(stage, line)).collect()
}

/// Counts the lines that contain a text.
fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[tokio::test]
async fn a_diamond_is_a_tree_that_changes_in_place_and_stays_above_the_report() {
    let stage = stage(DIAMOND);
    let mut terminal = run(&stage, SIZE);
    let code = terminal.ended("red has done it").await;
    let all = terminal.all();
    assert_eq!(code, Some(0), "{all:#?}");
    assert_eq!(
        plain_lines(&stage, &all)[..7],
        [
            "diamond (ID) T 4 of 4 steps done",
            "└─ ✓ top done T red",
            "   ├─ ✓ left done T blue",
            "   └─ ✓ right done T green",
            "      └─ ✓ end + left done T red",
            "",
            "diamond (ID) is done",
        ],
        "{all:#?}"
    );
    assert_eq!(all[13..16], ["red has done it", "", "Transcripts:"], "{all:#?}");
    assert!(terminal.sent().contains("\x1b[32m✓"), "done is green");
}

#[tokio::test]
async fn a_tree_that_is_longer_than_the_screen_shows_what_runs_and_is_whole_at_the_end() {
    let mut plan = "name = \"long\"\n".to_owned();
    for at in 0..30 {
        write!(
            plan,
            "[[steps]]\nname = \"step-{at:02}\"\nagent = \"agent-{}\"\nprompt = \"look\"\n",
            at % 4
        )
        .unwrap();
        if at >= 4 {
            writeln!(plan, "depends_on = [\"step-{:02}\"]", at - 4).unwrap();
        }
        if at == 20 {
            plan += "gate = [\"sh\", \"-c\", \"until test -e go; do sleep 0.1; done\"]\n";
        }
    }
    let stage = stage(&plan);
    let mut terminal = run(&stage, (10, 60));
    terminal.until_shows("⋮").await;
    crate::support::until("a late step is shown while it runs", || {
        let screen = terminal.screen();
        let mut lines = screen.lines();
        screen.lines().count() <= 9
            && lines.any(|line| line.contains("step-20") && line.contains("running"))
    })
    .await;
    assert_eq!(count(&terminal.all(), "steps done"), 1, "nothing scrolls");
    std::fs::write(stage.project().join("go"), "").unwrap();
    // The last line of all: its transcript.
    let code = terminal.ended("step-29  /").await;
    let all = terminal.all();
    assert_eq!(code, Some(0), "{all:#?}");
    assert_eq!(count(&all, "30 of 30 steps done"), 1, "{all:#?}");
    assert_eq!(count(&all, "steps done"), 1, "{all:#?}");
    assert_eq!(count(&all, "⋮"), 0, "{all:#?}");
    for at in 0..30 {
        let line = format!("✓ step-{at:02} ");
        assert_eq!(count(&all, &line), 1, "{line}: {all:#?}");
    }
}

#[tokio::test]
async fn a_person_answers_below_the_tree_which_goes_on_meanwhile() {
    let plan = DIAMOND.replacen("prompt = \"look\"", "prompt = \"look\"\napprove = \"human\"", 1)
        + "[[steps]]\nname = \"alone\"\nagent = \"grey\"\nprompt = \"take a while\"\n";
    let stage = stage(&plan);
    let mut terminal = run(&stage, SIZE);
    let question = "Start `top`? [y/N]";
    terminal.until_shows(question).await;
    assert_eq!(count(&terminal.all(), "top gives red this task: look"), 1, "{:#?}", terminal.all());
    terminal.press("?\r");
    terminal.until_shows("Type y for yes, or n for no.").await;
    terminal.press("ye");
    terminal.until_shows(&format!("{question} ye")).await;
    terminal.until_shows("1 of 5 steps done").await;
    let screen = terminal.screen();
    assert!(screen.ends_with(&format!("{question} ye")), "{screen}");
    terminal.press("s\r");
    terminal.until_shows("left").await;
    // No question asks for these keys.
    terminal.press("\rn\r");
    let code = terminal.ended("grey has done it").await;
    let all = terminal.all();
    assert_eq!(code, Some(0), "{all:#?}");
    let lines = plain_lines(&stage, &all);
    let head = lines.iter().position(|line| line.starts_with("diamond (")).unwrap();
    assert_eq!(
        lines[head..head + 8],
        [
            "diamond (ID) T 5 of 5 steps done",
            "├─ ✓ top done T red",
            "│ ├─ ✓ left done T blue",
            "│ └─ ✓ right done T green",
            "│ └─ ✓ end + left done T red",
            "└─ ✓ alone done T grey",
            "",
            "diamond (ID) is done",
        ],
        "{all:#?}"
    );
}

#[tokio::test]
async fn a_refused_step_and_what_it_stops_are_in_the_summary() {
    let plan = DIAMOND.replacen("prompt = \"look\"", "prompt = \"look\"\napprove = \"human\"", 1);
    let stage = stage(&plan);
    let mut terminal = run(&stage, SIZE);
    terminal.until_shows("Start `top`? [y/N]").await;
    terminal.press("n\r");
    let code = terminal.ended("error: the workflow ").await;
    let all = terminal.all();
    assert_eq!(code, Some(1), "{all:#?}");
    let summary = all.iter().position(|line| line.starts_with("  top ")).expect("a summary");
    assert_eq!(
        all[summary..summary + 4],
        [
            "  top    cancelled",
            "      refused by the user",
            "  left   skipped",
            "      top was cancelled"
        ],
        "{all:#?}"
    );
}

/// A fallback may run for an hour before the report at the end.
#[tokio::test]
async fn the_tree_says_why_the_first_agent_failed_while_the_next_one_works() {
    let plan =
        "name = \"w\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"fail\"\nretries = 1\n";
    let script = SCRIPT.replacen(
        "[[agents.default.turns]]\nwhen = \"Your task: fail\"",
        "[[agents.default.turns]]\nwhen = \"no way\"\nsteps = [{ hang = true }]\n\
         [[agents.default.turns]]\nwhen = \"Your task: fail\"",
        1,
    );
    let stage = Stage::new(&script).with_plan(plan);
    let mut terminal = run(&stage, (24, 160));
    terminal.until_shows("attempt 2, the last attempt: the agent refused `session/prompt`").await;
    terminal.signal(Signal::SIGTERM);
    terminal.ended("the workflow is interrupted").await;
}

#[tokio::test]
async fn log_lines_stand_above_the_tree() {
    let stage =
        stage(&DIAMOND.replace("take a while", "be odd")).with_variable("BRIDGE_LOG", "debug");
    let mut terminal = run(&stage, SIZE);
    let code = terminal.ended("red has done it").await;
    let all = terminal.all();
    assert_eq!(code, Some(0), "{all:#?}");
    assert_eq!(count(&all, "DEBUG"), 10, "{all:#?}");
    let head = all.iter().position(|line| line.starts_with("diamond ("));
    let last = all.iter().rposition(|line| line.contains("DEBUG"));
    assert!(last < head, "{all:#?}");
    assert_eq!(count(&all, "steps done"), 1, "{all:#?}");
    for name in ["top", "left", "right", "end + left"] {
        assert_eq!(count(&all, &format!("─ ✓ {name} ")), 1, "{all:#?}");
        assert_eq!(count(&all, &format!("─ · {name} ")), 0, "{all:#?}");
    }
}

#[tokio::test]
async fn a_failure_is_reported_in_full_below_the_tree() {
    let stage = stage(&DIAMOND.replacen("prompt = \"look\"", "prompt = \"fail\"", 1))
        .with_variable("NO_COLOR", "1");
    let mut terminal = run(&stage, (24, 64));
    let code = terminal.ended("error: the workflow has failed").await;
    let all = terminal.all();
    assert_eq!(code, Some(1), "{all:#?}");
    let lines = plain_lines(&stage, &all);
    let head = "diamond (ID) T 0 of 4 steps done, 1 failed, ";
    assert!(lines[0].starts_with(head), "{all:#?}");
    assert!(lines[1].starts_with("└─ ✗ top failed T red "), "{all:#?}");
    assert!(lines[1].ends_with('…'), "{all:#?}");
    assert!(lines[2].starts_with("   ├─ - left skipped blue "), "{all:#?}");
    let summary = all.iter().position(|line| line.starts_with("  top ")).expect("a summary");
    let reason = all[summary + 1..].concat();
    assert!(reason.contains("no way"), "{all:#?}");
    assert_eq!(count(&all, "the agent refused"), 1, "the tree has no room for it: {all:#?}");
    assert!(!terminal.sent().contains("\x1b[3"), "colours are disabled");
}

#[tokio::test]
async fn a_signal_leaves_the_tree_and_says_below_it_how_to_resume() {
    let stage = stage(&DIAMOND.replacen("prompt = \"look\"", "prompt = \"hang\"", 1))
        .with_scripted_profiles(&["red", "blue", "green"]);
    let plan = stage.project().join("plan.toml");
    let mut terminal = Terminal::run(&stage, &["run", plan.to_str().unwrap()], SIZE);
    terminal.until_shows("running").await;
    terminal.signal(Signal::SIGINT);
    terminal.until_shows("a second signal kills them").await;
    terminal.signal(Signal::SIGTERM);
    let code = terminal.ended("resume it with").await;
    let all = terminal.all();
    assert_eq!(code, Some(1), "{all:#?}");
    assert_eq!(count(&all, "0 of 4 steps done"), 1, "{all:#?}");
    assert_eq!(count(&all, "top "), 1, "{all:#?}");
    assert!(all[5].starts_with("SIGINT: stopping"), "{all:#?}");
    assert_eq!(count(&all, "error: SIGINT: "), 1, "{all:#?}");
}

#[tokio::test]
async fn a_permission_request_is_answered_at_the_terminal_and_only_a_yes_allows_it() {
    for (typed, decision) in [("y", "allow_once"), ("always", "allow_always"), ("", "reject")] {
        let plan = DIAMOND.replacen("prompt = \"look\"", "prompt = \"delete\"", 1);
        let stage = stage(&plan);
        let mut terminal = run(&stage, (24, 120));
        terminal.until_shows("Allow `red` to do this? [y/N, a = always]").await;
        terminal.press(&format!("{typed}\r"));
        let code = terminal.ended(") is done").await;
        let all = terminal.all();
        assert_eq!(code, Some(0), "{all:#?}");
        let question = r#"red asks for permission (delete): "delete the chapter""#;
        assert_eq!(count(&all, question), 1, "{all:#?}");
        let answered = &stage.events_of("permission_answered")[0];
        assert_eq!(answered["decision"], decision, "{answered}");
        assert_eq!(answered["by"], "human", "{answered}");
    }
}

#[tokio::test]
async fn the_tree_shows_what_each_step_waits_for() {
    let plan = DIAMOND.replacen("prompt = \"look\"", "prompt = \"delete\"", 1)
        + "[[steps]]\nname = \"checked\"\nagent = \"grey\"\nprompt = \"look\"\n\
           gate = [\"sh\", \"-c\", \"while :; do sleep 0.1; done\"]\n";
    let stage = stage(&plan);
    let mut terminal = run(&stage, (24, 120));
    for note in [
        r#"asks for permission: "delete the chapter""#,
        "for top",
        "for left, right",
        r#"its gate: ["sh", "-c", "while"#,
    ] {
        terminal.until_shows(note).await;
    }
    let orchestrator = stage.orchestrator().await;
    let asked = stage.events_of("permission_asked")[0]["id"].clone();
    let answer = serde_json::json!({ "permission_id": asked, "decision": "allow_once" });
    orchestrator.call("answer_permission", answer).await;
    terminal.until_shows("✓ end + left").await;
    terminal.signal(Signal::SIGINT);
    terminal.ended("a trial cannot be resumed").await;
    orchestrator.close().await;
}

#[tokio::test]
async fn a_dumb_terminal_gets_a_line_for_each_change() {
    let stage = stage(DIAMOND).with_variable("TERM", "dumb");
    let mut terminal = run(&stage, SIZE);
    let code = terminal.ended("red has done it").await;
    let all = terminal.all();
    assert_eq!(code, Some(0), "{all:#?}");
    assert_eq!(count(&all, "left is running (blue)"), 1, "{all:#?}");
    assert!(!terminal.sent().contains('\x1b'), "{all:#?}");
}
