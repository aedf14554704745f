//! What commands say to a person who does not know them yet: sentences instead of log lines, numbers with the right noun, and the next
//! step.

use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{DEADLINE, Stage, Terminal, until};
use crate::trust::gates_of_plans::approve_plan;

/// An agent that ends only by force, and one that says one thing.
const SCRIPT: &str = r#"
[agents.red.start]
ignore_term = true
ignore_eof = true
[[agents.red.turns]]
steps = [{ ignore_cancel = true }, { hang = true }]
[[agents.blue.turns]]
steps = [{ say = "done" }]
"#;

const PLAN: &str = r#"
name = "one"
[[steps]]
name = "only"
agent = "blue"
prompt = "look"
"#;

const SIZE: (u16, u16) = (24, 120);

fn stage(plan: &str) -> Stage {
    Stage::new(SCRIPT).with_plan(plan).with_scripted_profiles(&["red", "blue"])
}

/// Runs a command in the stage's project to its end; returns its exit code, and what it said.
async fn ended(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let (exit, said) = stage.ended(arguments, None).await;
    (exit.code, said)
}

fn is_sentence(said: &str) -> bool {
    // A log line has a level, and the module that wrote it.
    !said.contains("WARN") && !said.contains("ERROR") && !said.contains("cli_team_bridge::")
}

fn path<'p>(stage: &'p Stage, name: &'p str) -> String {
    stage.project().join(name).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_second_signal_and_a_warning_of_a_run_are_sentences_and_no_log_lines() {
    let stage = stage(&PLAN.replace("blue", "red"))
        .with_project_file("[workflows]\nresume = \"auto\"\n[limits]\nagents = 30\n");
    let (child, _pipes) = stage.start(&["run", &path(&stage, "plan.toml")]).await;
    until("the agent is in its turn", || !stage.events_of("task_started").is_empty()).await;
    let pid = Pid::from_raw(i32::try_from(child.pid()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    until("the agent is asked to end", || !stage.events_of("stop_asked").is_empty()).await;
    kill(pid, Signal::SIGINT).unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    let said = child.stderr_tail();
    assert_eq!(exit.code, Some(1), "{said}");
    let killing = "SIGINT: killing all agents; another signal ends this process at once";
    assert!(said.lines().any(|line| line == killing), "{said}");
    assert!(said.contains("warning: the project's own bridge.toml would run programs"), "{said}");
    assert!(is_sentence(&said), "{said}");
}

#[tokio::test]
async fn a_resume_that_fails_says_in_sentences_what_can_be_resumed() {
    let stage = stage(PLAN).with_project_file("[limits]\nagents = 30\n");
    let project = path(&stage, "");
    let arguments = ["run", "--project", &project, "--resume", "wf-k3j7x2abq5wt"];
    let (code, said) = ended(&stage, &arguments).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("error: there is no workflow `wf-k3j7x2abq5wt` in this project"),
        "{said}"
    );
    assert!(said.contains("hint: `cli-team-bridge run --resume` lists the workflows"), "{said}");
    assert!(said.contains("warning: the project's own bridge.toml"), "{said}");
    assert!(is_sentence(&said), "{said}");
}

/// A project that is only looked at stays as it was.
#[tokio::test]
async fn a_run_that_is_refused_creates_no_bus() {
    let unknown_agent = stage(&PLAN.replace("blue", "bleu"));
    let unapproved = stage(&PLAN.replace("blue", "own"))
        .with_project_file("[agents.own]\ncommand = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n");
    let id = "wf-k3j7x2abq5wt";
    for (stage, resume, words) in [
        (&unknown_agent, None, "`bleu` is neither a live agent nor a profile"),
        (&unknown_agent, Some(id), "there is no workflow `wf-k3j7x2abq5wt`"),
        (&unapproved, None, "`own` was not started"),
    ] {
        let (project, plan) = (path(stage, ""), path(stage, "plan.toml"));
        let what = resume.map_or(vec![plan.as_str()], |id| vec!["--resume", id]);
        let (code, said) =
            ended(stage, &[&["run", "--project", &project], &what[..]].concat()).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!stage.bus().exists(), "{said}");
    }
    // Where there is a bus, it decides, and one that another user or machine has created stays in its place.
    let (project, plan) = (path(&unknown_agent, ""), path(&unknown_agent, "plan.toml"));
    let lead = unknown_agent.orchestrator().await;
    lead.close().await;
    let copy = unknown_agent.copied();
    let before = std::fs::read_dir(copy.project().join(".claude")).unwrap().count();
    for what in [&[plan.as_str()][..], &["--resume", id]] {
        let (code, said) =
            ended(&unknown_agent, &[&["run", "--project", &project], what].concat()).await;
        assert_eq!(code, Some(1), "{said}");
        let copied = path(&copy, "");
        let (code, said) = ended(&copy, &[&["run", "--project", &copied], what].concat()).await;
        assert_eq!(code, Some(1), "{said}");
    }
    let after = std::fs::read_dir(copy.project().join(".claude")).unwrap().count();
    assert_eq!(after, before, "nothing was set aside");
}

