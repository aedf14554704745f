//! Invalid input is refused with a sentence to act on, and the process lives on.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::support::{Member, Raw, Stage};

async fn check(member: &Member, tool: &str, arguments: Value, sentence: &str) {
    assert_eq!(member.refused(tool, arguments).await, sentence);
}

#[tokio::test]
async fn hostile_and_unknown_names_are_refused_with_the_nearest() {
    let stage = Stage::new("[agents.default]");
    let (lead, ann) = (stage.orchestrator().await, stage.peer("annabel").await);
    let send = |to: &str| json!({ "to": to, "content": "x" });
    let no_name = |name: &str| {
        format!(
            "{name:?} is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit"
        )
    };
    for name in ["../../etc/passwd", "", "a b", "\u{1b}[31m", "-rf"] {
        let unknown = format!("no member is named `{name}`: list_agents shows the members");
        check(&lead, "send_message", send(name), &unknown).await;
        check(&lead, "kill_agent", json!({ "agent": name }), &unknown).await;
        let new = json!({ "agent": "scripted", "name": name, "prompt": "x" });
        check(&lead, "assign_task", new, &no_name(name)).await;
    }
    for name in ["all", "bridge", "human", "you", "s12"] {
        let new = json!({ "agent": "scripted", "name": name, "prompt": "x" });
        let sentence = format!("`{name}` is reserved: choose another name");
        check(&lead, "assign_task", new, &sentence).await;
    }
    let long = "x".repeat(100_000);
    let refused = lead.refused("send_message", send(&long)).await;
    assert!(refused.len() < 400, "{} bytes", refused.len());

    check(
        &lead,
        "send_message",
        send("anabel"),
        "no member is named `anabel`: did you mean `annabel`?",
    )
    .await;
    check(
        &lead,
        "wait_for_message",
        json!({ "from": "anabel" }),
        "no member is named `anabel`: did you mean `annabel`?",
    )
    .await;
    check(
        &lead,
        "send_message",
        send("orchestrator"),
        "`orchestrator` is you: send to another member; list_agents shows them",
    )
    .await;
    check(
        &lead,
        "assign_task",
        json!({ "agent": "script", "prompt": "x" }),
        "`script` is neither a live agent nor a profile: did you mean `scripted`?",
    )
    .await;
    check(
        &lead,
        "assign_task",
        json!({ "agent": "zzz", "prompt": "x" }),
        "`zzz` is neither a live agent nor a profile; profiles: `claude-code`, `codex`, `droid`, `gemini`, `qwen`, `scripted`",
    )
    .await;
    check(
        &lead,
        "assign_task",
        json!({ "agent": "annabel", "prompt": "x" }),
        "`annabel` is not an agent started by a bridge, but a peer: ask it with send_message",
    )
    .await;
    let taken = json!({ "agent": "scripted", "name": "Annabel", "prompt": "x" });
    check(
        &lead,
        "assign_task",
        taken,
        "the name `Annabel` is taken by a live peer: choose another",
    )
    .await;
    assert_eq!(lead.names().await, ["orchestrator", "annabel"]);
    lead.close().await;
    ann.close().await;
}

#[tokio::test]
async fn an_agent_that_is_not_installed_is_refused_with_how_to_install_it() {
    let nothing = vec![("PATH".into(), "".into())];
    let stage = Stage::new("").with_env(nothing);
    let lead = stage.orchestrator().await;
    check(
        &lead,
        "assign_task",
        json!({ "agent": "codex", "prompt": "x" }),
        "the profile `codex` needs the program `codex-acp`, which is not on PATH: install it with \
         `npm install -g @agentclientprotocol/codex-acp`, or correct `command` of [agents.codex] (it comes from the \
         built-in profiles)",
    )
    .await;
    assert_eq!(lead.names().await, ["orchestrator"]);
    lead.close().await;
}

