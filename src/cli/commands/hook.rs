//! `hook`: delivers a member's unread messages into its Claude Code session, between two of the session's own steps.
//!
//! Claude Code runs it after a tool, with a prompt of its user, and when it wants to stop, and waits for it. So it is quick, silent
//! without messages, and never fails: an error is a line on stderr, and the session continues without messages.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bus::{Bus, Call, LoadedMessage, Membership};
use crate::cli::claude_session::ClaudeSession;
use crate::cli::find_project::ProjectError;
use crate::cli::{Failure, find_project, open_bus, output, serve_mcp};
use crate::delivery::methods::claude_hook;
use crate::domain::ids::SessionId;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::domain::wait_times;

/// The variable in which Claude Code names its project; its current directory may have changed.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Which member it speaks for.
#[derive(Clone, Debug, Args)]
pub(crate) struct HookArguments {
    /// The member whose messages are delivered [default: this session's own name].
    #[arg(long)]
    name: Option<Name>,
    /// The project directory [default: found from the session's working directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// The parts of the hook's input that matter here.
#[derive(Debug, Deserialize)]
struct Occasion {
    hook_event_name: String,
    /// Whether the session continues only because a hook asked for it.
    #[serde(default)]
    stop_hook_active: bool,
    /// Present if a subagent used the tool: its context is not the member's.
    #[serde(default)]
    agent_id: Option<Value>,
    /// Present in versions that also accept context with a stop.
    #[serde(default)]
    prompt_id: Option<Value>,
}

/// Where the text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    /// Into the context, beside the result of a tool.
    BesideResult,
    /// Into the context, beside a prompt of the user.
    BesidePrompt,
    /// Into a turn that replaces the stop.
    NextTurn(Prolonging),
}

/// How the stop is turned into another turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prolonging {
    /// By context, which the model sees once.
    ByContext,
    /// By a reason, which it sees twice; older versions support nothing else.
    ByReason,
}

/// How much of the hook's input is read: it may contain a tool's whole result.
const INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Returns whether a command line, even a wrong one, asks for the hook: its errors must not fail a session either.
pub(crate) fn is_asked_for(mut words: impl Iterator<Item = OsString>) -> bool {
    words.nth(1).is_some_and(|word| word == "hook")
}

/// Answers the hook. Never fails.
pub(crate) fn run(arguments: HookArguments) {
    let answer = AssertUnwindSafe(|| serve_mcp::run(async move || answer(arguments).await));
    // A panic has already printed its message.
    if let Ok(Err(failure)) = std::panic::catch_unwind(answer) {
        output::error(&failure);
    }
}

async fn answer(arguments: HookArguments) -> Result<(), Failure> {
    let input = tokio::task::spawn_blocking(|| io::read_to_string(io::stdin().take(INPUT_BYTES)));
    let input = tokio::time::timeout(wait_times::HOOK, input)
        .await
        .map_err(|_| "timed out while reading the hook's input from Claude Code")???;
    let occasion: Occasion = serde_json::from_str(&input)
        .map_err(|error| format!("cannot parse the hook's input: {error}"))?;
    let Some(place) = occasion.place() else {
        return Ok(());
    };
    let found = match (&arguments.project, std::env::var_os(PROJECT)) {
        (None, Some(directory)) => find_project::find_from(directory.as_ref()),
        (named, _) => find_project::find(named.as_deref()),
    };
    let project = match found {
        // Hooks may be set for all sessions of a user.
        Err(ProjectError::TooWide { .. }) => return Ok(()),
        found => found?,
    };
    let Some(bus) = open_bus::open_present_bus(&project.bus_directory())? else {
        return Ok(());
    };
    let delivered = match session(&bus, arguments.name.as_ref()) {
        Some(session) => deliver(&bus, session, place, occasion.stop_hook_active).await,
        None => Ok(()),
    };
    bus.close().await;
    delivered
}

impl Occasion {
    /// Returns where text can go on this occasion, if anywhere.
    fn place(&self) -> Option<Outlet> {
        match self.hook_event_name.as_str() {
            _ if self.agent_id.is_some() => None,
            "PostToolUse" => Some(Outlet::BesideResult),
            "UserPromptSubmit" => Some(Outlet::BesidePrompt),
            "Stop" if self.prompt_id.is_some() => Some(Outlet::NextTurn(Prolonging::ByContext)),
            "Stop" => Some(Outlet::NextTurn(Prolonging::ByReason)),
            _ => None,
        }
    }
}

/// Finds the session for which the hook acts: a live one that no bridge holds.
fn session(bus: &Bus, name: Option<&Name>) -> Option<SessionId> {
    let found = bus.look(|state| {
        let member = match name {
            Some(name) => state.live(name).filter(|session| session.owner.is_none()),
            None => ClaudeSession::look().member(state),
        };
        member.map(|session| session.id)
    });
    // A message delivered to a dead session is lost until its death is noticed.
    found.filter(|session| bus.is_held(*session))
}