/// Elsewhere the same refusal is for a model, whose user is somebody else.
#[tokio::test]
async fn a_run_without_approval_speaks_to_the_user() {
    let stage = stage(&PLAN.replace("blue", "own"))
        .with_project_file("[agents.own]\ncommand = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n");
    let (project, plan) = (path(&stage, ""), path(&stage, "plan.toml"));
    let (code, said) = ended(&stage, &["run", "--project", &project, &plan]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("error: `own` was not started: it is defined by the project's"),
        "{said}"
    );
    assert!(said.contains(", and you have not approved that file\n"), "{said}");
    let project = stage.project().display();
    let hint = format!("hint: review and approve it with `cli-team-bridge trust {project}`\n");
    assert!(said.contains(&hint), "{said}");
    assert!(!said.contains("your user") && !said.contains("The user"), "{said}");
    // In the project the short command suffices.
    let mut terminal = Terminal::run_in(&stage, stage.project(), &["run", "plan.toml"], SIZE);
    assert_eq!(terminal.ended("approve it with `cli-team-bridge trust`").await, Some(1));

    let (_, shown) = ended(&stage, &["trust", &path(&stage, "")]).await;
    let hash = shown.split("--yes ").nth(1).expect(&shown).trim();
    let (code, said) = ended(&stage, &["trust", &path(&stage, ""), "--yes", hash]).await;
    assert_eq!(code, Some(0), "{said}");
    let approvals = stage.home().join(".local/state/cli-team-bridge/trusted");
    std::fs::set_permissions(&approvals, std::fs::Permissions::from_mode(0o770)).unwrap();
    for command in
        [&["run", "--project", &path(&stage, ""), &plan][..], &["trust", &path(&stage, "")]]
    {
        let (code, said) = ended(&stage, command).await;
        assert_eq!(code, Some(1), "{said}");
        let why = "your approval of that file cannot be read from your state directory: others may";
        assert!(said.contains(why) && said.contains("hint: `cli-team-bridge doctor`"), "{said}");
    }
    std::fs::set_permissions(&approvals, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_workflow_whose_plan_needs_an_approval_is_not_resumed_and_says_so_to_the_user() {
    let plan = PLAN.to_owned() + "approve = \"human\"\ngate = [\"true\"]\n";
    let stage = stage(&plan);
    let plan = path(&stage, "plan.toml");
    approve_plan(&stage, "plan.toml").await;
    let lead = stage.orchestrator().await;
    let created = lead.call("create_workflow", json!({ "file": "plan.toml" })).await;
    let id = created["workflow_id"].as_str().unwrap();
    lead.close().await;
    ended(&stage, &["trust", &plan, "--revoke"]).await;
    let project = path(&stage, "");
    let resume = ["run", "--project", &project, "--resume", id];
    let (code, said) = ended(&stage, &resume).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the plan \"plan.toml\" was not run: "), "{said}");
    assert!(said.contains(", and you have not approved that file\n"), "{said}");
    // It is named as seen from the directory of the command, which is above the project.
    assert!(said.contains("with `cli-team-bridge trust project/plan.toml`\n"), "{said}");
    std::fs::write(&plan, PLAN).unwrap();
    let (code, said) = ended(&stage, &resume).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("your approval of the original does not count here\n"), "{said}");
    assert!(said.contains("hint: run the plan as it is now"), "{said}");
}

