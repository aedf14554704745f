//! `hook`: unread messages of a member go into its Claude Code session, between two of the session's own steps.
//!
//! Claude Code runs it after a tool, with a prompt of its user, and when it wants to stop, and waits for it. So it is quick, silent
//! when there is nothing to say, and never fails: an error is a line on stderr, and the session goes on without.

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

/// Where Claude Code says which project it works in; its current directory may have become another one.
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

/// What Claude Code says about a hook, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Occasion {
    hook_event_name: String,
    /// Whether the session goes on only because a hook has asked for it.
    #[serde(default)]
    stop_hook_active: bool,
    /// Present when a subagent has used the tool: its context is not the member's.
    #[serde(default)]
    agent_id: Option<Value>,
    /// Present since versions that take context with a stop, too.
    #[serde(default)]
    prompt_id: Option<Value>,
}

/// Where what is said goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    /// Context beside the result of a tool.
    BesideResult,
    /// Context beside a prompt of the user.
    BesidePrompt,
    /// Into a turn that begins in place of the stop.
    NextTurn(Prolonging),
}

/// How a turn is made to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prolonging {
    /// By context, which the model is shown once.
    ByContext,
    /// By a reason, which it is shown twice; older versions know nothing else.
    ByReason,
}

/// The most that is read of what Claude Code says: a tool's whole result may be in it.
const SAID_BYTES: u64 = 64 * 1024 * 1024;

/// Says whether a command line asks for the hook, as far as it can be read: what is wrong with it must not fail a session either.
pub(crate) fn is_asked_for(mut words: impl Iterator<Item = OsString>) -> bool {
    words.nth(1).is_some_and(|word| word == "hook")
}

/// Answers the hook. Never fails.
pub(crate) fn run(arguments: HookArguments) {
    let answer = AssertUnwindSafe(|| serve_mcp::run(async move || answer(arguments).await));
    // A panic has told of itself.
    if let Ok(Err(failure)) = std::panic::catch_unwind(answer) {
        output::error(failure.as_ref());
    }
}

async fn answer(arguments: HookArguments) -> Result<(), Failure> {
    let said = tokio::task::spawn_blocking(|| io::read_to_string(io::stdin().take(SAID_BYTES)));
    let said = tokio::time::timeout(wait_times::HOOK, said)
        .await
        .map_err(|_| "timed out while reading the hook's input from Claude Code")???;
    let occasion: Occasion = serde_json::from_str(&said)
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
    let told = match session(&bus, arguments.name.as_ref()) {
        Some(session) => deliver(&bus, session, place, occasion.stop_hook_active).await,
        None => Ok(()),
    };
    bus.close().await;
    told
}

impl Occasion {
    /// Says where words can go on this occasion, if anywhere.
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

/// Finds the session that it speaks for: a live one that no bridge holds.
fn session(bus: &Bus, name: Option<&Name>) -> Option<SessionId> {
    let found = bus.look(|state| {
        let member = match name {
            Some(name) => state.live(name).filter(|session| session.owner.is_none()),
            None => ClaudeSession::look().member(state),
        };
        member.map(|session| session.id)
    });
    // A message delivered to a dead one is lost until its death is noticed.
    found.filter(|session| bus.is_held(*session))
}

/// Delivers the unread messages, if this is the occasion.
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
    // A session that was kept from stopping once may stop: talkative agents must not keep their leader at work for ever.
    let messages = if matches!(place, Outlet::NextTurn(_)) && again {
        Ok(Vec::new())
    } else {
        receive(&mut call).await
    };
    let said = match messages {
        Ok(messages) if messages.is_empty() => Ok(()),
        Ok(messages) => {
            let more = bus.look(|state| state.unread(membership.name()).count());
            let words = claude_hook::context(&messages, membership.name(), more);
            let said = output::say_aside(place.answer(&words) + "\n").await;
            said.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    let settled = async { if said.is_ok() { call.printed().await } else { call.requeue().await } };
    match tokio::time::timeout(wait_times::HOOK, settled).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("failed to record what the hook delivered: {error}"),
        Err(_) => tracing::warn!("timed out while recording what the hook delivered"),
    }
    Call::end_hook(&membership, id);
    said
}

async fn receive(call: &mut Call) -> Result<Vec<LoadedMessage>, Failure> {
    call.begin_hook()?;
    let taken = tokio::time::timeout(
        wait_times::HOOK,
        call.receive(DeliveryMethod::Hook, claude_hook::pick()),
    )
    .await;
    Ok(taken.map_err(|_| "timed out while reading the bus for the hook")??)
}

impl Outlet {
    /// Says whether the model has been asked since the tools before this have answered, or is asked now with what they brought. A
    /// hook behind a tool may be one of several in one step.
    fn is_behind_a_step(self) -> bool {
        match self {
            Self::BesideResult => false,
            Self::BesidePrompt | Self::NextTurn(_) => true,
        }
    }

    /// Writes the answer as Claude Code reads it.
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

    fn place(said: &Value) -> Option<Outlet> {
        serde_json::from_value::<Occasion>(said.clone()).unwrap().place()
    }

    #[test]
    fn words_go_where_the_hook_can_carry_them_and_nowhere_else() {
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
    fn the_answer_is_what_claude_code_reads() {
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