/// Delivers the unread messages, if this is the occasion for it.
async fn deliver(bus: &Bus, session: SessionId, place: Outlet, again: bool) -> Result<(), Failure> {
    let membership = Membership::beside(bus, session)?;
    match tokio::time::timeout(wait_times::HOOK, membership.end_hooks()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!("failed to requeue the messages of an earlier hook: {error}");
        }
        Err(_) => tracing::warn!("timed out while requeueing messages of an earlier hook"),
    }
    let mut call =
        if place.is_behind_a_step() { membership.call_after_a_step() } else { membership.call() };
    let id = call.id();
    // A session that was kept from stopping once may stop now: talkative agents must not keep their orchestrator busy for ever.
    let messages = if matches!(place, Outlet::NextTurn(_)) && again {
        Ok(Vec::new())
    } else {
        receive(&mut call).await
    };
    let printed = match messages {
        Ok(messages) if messages.is_empty() => Ok(()),
        Ok(messages) => {
            let more = bus.look(|state| state.unread(membership.name()).count());
            let words = claude_hook::context(&messages, membership.name(), more);
            let printed = output::say_aside(place.answer(&words) + "\n").await;
            printed.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    let settled =
        async { if printed.is_ok() { call.printed().await } else { call.requeue().await } };
    match tokio::time::timeout(wait_times::HOOK, settled).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("failed to record what the hook delivered: {error}"),
        Err(_) => tracing::warn!("timed out while recording what the hook delivered"),
    }
    Call::end_hook(&membership, id);
    printed
}

async fn receive(call: &mut Call) -> Result<Vec<LoadedMessage>, Failure> {
    call.begin_hook()?;
    let received = tokio::time::timeout(
        wait_times::HOOK,
        call.receive(DeliveryMethod::Hook, claude_hook::pick()),
    )
    .await;
    Ok(received.map_err(|_| "timed out while reading the bus for the hook")??)
}

impl Outlet {
    /// Returns whether the model has been called since the earlier tools answered, or is called now with their results. A hook
    /// after a tool may be one of several in one step.
    fn is_behind_a_step(self) -> bool {
        match self {
            Self::BesideResult => false,
            Self::BesidePrompt | Self::NextTurn(_) => true,
        }
    }

    /// Returns the answer in the form that Claude Code reads.
    fn answer(self, words: &str) -> String {
        let event = match self {
            Self::BesideResult => "PostToolUse",
            Self::BesidePrompt => "UserPromptSubmit",
            Self::NextTurn(Prolonging::ByContext) => "Stop",
            Self::NextTurn(Prolonging::ByReason) => {
                return json!({ "decision": "block", "reason": words }).to_string();
            }
        };
        let output = json!({ "hookEventName": event, "additionalContext": words });
        json!({ "hookSpecificOutput": output }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(input: &Value) -> Option<Outlet> {
        serde_json::from_value::<Occasion>(input.clone()).unwrap().place()
    }

    #[test]
    fn text_goes_only_where_the_hook_can_carry_it() {
        let tool = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": { "a": [1] } });
        assert_eq!(place(&tool), Some(Outlet::BesideResult));
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
        assert_eq!(place(&prompt), Some(Outlet::BesidePrompt));
        let stop = json!({ "hook_event_name": "Stop", "stop_hook_active": false });
        assert_eq!(place(&stop), Some(Outlet::NextTurn(Prolonging::ByReason)));
        let stop = json!({ "hook_event_name": "Stop", "prompt_id": "p-1" });
        assert_eq!(place(&stop), Some(Outlet::NextTurn(Prolonging::ByContext)));
        let other = json!({ "hook_event_name": "SessionStart" });
        assert_eq!(place(&other), None);
        let of_subagent = json!({ "hook_event_name": "PostToolUse", "agent_id": "a1" });
        assert_eq!(place(&of_subagent), None);
    }

    #[test]
    fn the_answer_has_the_form_that_claude_code_reads() {
        let answer: Value =
            serde_json::from_str(&Outlet::BesideResult.answer("a \"b\"\nc")).unwrap();
        let expected = json!({
            "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "a \"b\"\nc" }
        });
        assert_eq!(answer, expected);
        let answer =
            |how| -> Value { serde_json::from_str(&Outlet::NextTurn(how).answer("a")).unwrap() };
        let expected = json!({
            "hookSpecificOutput": { "hookEventName": "Stop", "additionalContext": "a" }
        });
        assert_eq!(answer(Prolonging::ByContext), expected);
        let expected = json!({ "decision": "block", "reason": "a" });
        assert_eq!(answer(Prolonging::ByReason), expected);
    }
}