#[tokio::test]
async fn arguments_that_are_too_long_or_of_the_wrong_type_are_refused_with_a_correction() {
    let stage = Stage::new("[agents.default]");
    let (lead, ann) = (stage.orchestrator().await, stage.peer("ann").await);
    let limit = 1024 * 1024;
    let send = |length: usize| json!({ "to": "ann", "content": "x".repeat(length) });
    let too_long = |what: &str| {
        format!(
            "{what} is 1048577 bytes long; the limit is 1048576 bytes (1 MiB): put it into a file \
             of the project and name the file"
        )
    };
    check(&lead, "send_message", send(limit + 1), &too_long("content")).await;
    let work = json!({ "agent": "scripted", "prompt": "x".repeat(limit + 1) });
    check(&lead, "assign_task", work, &too_long("prompt")).await;
    lead.call("send_message", send(limit)).await;
    let message = ann.hear(|message| message["from"] == "orchestrator").await;
    assert_eq!(message["content_bytes"], limit);
    check(&lead, "send_message", send(0), "content is empty: give it some text").await;

    let cases = [
        (
            "send_message",
            json!({ "to": 7, "content": "x" }),
            "`to` of `send_message` must be a string, not 7",
        ),
        ("send_message", json!({ "to": "ann" }), "`send_message` needs `content`, a string"),
        (
            "send_message",
            json!({ "to": "ann", "contents": "x" }),
            "`send_message` has no argument `contents` (use `content`)",
        ),
        (
            "assign_task",
            json!({ "agent": "scripted", "prompt": "x", "wait": "yes" }),
            "`wait` of `assign_task` must be true or false, not the string \"yes\"",
        ),
        (
            "assign_task",
            json!({ "agent": "scripted", "prompt": "x", "wait": true, "timeout_seconds": 0 }),
            "timeout_seconds is 0: leave `wait` out to return at once",
        ),
        (
            "get_task_result",
            json!({ "task_id": "task-zzzzzzzz" }),
            "there is no task `task-zzzzzzzz`, or it is too old to be found",
        ),
        (
            "get_task_result",
            json!({ "task_id": "../log" }),
            "\"../log\" is not a task id: one looks like `task-k3j7x2abq5wt`",
        ),
        (
            "claim_request",
            json!({ "request_id": "req-zzzzzzzz" }),
            "there is no request `req-zzzzzzzz`, or it is too old to be found: check_messages shows the open ones",
        ),
    ];
    for (tool, arguments, sentence) in cases {
        check(&lead, tool, arguments, sentence).await;
    }
    lead.close().await;
    ann.close().await;
}

#[tokio::test]
async fn invalid_lines_between_good_calls_end_nothing() {
    let stage = Stage::new("[agents.default]");
    for command in [&["orchestrator"][..], &["peer", "--name", "ann"]] {
        let mut raw = Raw::open(stage.start(command).await).await;
        for line in [
            "this is not JSON",
            "{\"jsonrpc\":\"2.0\"",
            "[]",
            "null",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}",
            "\u{0}\u{1}\u{2}",
            "",
        ] {
            raw.say(line).await;
            let answer = raw.call("list_agents", json!({})).await;
            assert!(
                answer["result"]["structuredContent"]["agents"].is_array(),
                "after {line:?}: {answer}"
            );
        }
        let unknown = raw.call("list_agent", json!({})).await;
        let message = unknown["error"]["message"].as_str().unwrap();
        let expected = "there is no tool `list_agent`: did you mean list_agents";
        assert!(message.starts_with(expected), "{unknown}");
        raw.close().await;
    }
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_client_that_reads_no_answers_ends_its_server_by_closing_the_input() {
    let stage = Stage::new("[agents.default]");
    let mut raw = Raw::open(stage.start(&["peer", "--name", "ann"]).await).await;
    raw.flood().await;
    raw.close().await;
}

/// Checks that every tool of a peer answers with a sentence while the bus cannot be used, and works once it can.
async fn check_refused_bus(stage: &Stage, sentence: &str, repair: impl FnOnce()) {
    let mut peer = Raw::open(stage.start(&["peer", "--name", "ann"]).await).await;
    for _ in 0..2 {
        let answer = peer.call("list_agents", json!({})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["content"][0]["text"], sentence);
    }
    repair();
    let answer = peer.call("list_agents", json!({})).await;
    assert_eq!(answer["result"]["structuredContent"]["agents"][0]["name"], "ann", "{answer}");
    peer.close().await;
}