#[tokio::test]
async fn a_plan_that_does_not_exist_gets_the_nearest_that_does() {
    let stage = stage(PLAN);
    std::fs::write(path(&stage, "plan.script.toml"), SCRIPT).unwrap();
    let (project, plan) = (path(&stage, ""), path(&stage, "plan.toml"));
    let missing = async |arguments: &[&str]| {
        let (code, said) =
            ended(&stage, &[&["run", "--project", &project], arguments].concat()).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(!said.contains("os error"), "{said}");
        said
    };
    let said = missing(&[&path(&stage, "pln.toml")]).await;
    let expected = format!(
        "error: there is no plan {:?}\nhint: did you mean {plan:?}?\n",
        path(&stage, "pln.toml")
    );
    assert_eq!(said, expected);
    let said = missing(&["zebra.toml"]).await;
    assert_eq!(
        said,
        "error: there is no plan \"zebra.toml\"\nhint: name the plan by its path from here; a plan is a TOML file of `[[steps]]`, each \
         with `name`, `agent` and `prompt`\n"
    );
    let said = missing(&["nowhere/plan.toml"]).await;
    let expected =
        "error: there is no plan \"nowhere/plan.toml\": there is no directory \"nowhere\"\n";
    assert!(said.starts_with(expected), "{said}");
    let said = missing(&[&plan, "--scripted", &path(&stage, "plan.scrpt.toml")]).await;
    assert!(said.contains("error: there is no script "), "{said}");
    assert!(said.contains("/plan.script.toml\""), "{said}");
}

#[tokio::test]
async fn an_orchestrator_still_writes_a_log() {
    let stage = stage(PLAN).with_project_file("[limits]\nagents = 30\n");
    let (child, pipes) = stage.start(&["orchestrator"]).await;
    drop(pipes.stdin);
    tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    let said = child.stderr_tail();
    assert!(said.contains(" WARN ") && said.contains("the project's own bridge.toml"), "{said}");
    assert!(!said.contains("This is an MCP server"), "its client reads no greeting: {said}");
}

