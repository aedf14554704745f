//! A user at the terminal of the real Claude Code answers an agent's question for permission, while Claude waits for the agent.

use nix::sys::signal::Signal;
use serde_json::json;

use crate::agent_kinds::CODEX;
use crate::claude_code::{answer_first_dialogs, claude_with_bridge};
use crate::model::{Api, ModelServer, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{PAUSE, Terminal};

/// The programs that the test needs.
pub(crate) const PROGRAMS: [&str; 3] = ["node", "claude", CODEX.name];

/// What Claude Code shows below a form: the cursor on one of its two buttons.
const YES: &str = "❯ Accept    Decline";
const NO: &str = "Accept  ❯ Decline";

const RIGHT: &str = "\u{1b}[C";
const ENTER: &str = "\r";

/// The form comes while Claude's call waits. One key allows the agent's command, which runs; the other button does not, and it does not
/// run.
pub(crate) async fn lets_its_user_answer_an_agent_with_one_key() {
    for (button, is_made) in [(YES, true), (NO, false)] {
        let mut task = CODEX.task("make the file");
        task["permissions"] = json!("ask");
        task["wait"] = json!(true);
        task["timeout_seconds"] = json!(120);
        let (tool, arguments) = (CODEX.runs)("touch made.txt");
        let model = ModelServer::start(vec![
            Rule::user("lead the team").of(Api::Anthropic).calls("assign_task", task),
            Rule::result("task_id").of(Api::Anthropic).says("It has ended."),
            Rule::user("make the file").of(CODEX.api).calls_own(tool, arguments),
            Rule::result("").of(CODEX.api).says("I am done."),
        ])
        .await;
        let stage = stage(&[&CODEX], &model);
        answer_first_dialogs(&stage);
        let mut claude = claude_with_bridge(&stage, &model);
        claude.args(["--allowedTools", "mcp__bridge", "--", "lead the team"]);
        claude.env("TERM", "xterm-256color");
        let mut terminal = Terminal::run_program(claude.as_std_mut(), (40, 120));

        terminal.until_shows(YES).await;
        let screen = terminal.screen();
        for part in
            ["Allow this once? The agent `codex` asks for permission (execute): ", "s left."]
        {
            assert!(screen.contains(part), "{part}: {screen}");
        }
        assert!(screen.contains("touch made.txt"), "{screen}");
        if button == NO {
            terminal.press(RIGHT);
            terminal.until_shows(NO).await;
        }
        // Claude Code ignores a key that comes too soon after the form, so that it answers none by mistake.
        let ends = async {
            while terminal.screen().contains(button) {
                terminal.press(ENTER);
                tokio::time::sleep(PAUSE * 20).await;
            }
        };
        let ended = tokio::time::timeout(crate::support::DEADLINE, ends).await;
        assert!(ended.is_ok(), "{}", terminal.screen());
        terminal.until_shows("It has ended.").await;

        let seen = || format!("{}\n{}", terminal.screen(), shown_to_models(&model));
        assert_eq!(stage.project().join("made.txt").exists(), is_made, "{}", seen());
        let answered = stage.events_of("permission_answered");
        let decision = if is_made { "allow_once" } else { "reject" };
        let expected = json!([["human", decision]]);
        let by = answered.iter().map(|event| json!([event["by"], event["decision"]]));
        assert_eq!(by.collect::<serde_json::Value>(), expected, "{}", seen());
        terminal.signal(Signal::SIGTERM);
        terminal.ended("").await;
    }
}