#[tokio::test]
async fn a_bus_directory_that_is_a_link_is_refused() {
    let stage = Stage::new("[agents.default]");
    let elsewhere = stage.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, stage.bus()).unwrap();
    check_refused_bus(
        &stage,
        "cannot use the bus directory: it is a symbolic link: put a real directory in its place",
        || std::fs::remove_file(stage.bus()).unwrap(),
    )
    .await;
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test]
async fn a_bus_directory_that_others_may_write_to_is_refused() {
    let stage = Stage::new("[agents.default]");
    std::fs::create_dir(stage.bus()).unwrap();
    let mode = |mode| {
        std::fs::set_permissions(stage.bus(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o777);
    check_refused_bus(
        &stage,
        "cannot use the bus directory: others may write to it: check what is in it, then run \
            `chmod go-w` on it",
        || mode(0o700),
    )
    .await;
}

/// It may well be this user's own, so it is not put aside as a foreign one.
#[tokio::test]
async fn a_bus_whose_identity_others_may_write_to_is_refused() {
    let stage = Stage::new("[agents.default]");
    stage.peer("bob").await.close().await;
    let mode = |mode| {
        let identity = stage.bus().join("bus.json");
        std::fs::set_permissions(identity, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o660);
    check_refused_bus(
        &stage,
        "cannot use `.claude/bridge/bus.json`: others may write to it: check what is in it, then run \
            `chmod go-w` on it",
        || mode(0o600),
    )
    .await;
    let beside = std::fs::read_dir(stage.bus().parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "nothing was put aside");
}

#[tokio::test]
async fn a_bus_of_a_newer_format_is_refused() {
    let stage = Stage::new("[agents.default]");
    stage.peer("bob").await.close().await;
    let identity = stage.bus().join("bus.json");
    let text = std::fs::read_to_string(&identity).unwrap();
    std::fs::write(&identity, text.replace("\"format\":2", "\"format\":3")).unwrap();
    check_refused_bus(&stage, "a newer cli-team-bridge uses this bus: restart this one", || {
        std::fs::write(&identity, &text).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_damaged_log_loses_only_the_damaged_lines() {
    let stage = Stage::new("[agents.default]");
    let (lead, ann) = (stage.orchestrator().await, stage.peer("ann").await);
    lead.send("ann", "before").await;
    let segment = stage.bus().join("log/00000000000000000001.jsonl");
    let append = |bytes: &[u8]| {
        let mut log = std::fs::File::options().append(true).open(&segment).unwrap();
        log.write_all(bytes).unwrap();
    };
    append(b"this is no line of a log\n{\"seq\":7}\n\xff\xfe\n");
    lead.send("ann", "between").await;
    append(b"{\"seq\":9,\"ts\":17");
    lead.send("ann", "after").await;
    for content in ["before", "between", "after"] {
        ann.hear(|message| message["content"] == content).await;
    }
    // A process that opens the log now reads the same.
    let bob = stage.peer("bob").await;
    assert_eq!(bob.names().await, ["orchestrator", "ann", "bob"]);
    for member in [lead, ann, bob] {
        member.close().await;
    }
    stage.check_nobody_is_left();
}

const FAILING: &str = "name = \"w\"\n[[steps]]\nname = \"a\"\nagent = \"red\"\nprompt = \"x\"\n";

#[tokio::test]
async fn a_workflow_that_is_over_is_not_resumed_and_a_hint_says_what_to_do() {
    let stage = Stage::new("[[agents.default.turns]]\nsteps = [{ fail = \"no\" }]\n")
        .with_plan(FAILING)
        .with_scripted_profiles(&["red"]);
    let project = stage.project().to_str().unwrap().to_owned();
    let plan = format!("{project}/plan.toml");
    let (exit, said) = stage.ended(&["run", "--project", &project, &plan], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    let id = stage.events_of("workflow_created")[0]["id"].as_str().unwrap().to_owned();
    let resume = ["run", "--project", &project, "--resume", &id];
    let (exit, said) = stage.ended(&resume, None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    let expected = format!(
        "error: the workflow `{id}` has failed, so it cannot be resumed\nhint: `cli-team-bridge \
         workflows` shows how each of its steps ended, and `cli-team-bridge run PLAN` runs its plan \
         again from the beginning\n"
    );
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_plan_whose_agent_is_missing_can_be_tried_with_the_script_beside_it() {
    let stage = Stage::new("[agents.default]").with_plan(FAILING);
    let (plan, script) =
        (stage.project().join("plan.toml"), stage.project().join("plan.script.toml"));
    let hint = format!("`cli-team-bridge run {plan:?} --scripted {script:?}`\n");
    let refused = async || {
        let arguments =
            ["run", "--project", stage.project().to_str().unwrap(), plan.to_str().unwrap()];
        let (exit, said) = stage.ended(&arguments, None).await;
        assert_eq!(exit.code, Some(1), "{said}");
        said
    };
    let said = refused().await;
    assert!(!said.contains("--scripted"), "there is no script: {said}");
    std::fs::write(&script, "[agents.default]\n").unwrap();
    let said = refused().await;
    assert!(said.ends_with(&hint), "{said}");
}