#[tokio::test]
async fn one_step_is_one_step_everywhere() {
    let stage = stage(PLAN);
    let plan = path(&stage, "plan.toml");
    let project = path(&stage, "");
    let (_, drawn) = ended(&stage, &["run", &plan, "--project", &project, "--dry-run"]).await;
    assert!(drawn.starts_with("one: 1 step\n"), "{drawn}");
    let mut terminal = Terminal::run(&stage, &["run", &plan], SIZE);
    assert_eq!(terminal.ended("Transcripts:").await, Some(0));
    let all = terminal.all();
    assert!(all[0].contains("1 of 1 step done"), "{all:#?}");
    let sent = stage.events_of("message_sent");
    let texts: Vec<_> = sent.iter().filter_map(|sent| sent["body"]["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("is done: 1 of 1 step done")), "{texts:?}");
}

#[tokio::test]
async fn the_end_of_a_run_names_the_transcript_of_each_step() {
    let more = "[[steps]]\nname = \"second\"\nagent = \"blue\"\nprompt = \"look\"\ndepends_on = [\"only\"]\n";
    let stage = stage(&(PLAN.to_owned() + more));
    let project = path(&stage, "");
    let arguments = ["run", &path(&stage, "plan.toml"), "--project", &project];
    let (code, said) = ended(&stage, &arguments).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, below) = said.split_once("\nTranscripts:\n").expect(&said);
    for (step, line) in ["only", "second"].into_iter().zip(below.lines()) {
        let (name, path) = line.trim().split_once(' ').expect(line);
        assert_eq!(name, step, "{below}");
        let begun = stage.events_of("step_started").into_iter().find(|begun| begun["step"] == step);
        let task = begun.unwrap()["task"].as_str().unwrap().to_owned();
        assert!(path.ends_with(&format!("{task}.jsonl")), "{line}");
        // It is shown from the directory of the command, which is above the project.
        let above = stage.project().parent().unwrap();
        let text = std::fs::read_to_string(above.join(path.trim())).unwrap();
        assert!(text.contains("done"), "{text}");
    }
}

#[tokio::test]
async fn without_a_terminal_the_lines_of_an_approval_ask_nobody_at_one() {
    let plan = PLAN.to_owned() + "approve = \"human\"\n";
    let given = stage(&plan);
    let (child, _pipes) = given.start(&["run", "--yes", &path(&given, "plan.toml")]).await;
    let exit = tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
    let said = child.stderr_tail();
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("only is approved"), "{said}");
    assert!(!said.contains("answer") && !said.contains("retry"), "{said}");

    let stage = stage(&plan);
    let (child, _pipes) = stage.start(&["run", &path(&stage, "plan.toml")]).await;
    until("it waits", || !stage.events_of("step_asked").is_empty()).await;
    until("it says so", || child.stderr_tail().contains("waits for approval")).await;
    let said = child.stderr_tail();
    assert!(
        said.contains("approval: answer with `cli-team-bridge allow` in another terminal"),
        "{said}"
    );
    let pid = Pid::from_raw(i32::try_from(child.pid()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    tokio::time::timeout(DEADLINE, child.exited()).await.unwrap();
}

#[tokio::test]
async fn trust_says_why_there_is_nothing_to_approve() {
    let stage = stage(PLAN);
    let (project, plan) = (path(&stage, ""), path(&stage, "plan.toml"));
    let (code, said) = ended(&stage, &["trust", &plan]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("plan.toml\" has no gates, so it runs no programs."), "{said}");
    let (code, said) = ended(&stage, &["trust", &project]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\" has no `.claude/bridge.toml`."), "{said}");
    let (code, said) = ended(&stage, &["trust", &path(&stage, "plna.toml")]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: there is no file or directory "), "{said}");
    assert!(said.contains(&format!("hint: did you mean {plan:?}?")), "{said}");
    let (_, said) = ended(&stage, &["trust", &path(&stage, "zebra")]).await;
    assert!(said.contains("hint: name a plan file, or the directory of a project"), "{said}");
    let stage = stage.with_project_file("[limits]\nagents = 1\n");
    let (code, said) = ended(&stage, &["trust", &project]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("bridge.toml\" runs no programs and raises no limits."), "{said}");
    let (code, said) = ended(&stage, &["trust", &path(&stage, ".claude/bridge.toml")]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("hint: name the project's directory"), "{said}");
}

#[tokio::test]
async fn a_script_in_place_of_its_plan_is_named_with_the_plan() {
    let stage = stage(PLAN);
    let script = path(&stage, "plan.script.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    let project = path(&stage, "");
    for command in [&["run", "--project", &project, &script][..], &["trust", &script]] {
        let (code, said) = ended(&stage, command).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("plan.script.toml\" is a script for --scripted, not a plan"),
            "{said}"
        );
        let plan = path(&stage, "plan.toml");
        assert!(
            said.contains(&format!("hint: the plan is {plan:?}: `cli-team-bridge run ")),
            "{said}"
        );
    }
    let alone = path(&stage, "team.toml");
    std::fs::write(&alone, SCRIPT).unwrap();
    let (_, said) = ended(&stage, &["run", "--project", &project, &alone]).await;
    assert!(said.contains("hint: name the plan: `cli-team-bridge run PLAN --scripted "), "{said}");
}

#[tokio::test]
async fn the_tree_says_that_a_step_waits_for_the_person() {
    let stage = stage(&(PLAN.to_owned() + "approve = \"human\"\n"));
    let plan = path(&stage, "plan.toml");
    let mut terminal = Terminal::run(&stage, &["run", &plan], SIZE);
    terminal.until_shows("waits for you to approve it").await;
    terminal.until_shows("Start `only`? [y/N]").await;
    terminal.press("y\r");
    assert_eq!(terminal.ended("Transcripts:").await, Some(0));
}

#[tokio::test]
async fn an_mcp_server_at_a_terminal_says_what_it_is_and_ends_with_its_input() {
    let stage = stage(PLAN);
    for command in [&["orchestrator"][..], &["peer", "--name", "ann"], &["agent"]] {
        let project = path(&stage, "");
        let of_project = ["--project", &project];
        let more = if command == ["agent"] { &[][..] } else { &of_project };
        let mut terminal = Terminal::run_with(&stage, &[command, more].concat(), SIZE);
        terminal.until_shows("This is an MCP server, which waits for its client on stdin").await;
        terminal.until_shows("`cli-team-bridge setup`").await;
        // Ctrl-D
        terminal.press("\u{4}");
        assert_eq!(terminal.ended("`cli-team-bridge setup`").await, Some(0), "{command:?}");
        let all = terminal.all();
        assert!(is_sentence(&all.join("\n")), "{all:#?}");
    }
}

#[tokio::test]
async fn the_demo_and_a_removed_setup_name_the_next_step() {
    let stage = stage(PLAN);
    let (code, said) = ended(&stage, &["demo"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\nnext: install Claude Code or another client, then run"), "{said}");
    let (code, said) = ended(&stage, &["setup", "--remove", "--yes"]).await;
    assert_eq!(code, Some(0), "{said}");
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    let next = format!("\nnext: `{program} setup` connects your clients.");
    assert!(said.contains(&next), "it is not on PATH: {said}");
}

#[tokio::test]
async fn a_demo_that_is_kept_is_looked_at_like_any_project() {
    let stage = stage(PLAN);
    let (code, said) = ended(&stage, &["demo", "--keep"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, kept) = said.split_once("cli-team-bridge-demo-").unwrap();
    let id = kept.split(['/', '`', '"', '\'', ' ', '\n']).next().unwrap();
    let project = std::env::temp_dir().join(format!("cli-team-bridge-demo-{id}"));
    let (code, said) = ended(&stage, &["tasks", "--project", project.to_str().unwrap()]).await;
    std::fs::remove_dir_all(&project).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("done"), "{said}");
}
