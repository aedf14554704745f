//! `run`: a workflow from a plan file at the command line, played by a script.

use cli_team_bridge::bus::rules::{Description, NameChoice};
use cli_team_bridge::bus::state::State;
use cli_team_bridge::bus::{Joining, Membership};
use cli_team_bridge::domain::member::{Departure, MemberKind};
use cli_team_bridge::domain::name::Name;
use cli_team_bridge::domain::workflow::WorkflowStatus;
use cli_team_bridge::supervisor::{Exit, Pipes, Supervised};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{DEADLINE, Stage, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ hang = true }]
[[agents.default.turns]]
when = "Your task: linger"
steps = [{ sleep_ms = 1500 }, { say = "{{name}} has done it" }]
[[agents.default.turns]]
when = "Your task: fail"
steps = [{ fail = "no way" }]
[[agents.default.turns]]
when = "Your task: delete"
steps = [{ ask_permission = "delete the chapter", kind = "delete" }, { say = "{{name}} was answered" }]
[[agents.default.turns]]
when = "Answer with JSON alone"
steps = [{ say = "{\"places\": [{\"file\": \"a\", \"line\": 1, \"claim\": \"c\"}], \"real\": 1, \"list\": [\"a\"]}" }]
[[agents.default.turns]]
steps = [{ say = "{{name}} has done it" }]
"#;

/// Three agents that are not installed here.
const PLAN: &str = r#"
name = "review"
[[steps]]
name = "security"
agent = "red"
prompt = "look"
[[steps]]
name = "style"
agent = "blue"
prompt = "look"
[[steps]]
name = "summary"
agent = "green"
prompt = "{{steps.security.output}} {{steps.style.output}}"
depends_on = ["security", "style"]
"#;

fn stage(plan: &str) -> Stage {
    Stage::new(SCRIPT).with_plan(plan)
}

/// Runs the plan with further arguments; returns its stdout, its exit, and its stderr.
async fn run(stage: &Stage, more: &[&str]) -> (String, Exit, String) {
    let plan = stage.project().join("plan.toml");
    let mut arguments = vec!["run", plan.to_str().unwrap()];
    arguments.extend(more);
    let (child, mut pipes) = stage.start(&arguments).await;
    let mut printed = String::new();
    let reading = pipes.stdout.read_to_string(&mut printed);
    tokio::time::timeout(DEADLINE, reading).await.unwrap().unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    (printed, exit, child.stderr_tail())
}

fn script(stage: &Stage) -> String {
    stage.home().join("script.toml").to_str().unwrap().to_owned()
}

/// An agent may end well after its user has refused what it asked.
#[tokio::test]
async fn the_report_names_calls_that_failed_in_steps_that_are_done() {
    let plan = "name = \"p\"\n[[steps]]\nname = \"remove\"\nagent = \"red\"\nprompt = \"delete\"\n";
    let profile = "[agents.red]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\n\
                   env_pass = [\"BRIDGE_SCRIPT\"]\npermissions = \"deny\"\n";
    let stage = stage(plan).with_profiles(profile);
    let (printed, exit, said) = run(&stage, &[]).await;
    assert_eq!(exit.code, Some(0), "{said}");
    let report = "Not all that these steps tried has worked:\n  remove  \"delete the chapter\": ";
    assert!(printed.contains(report), "{printed}");
}

