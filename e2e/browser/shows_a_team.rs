//! A team of scripted agents in a real browser: signing in, every view under the eyes of axe, live messages, an answer, a server that is
//! killed, a hostile text, and ten thousand messages.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use cli_team_bridge::supervisor::{self, ChildSpec};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::programs::Programs;
use crate::support::{Member, Stage, until};

/// The programs that the test needs.
pub(crate) const PROGRAMS: [&str; 4] = ["node", "playwright", "chromium", "axe"];

/// The folder into which the pictures of the documents are written, if it is named.
const PICTURES: &str = "BRIDGE_E2E_PICTURES";

/// How long the browser may look: all views four times, on a machine that does other things as well.
const LOOK: Duration = Duration::from_mins(8);

/// How many messages a page scrolls through.
const MANY: usize = 10_000;

/// How many messages are sent at the same time; an inbox holds more.
const AT_ONCE: usize = 100;

/// A text that would do harm if it were anything but a text.
const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u{1b}[31mred \u{202e}txt.exe";

const SCRIPT: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { think = "The old branches are merged, so they can go." },
  { ask_permission = "git push --force-with-lease origin main && git branch -D drafts", kind = "execute", on_reject = "go_on" },
  { say = "The history is clean." },
]
[[agents.ben.turns]]
when = "Your task: "
steps = [{ wait_for = { from = "cay", seconds = 600 } }]
[[agents.cay.turns]]
when = "Your task: "
steps = [
  { call = "send_message", with = { to = "eve", content = "The map is wrong: a lease ends by the clock of whoever gave it." } },
  { hang = true },
]
[[agents.dan.turns]]
when = "Your task: "
steps = [{ usage = { used = 18200, size = 200000 } }, { say = "All figures are checked: two were wrong, and are mended." }]
[[agents.eve.turns]]
when = "Your task: "
steps = [
  { think = "Which clock counts?" },
  { say = "I read the map, and compare it with the chapter.\nThe second part needs a picture." },
  { hang = true },
]
[[agents.default.turns]]
steps = [{ say = "done" }]
"#;

/// No limit for the many messages that fill the history, and a profile whose questions wait until all views have been looked at.
const PATIENT: &str = "[limits]\nmessages_per_minute = 0\n[agents.patient]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\n\
                       env_pass = [\"BRIDGE_SCRIPT\"]\npermission_seconds = 900\n";

/// Shows the whole.
pub(crate) async fn shows_a_team_in_a_real_browser() {
    let stage = Stage::new(SCRIPT).with_profiles(PATIENT);
    let lead = team(&stage).await;
    look(&stage, "looks").await;
    fill(&stage).await;
    look(&stage, "scrolls").await;
    lead.close().await;
}

/// Starts a team in which one asks, one waits, two work, one is done, and a workflow waits for approval.
async fn team(stage: &Stage) -> Member {
    let lead = stage.orchestrator().await;
    let dan = lead.start("dan", "Check the figures of the third chapter.").await;
    lead.done(&dan).await;
    lead.start("eve", "Compare the map with the chapter about leases, and say what is missing.")
        .await;
    lead.start("cay", "Correct the map, and tell eve.").await;
    until("cay has written", || !stage.events_of("message_sent").is_empty()).await;
    lead.start("ben", "Wait for cay, then draw the second picture.").await;
    lead.until_waiting("ben").await;
    let asks = json!({
        "agent": "patient", "name": "ann", "permissions": "ask",
        "prompt": "Clean up the history of the branch, then push it.",
    });
    lead.call("assign_task", asks).await;
    until("ann asks", || !stage.events_of("permission_asked").is_empty()).await;
    let step = |name: &str, after: &[&str]| json!({ "name": name, "agent": "scripted", "prompt": format!("{name} the book"), "depends_on": after });
    let mut publish = step("publish", &["proof", "index"]);
    publish["approve"] = json!("human");
    let steps = [
        step("outline", &[]),
        step("proof", &["outline"]),
        step("index", &["outline"]),
        publish,
        step("announce", &["publish"]),
    ];
    lead.call("create_workflow", json!({ "name": "the book", "steps": steps })).await;
    until("publish waits for approval", || !stage.events_of("step_asked").is_empty()).await;
    lead
}

/// Fills the history with messages, the last of which is hostile.
async fn fill(stage: &Stage) {
    let (sender, reader) = (stage.peer("post").await, stage.peer("box").await);
    for first in (0..MANY).step_by(AT_ONCE) {
        let texts: Vec<_> =
            (first..first + AT_ONCE).map(|number| format!("message {number}")).collect();
        futures::future::join_all(texts.iter().map(|text| sender.send("box", text))).await;
        reader.call("check_messages", json!({ "limit": AT_ONCE })).await;
    }
    sender.send("box", HOSTILE).await;
    reader.close().await;
    sender.close().await;
}

/// Lets the browser play a part, and prints what it measured.
async fn look(stage: &Stage, part: &str) {
    let programs = Programs::find();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/browser/look_at_pages.mjs");
    let pictures = std::env::var_os(PICTURES)
        .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).into_os_string());
    let variable = |name: &str, value: OsString| (OsString::from(name), value);
    let modules = |name: &str| programs.modules(name).into_os_string();
    let env = vec![
        variable("BRIDGE", env!("CARGO_BIN_EXE_cli-team-bridge").into()),
        variable("PROJECT", stage.project().as_os_str().to_owned()),
        variable("PLAYWRIGHT", modules("playwright")),
        variable("CHROMIUM", modules("chromium")),
        variable("AXE", modules("axe")),
        variable("PICTURES", pictures.unwrap_or_default()),
        // The browser is unpacked there, and goes with the stage.
        variable("TMPDIR", stage.home().as_os_str().to_owned()),
        variable("TZ", "UTC".into()),
    ];
    let mut all = stage.environment();
    all.extend(env);
    let node = programs.command("node", "node");
    let spec = ChildSpec {
        program: node,
        args: vec![script.into(), part.into()],
        env: all,
        cwd: stage.project().to_owned(),
        shim: None,
    };
    let (child, mut pipes) = supervisor::spawn(spec).await.unwrap();
    drop(pipes.stdin);
    let mut printed = String::new();
    let looking = async {
        pipes.stdout.read_to_string(&mut printed).await.unwrap();
        child.exited().await
    };
    let exit = tokio::time::timeout(LOOK, looking).await;
    let exit = exit.unwrap_or_else(|_| panic!("the browser looks for {LOOK:?}"));
    assert_eq!(exit.code, Some(0), "{part}: {printed}{}", child.stderr_tail());
    eprint!("{printed}");
}