#[tokio::test]
async fn a_plan_is_run_to_its_end_by_a_script_and_reported() {
    let stage = stage(PLAN);
    let script = script(&stage);
    let (printed, exit, stderr) = run(&stage, &["--scripted", &script]).await;
    assert_eq!(exit.code, Some(0), "{stderr}");
    assert!(printed.starts_with("review (wf-"), "{printed}");
    assert!(printed.contains(") is done\n  security  done"), "{printed}");
    assert!(printed.ends_with("\nsummary:\ngreen has done it\n"), "{printed}");
    for line in ["security is running (red)", "style is done", "summary is running (green)"] {
        assert!(stderr.contains(line), "{line}: {stderr}");
    }
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_plan_that_fails_says_why_and_the_program_fails_too() {
    let stage = stage(&PLAN.replacen("prompt = \"look\"", "prompt = \"fail\"", 1));
    let script = script(&stage);
    let (printed, exit, stderr) = run(&stage, &["--scripted", &script]).await;
    assert_eq!(exit.code, Some(1));
    assert!(printed.contains("  summary   skipped"), "{printed}");
    assert!(stderr.contains("security has failed: "), "{stderr}");
    assert!(stderr.ends_with("error: the workflow has failed\n"), "{stderr}");
}

/// A fallback, a retry, a gate without output, and a step that is named like its agent.
const STUMBLING: &str = r#"
name = "stumbling"
[[steps]]
name = "a"
agent = "red"
fallback = ["blue"]
prompt = "die"
[[steps]]
agent = "green"
prompt = "die"
[[steps]]
name = "c"
agent = "grey"
prompt = "look"
gate = ["sh", "-c", "exit 3"]
[[steps]]
name = "d"
agent = "black"
prompt = "fail"
retries = 1
"#;

#[tokio::test]
async fn a_run_says_why_each_attempt_failed_when_it_does_and_at_the_end() {
    let script = SCRIPT.replacen(
        "[[agents.default.turns]]",
        "[[agents.blue.turns]]\nsteps = [{ say = \"saved\" }]\n\
         [[agents.default.turns]]\nwhen = \"Your task: die\"\nsteps = [{ crash = 3 }]\n\
         [[agents.default.turns]]",
        1,
    );
    let stage = Stage::new(&script).with_plan(STUMBLING);
    let script = self::script(&stage);
    let (printed, exit, stderr) = run(&stage, &["--scripted", &script]).await;
    assert_eq!(exit.code, Some(1), "{stderr}");
    let has_line = |said: &str, line: &str| said.lines().any(|said| said.ends_with(line));
    for line in [
        " s  a: attempt 1 by red failed (crashed): its agent ended: exit code 3",
        " s  a is running again (blue, attempt 2)",
        " s  a is done",
        " s  green has failed: its agent ended: exit code 3",
        r#" s  c has failed: ["sh", "-c", "exit 3"] ended with exit code 3 and printed nothing"#,
    ] {
        assert!(has_line(&stderr, line), "{line}: {stderr}");
    }
    for line in [
        "      attempt 1 by red failed (crashed): its agent ended: exit code 3",
        "      its agent ended: exit code 3",
        r#"      ["sh", "-c", "exit 3"] ended with exit code 3 and printed nothing"#,
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }
    let of_d = printed.lines().find(|line| line.starts_with("  d ")).expect(&printed);
    assert!(of_d.ends_with("  black  2 attempts"), "{printed}");
    let retried = "attempt 1 by black failed (agent): the agent refused `session/prompt`: no way";
    assert!(printed.contains(&format!("\n      {retried}")), "{printed}");
    assert!(stderr.contains(&format!(" s  d: {retried}")), "{stderr}");
}

#[tokio::test]
async fn no_text_of_an_agent_moves_the_cursor_of_the_terminal() {
    let odd = "\\u001b]0;T\\u0007\\u001b[2J\\u009b31m\\r\\u202ex\\b\\U000e0041";
    let script = format!(
        "[[agents.default.turns]]\nwhen = \"fail\"\nsteps = [{{ fail = \"no {odd}\\n    0.0 s  b is done\" }}]\n\
         [[agents.default.turns]]\nsteps = [{{ say = \"one{odd}\\ntwo\" }}]\n"
    );
    let stage = Stage::new(&script);
    let file = stage.project().join("plan.toml");
    let script = self::script(&stage);
    let plan = "name = \"w\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"look\"\n";
    std::fs::write(&file, plan).unwrap();
    let (printed, ..) = run(&stage, &["--scripted", &script]).await;
    std::fs::write(&file, plan.replace("look", "fail")).unwrap();
    let (_, _, stderr) = run(&stage, &["--scripted", &script]).await;
    assert!(printed.contains("\ntwo\n"), "{printed}");
    assert!(stderr.contains("a has failed: "), "{stderr}");
    assert!(!stderr.lines().any(|line| line.trim() == "0.0 s  b is done"), "{stderr}");
    let moves = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{e0041}');
    assert!(!printed.contains(moves), "{printed:?}");
    assert!(!stderr.contains(moves), "{stderr:?}");
}

#[tokio::test]
async fn a_plan_can_be_checked_and_drawn_without_running_it() {
    let stage = stage(PLAN);
    let script = script(&stage);
    let (order, exit, _) = run(&stage, &["--scripted", &script, "--dry-run"]).await;
    assert_eq!(exit.code, Some(0));
    assert_eq!(
        order,
        "review: 3 steps\n  1. security (red), style (blue), in parallel\n  2. summary (green)\n"
    );
    let (graph, ..) = run(&stage, &["--scripted", &script, "--graph", "mermaid"]).await;
    assert!(graph.starts_with("graph TD\n"), "{graph}");
    let (_, exit, stderr) = run(&stage, &["--dry-run"]).await;
    assert_eq!(exit.code, Some(1));
    assert!(
        stderr.contains("plan.toml:5:1: agent: `red` is neither a live agent nor a profile"),
        "{stderr}"
    );
    assert!(!stage.bus().exists(), "nothing of it touches the bus");
}

#[tokio::test]
async fn an_interrupted_run_can_be_resumed() {
    let stage = stage(&PLAN.replacen("\"{{steps", "\"hang {{steps", 1))
        .with_scripted_profiles(&["red", "blue", "green"]);
    let plan = stage.project().join("plan.toml");
    let (child, pipes) = stage.start(&["run", plan.to_str().unwrap()]).await;
    crate::support::until("the last step has begun", || {
        stage.bus().join("log").exists() && stage.events_of("task_started").len() == 3
    })
    .await;
    let pid = Pid::from_raw(i32::try_from(child.pid()).unwrap());
    kill(pid, Signal::SIGKILL).unwrap();
    tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    drop(pipes);
    let id = stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned();
    // From now on no agent hangs, and one that continues a step says so.
    std::fs::write(
        stage.home().join("script.toml"),
        SCRIPT
            .replace("Your task: hang", "This step was started before")
            .replace("hang = true", "say = \"awake\""),
    )
    .unwrap();
    let (child, pipes) = stage.start(&["run", "--resume", &id]).await;
    let mut lines = BufReader::new(pipes.stdout).lines();
    let mut printed = Vec::new();
    while let Some(line) = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap()
    {
        printed.push(line);
    }
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    assert_eq!(exit.code, Some(0), "{}", child.stderr_tail());
    assert_eq!(printed.last().unwrap(), "awake");
    assert_eq!(stage.events_of("step_started").len(), 4, "only the last step twice");
}

#[tokio::test]
async fn a_permission_request_is_reported_without_a_terminal() {
    let plan = PLAN.replacen("prompt = \"look\"", "prompt = \"delete\"", 1);
    let stage = stage(&plan);
    let script = script(&stage);
    let answering = async {
        until("an agent asks", || !stage.events_of("permission_asked").is_empty()).await;
        let lead = stage.orchestrator().await;
        let asked = stage.events_of("permission_asked")[0]["id"].clone();
        let answer = json!({ "permission_id": asked, "decision": "reject" });
        lead.call("answer_permission", answer).await;
        lead.close().await;
    };
    let arguments = ["--scripted", &script];
    let (ran, ()) = tokio::join!(run(&stage, &arguments), answering);
    let (_, exit, stderr) = ran;
    assert_eq!(exit.code, Some(0), "{stderr}");
    let line = r#"red asks for permission (delete): "delete the chapter". There is no terminal to ask at. "#;
    assert_eq!(stderr.matches(line).count(), 1, "{stderr}");
}

/// Every example names built-in agents, can be drawn without any program, and succeeds when its script plays it.
#[tokio::test]
async fn the_examples_are_plans_that_their_scripts_play() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/workflows");
    let mut seen = 0;
    for example in std::fs::read_dir(examples).unwrap() {
        let path = example.unwrap().path();
        let script = path.with_extension("script.toml");
        if path.to_str().unwrap().ends_with(".script.toml") {
            continue;
        }
        let plan = std::fs::read_to_string(&path).unwrap();
        for agent in agents_of(&plan) {
            let profile = format!("{}/agents/{agent}.toml", env!("CARGO_MANIFEST_DIR"));
            let is_built_in = std::path::Path::new(&profile).exists();
            assert!(is_built_in, "{}: {agent}", path.display());
        }
        let bare = stage(&plan).with_variable("PATH", "/nowhere");
        let (drawn, exit, warned) = run(&bare, &["--dry-run"]).await;
        assert_eq!(exit.code, Some(0), "{}: {warned}", path.display());
        assert!(drawn.contains("\n  1. "), "{drawn}");
        let agents: std::collections::BTreeSet<_> = agents_of(&plan).into_iter().collect();
        for agent in agents {
            let warning = format!("warning: the profile `{agent}` needs the program ");
            assert_eq!(warned.matches(&warning).count(), 1, "{warned}");
        }
        // The gate would test this very project.
        let plan = plan.replace(r#"gate = ["cargo", "test"]"#, r#"gate = ["true"]"#);
        let stage = stage(&plan);
        let arguments = ["--scripted", script.to_str().unwrap(), "--yes"];
        let (printed, exit, stderr) = run(&stage, &arguments).await;
        assert_eq!(exit.code, Some(0), "{}: {stderr}", path.display());
        assert!(printed.contains(") is done\n"), "{printed}");
        assert!(stderr.contains("\nTranscripts"), "{stderr}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// A judge that knows the contestants is not impartial.
#[tokio::test]
async fn the_judge_of_an_example_does_not_learn_the_authors_of_the_answers() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/workflows");
    let plan = std::fs::read_to_string(format!("{examples}/compare.toml")).unwrap();
    let stage = stage(&plan);
    let script = format!("{examples}/compare.script.toml");
    let (_, exit, stderr) = run(&stage, &["--scripted", &script]).await;
    assert_eq!(exit.code, Some(0), "{stderr}");
    let tasks = std::fs::read_dir(stage.bus().join("tasks")).unwrap();
    let transcripts = tasks.map(|task| std::fs::read_to_string(task.unwrap().path()).unwrap());
    let judged: Vec<_> = transcripts.filter(|text| text.contains("Three engineers")).collect();
    let [judged] = &judged[..] else { panic!("one task judges: {judged:?}") };
    let task = judged.split("Three engineers").nth(1).unwrap();
    assert!(task.contains("Nothing tests what happens when the disk is full."), "{judged}");
    for contestant in ["codex", "claude", "gemini"] {
        assert!(!task.contains(contestant), "{contestant}: {judged}");
    }
}

#[tokio::test]
async fn resume_without_an_id_lists_the_workflows_that_can_be_resumed() {
    let stage = stage(&PLAN.replacen("\"{{steps", "\"hang {{steps", 1))
        .with_scripted_profiles(&["red", "blue", "green"]);
    let project = stage.project().to_str().unwrap().to_owned();
    let listed = async || {
        let (exit, said) = stage.ended(&["run", "--project", &project, "--resume"], None).await;
        assert_eq!(exit.code, Some(0), "{said}");
        said
    };
    assert!(listed().await.contains("no workflow of "), "there is no bus yet");
    let plan = stage.project().join("plan.toml");
    let (child, pipes) = stage.start(&["run", plan.to_str().unwrap()]).await;
    until("the last step has begun", || {
        stage.bus().join("log").exists() && stage.events_of("task_started").len() == 3
    })
    .await;
    assert!(listed().await.contains("no workflow of "), "it is led");
    let id = kill_run(&stage, child, pipes).await;
    let said = listed().await;
    let line = said.lines().find(|line| line.starts_with(&id)).expect(&said);
    assert!(line.ends_with("  2 of 3 steps done  review"), "{line}");
}

#[tokio::test]
async fn a_mistake_in_a_script_is_found_before_anything_starts() {
    let stage = stage(PLAN);
    let script = stage.home().join("wrong.toml");
    std::fs::write(&script, "[[agents.default.turns]]\nsteps = [{ sya = \"x\" }]\n").unwrap();
    let (_, exit, said) = run(&stage, &["--scripted", script.to_str().unwrap()]).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("wrong.toml:2:") && said.contains("sya"), "{said}");
    assert!(!stage.bus().exists(), "{said}");
}

/// Kills a run, and returns its workflow's id.
async fn kill_run(stage: &Stage, child: Supervised, pipes: Pipes) -> String {
    kill(Pid::from_raw(i32::try_from(child.pid()).unwrap()), Signal::SIGKILL).unwrap();
    tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    drop(pipes);
    stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned()
}

/// Real agents would take up steps that a script has played, and work on invented results.
#[tokio::test]
async fn a_run_with_a_script_is_not_resumed_with_real_agents() {
    let stage = stage(&PLAN.replacen("\"{{steps", "\"hang {{steps", 1));
    let script = script(&stage);
    let plan = stage.project().join("plan.toml");
    let arguments = ["run", plan.to_str().unwrap(), "--scripted", &script];
    let (child, pipes) = stage.start(&arguments).await;
    until("the last step has begun", || {
        stage.bus().join("log").exists() && stage.events_of("task_started").len() == 3
    })
    .await;
    let id = kill_run(&stage, child, pipes).await;
    let project = stage.project().to_str().unwrap().to_owned();
    let (_, said) = stage.ended(&["run", "--project", &project, "--resume"], None).await;
    assert!(said.contains("no workflow of "), "{said}");
    let (exit, said) = stage.ended(&["run", "--project", &project, "--resume", &id], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("was a trial, in which a script played the agents"), "{said}");
    assert!(said.contains("hint: run its plan again"), "{said}");
    assert_eq!(stage.events_of("step_started").len(), 3, "nothing goes on");
}

/// Returns the names of agents in a plan that is written like the examples.
fn agents_of(plan: &str) -> Vec<&str> {
    let lines = plan.lines();
    let naming =
        lines.filter(|line| line.starts_with("agent = ") || line.starts_with("fallback = "));
    naming.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

/// After Ctrl-Z, or while a laptop sleeps, other processes take the run for hung and interrupt its workflow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_run_goes_on_by_itself() {
    let stage = stage(&PLAN.replace("prompt = \"look\"", "prompt = \"linger\""));
    let plan = stage.project().join("plan.toml");
    let script = script(&stage);
    let arguments = ["run", plan.to_str().unwrap(), "--scripted", &script];
    let (child, mut pipes) = stage.start(&arguments).await;
    let bus = stage.bus();
    until("there is a bus", || bus.join("agents.json").exists()).await;
    let watching = crate::bus::hung_process::open(&bus);
    let begun = |state: &State| !state.workflows().is_empty();
    crate::bus::every_engine::until(&watching, begun).await;
    let pid = Pid::from_raw(i32::try_from(child.pid()).unwrap());
    // Stopped in the middle of a write, it would keep every other process from writing.
    let watcher = loop {
        kill(pid, Signal::SIGSTOP).unwrap();
        let joining = Joining {
            choice: NameChoice::Chosen(Name::parse("watcher").unwrap()),
            kind: MemberKind::Peer,
            roles: Vec::new(),
            description: Description::default(),
        };
        match Membership::join(&watching, joining).await {
            Ok(watcher) => break watcher,
            Err(busy) => println!("{busy}"),
        }
        kill(pid, Signal::SIGCONT).unwrap();
    };
    let is_interrupted = |state: &State| {
        let flows = state.workflows();
        flows.iter().all(|flow| flow.status == WorkflowStatus::Interrupted)
    };
    crate::bus::every_engine::until(&watching, is_interrupted).await;
    // The watcher leaves: it expects faster heartbeats than the run sends.
    watcher.leave(Departure::Closed).await.unwrap();
    watching.close().await;
    kill(pid, Signal::SIGCONT).unwrap();
    let mut printed = String::new();
    let reading = pipes.stdout.read_to_string(&mut printed);
    tokio::time::timeout(DEADLINE, reading).await.unwrap().unwrap();
    assert_eq!(child.exited().await.code, Some(0), "{printed}");
}
