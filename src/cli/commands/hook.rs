//! `hook`: delivers a member's unread messages into its Claude Code session, between two of the session's own steps. In Qwen Code and
//! Gemini CLI, it says that there are some.
//!
//! The client runs it after tools, with a prompt of its user, or when it wants to stop, and waits for it. So it is quick, silent
//! without messages, and never fails: an error is a line on stderr, and the session continues without messages.
//!
//! What a hook of Qwen Code or Gemini CLI adds may be lost without the hook being told: they cut the results of a large step, and
//! take back the end of a conversation when its user cancels or retries. So there the hook delivers nothing, and `check_messages`
//! does. The same holds beside a prompt of Claude Code's user: who cancels it at once takes it back, with all that was added to it.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bus::state::{Message, Session, State};
use crate::bus::{Bus, BusError, Call, LoadedMessage, Membership};
use crate::cli::claude_session::ClaudeSession;
use crate::cli::find_project::ProjectError;
use crate::cli::{Failure, below_agent, find_project, open_bus, output, serve_mcp};
use crate::delivery::methods::between_steps;
use crate::domain::ids::SessionId;
use crate::domain::messaging::{DeliveryMethod, MessageKind};
use crate::domain::name::Name;
use crate::domain::wait_times;

/// The variable in which a client names its project to a hook; its current directory may have changed. Qwen Code and Gemini CLI set
/// it like Claude Code.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// The variable that only hooks of Qwen Code have.
const QWEN_PROJECT: &str = "QWEN_PROJECT_DIR";

/// Which member it speaks for.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge hook                   as the command of a hook: setup writes it
  cli-team-bridge hook --name reviewer   messages of this member")]
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
    /// The conversation. A client may leave one for another, and come back to it.
    #[serde(default)]
    session_id: String,
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

/// The client that runs the hook, where two have events of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    ClaudeCode,
    QwenCode,
}

/// What the hook does on an occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// It delivers the unread messages.
    Deliver(Outlet),
    /// It only says that there are some.
    Announce(NoticePlace),
}

/// Where the text of messages goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    /// Into the context, beside the result of a tool.
    BesideResult,
    /// Into a turn that replaces the stop.
    NextTurn(Prolonging),
}

/// Where a notice of unread messages goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoticePlace {
    /// Beside the results of all tools of a step.
    BesideResults,
    /// Beside a prompt of the user.
    BesidePrompt,
    /// Into a turn that replaces the stop.
    NextTurn,
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
        .map_err(|_| "timed out while reading the hook's input from the client")???;
    let occasion: Occasion = serde_json::from_str(&input)
        .map_err(|error| format!("cannot parse the hook's input: {error}"))?;
    let client = match std::env::var_os(QWEN_PROJECT) {
        Some(_) => Client::QwenCode,
        None => Client::ClaudeCode,
    };
    let Some(act) = occasion.act(client) else {
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
    let turn = (occasion.session_id.as_str(), occasion.stop_hook_active);
    let done = match (session(&bus, arguments.name.as_ref()), act) {
        (Some(session), Act::Deliver(outlet)) => deliver(&bus, session, outlet, turn).await,
        (Some(session), Act::Announce(place)) => announce(&bus, session, place, turn).await,
        (None, _) => Ok(()),
    };
    bus.close().await;
    done
}

impl Occasion {
    /// Returns what to do on this occasion, if anything.
    fn act(&self, client: Client) -> Option<Act> {
        use Client::{ClaudeCode, QwenCode};
        let act = match (self.hook_event_name.as_str(), client) {
            _ if self.agent_id.is_some() => return None,
            ("PostToolUse", ClaudeCode) => Act::Deliver(Outlet::BesideResult),
            ("UserPromptSubmit", ClaudeCode) => Act::Announce(NoticePlace::BesidePrompt),
            ("Stop", ClaudeCode) => Act::Deliver(Outlet::NextTurn(match self.prompt_id {
                Some(_) => Prolonging::ByContext,
                None => Prolonging::ByReason,
            })),
            ("PostToolBatch", QwenCode) => Act::Announce(NoticePlace::BesideResults),
            // Only Gemini CLI has the second one.
            ("Stop", QwenCode) | ("AfterAgent", _) => Act::Announce(NoticePlace::NextTurn),
            _ => return None,
        };
        Some(act)
    }
}

/// Finds the session for which the hook acts: a live one that no bridge holds.
fn session(bus: &Bus, name: Option<&Name>) -> Option<SessionId> {
    let found = bus.look(|state| {
        let member = match name {
            // Below an agent, a hook with the name of its leader acts for nobody.
            Some(_) if below_agent::is_below_an_agent() => None,
            Some(name) => state.live(name).filter(|session| session.owner.is_none()),
            None => ClaudeSession::of_starter().member(state),
        };
        member.map(|session| session.id)
    });
    // A message delivered to a dead session is lost until its death is noticed.
    found.filter(|session| bus.is_held(*session))
}

/// Prints a notice if there are unread messages, and delivers none. It is repeated until they are read.
async fn announce(
    bus: &Bus,
    session: SessionId,
    place: NoticePlace,
    (conversation, again): (&str, bool),
) -> Result<(), Failure> {
    if place == NoticePlace::BesidePrompt {
        let membership = Membership::beside(bus, session)?;
        end_earlier(&membership).await;
        // What earlier hooks printed is not taken back with this prompt, so the model reads it now, or has read it.
        settle(membership.call_after_a_step(conversation).printed()).await;
    }
    let notice = bus.look(|state| {
        let session = state.session(session)?;
        between_steps::notice(worth_a_notice(state, session))
    });
    match notice {
        None => Ok(()),
        // As with messages, a stop is put off once.
        Some(_) if again && place == NoticePlace::NextTurn => Ok(()),
        Some(notice) => Ok(output::say_aside(place.answer(&notice) + "\n").await?),
    }
}

/// Delivers the unread messages, if this is the occasion for it.
async fn deliver(
    bus: &Bus,
    session: SessionId,
    outlet: Outlet,
    (conversation, again): (&str, bool),
) -> Result<(), Failure> {
    let membership = Membership::beside(bus, session)?;
    end_earlier(&membership).await;
    let mut call = match outlet {
        // It may be one of several in one step, and proves nothing.
        Outlet::BesideResult => membership.call().in_conversation(conversation),
        Outlet::NextTurn(_) => membership.call_after_a_step(conversation),
    };
    let id = call.id();
    let name = membership.name();
    let kind_and_again = |message: &Message| (message.kind, message.is_returned_to(name));
    let mail = |state: &State| -> Vec<(MessageKind, bool)> {
        let session = state.session(session);
        session
            .map(|session| worth_a_notice(state, session).map(kind_and_again).collect())
            .unwrap_or_default()
    };
    let may_stop = || again || !is_worth_a_turn(bus.look(mail).into_iter());
    // News of who has come and left is added to other messages, and to results of tools.
    let has_mail = !bus.look(mail).is_empty();
    let messages = if !has_mail || matches!(outlet, Outlet::NextTurn(_)) && may_stop() {
        Ok(Vec::new())
    } else {
        receive(&mut call).await
    };
    let printed = match messages {
        Ok(messages) if messages.is_empty() => Ok(()),
        Ok(messages) => {
            let more = bus.look(mail).len();
            let words = between_steps::context(&messages, membership.name(), more);
            let printed = output::say_aside(outlet.answer(&words) + "\n").await;
            printed.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    settle(async { if printed.is_ok() { call.printed().await } else { call.requeue().await } })
        .await;
    Call::end_hook(&membership, id);
    printed
}

/// Returns the unread messages of a session without those that wait for an occasion: the news of who has come and left, and the notices
/// that an earlier session was given and did not prove, such as one that ended with its turn. The next answer of a tool has them.
fn worth_a_notice<'a>(state: &'a State, session: &'a Session) -> impl Iterator<Item = &'a Message> {
    let name = &session.name;
    let is_old = |message: &Message| message.is_old_notice_to(name, session.id);
    state.unread(name).filter(move |message| !message.is_presence() && !is_old(message))
}

/// Says whether mail, by its kind and whether it comes again, keeps a member from stopping. That happens once: talkative agents must not
/// keep their orchestrator busy for ever. A notice that it was given before, which nothing has proven, waits for the next step: the turn
/// that it asks for is over.
fn is_worth_a_turn(mut unread: impl Iterator<Item = (MessageKind, bool)>) -> bool {
    unread.any(|(kind, is_again)| kind != MessageKind::Notice || !is_again)
}

/// Requeues the messages of earlier hooks that ended before they had printed them.
async fn end_earlier(membership: &Membership) {
    match tokio::time::timeout(wait_times::HOOK, membership.end_hooks()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!("failed to requeue the messages of an earlier hook: {error}");
        }
        Err(_) => tracing::warn!("timed out while requeueing messages of an earlier hook"),
    }
}

/// Records what the model was shown.
async fn settle(record: impl Future<Output = Result<(), BusError>>) {
    match tokio::time::timeout(wait_times::HOOK, record).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("failed to record what the hook delivered: {error}"),
        Err(_) => tracing::warn!("timed out while recording what the hook delivered"),
    }
}

async fn receive(call: &mut Call) -> Result<Vec<LoadedMessage>, Failure> {
    call.begin_hook()?;
    let received = tokio::time::timeout(
        wait_times::HOOK,
        call.receive(DeliveryMethod::Hook, between_steps::pick()),
    )
    .await;
    Ok(received.map_err(|_| "timed out while reading the bus for the hook")??)
}

impl Outlet {
    /// Returns the answer in the form that the client reads.
    fn answer(self, words: &str) -> String {
        match self {
            Self::BesideResult => context("PostToolUse", words),
            Self::NextTurn(Prolonging::ByContext) => context("Stop", words),
            Self::NextTurn(Prolonging::ByReason) => reason(words),
        }
    }
}

impl NoticePlace {
    /// Returns the answer in the form that the clients read.
    fn answer(self, words: &str) -> String {
        match self {
            Self::BesideResults => context("PostToolBatch", words),
            Self::BesidePrompt => context("UserPromptSubmit", words),
            Self::NextTurn => reason(words),
        }
    }
}

/// Returns the answer that adds to the context on an event.
fn context(event: &str, words: &str) -> String {
    let output = json!({ "hookEventName": event, "additionalContext": words });
    json!({ "hookSpecificOutput": output }).to_string()
}

/// Returns the answer that makes the model go on, and says why.
fn reason(words: &str) -> String {
    json!({ "decision": "block", "reason": words }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(client: Client, input: &Value) -> Option<Act> {
        serde_json::from_value::<Occasion>(input.clone()).unwrap().act(client)
    }

    #[test]
    fn messages_go_only_where_a_hook_of_claude_code_can_carry_them() {
        let outlet = |input: &Value| match act(Client::ClaudeCode, input) {
            Some(Act::Deliver(outlet)) => Some(outlet),
            Some(Act::Announce(_)) => panic!("announced: {input}"),
            None => None,
        };
        let tool = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": { "a": [1] } });
        assert_eq!(outlet(&tool), Some(Outlet::BesideResult));
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
        let announced = Some(Act::Announce(NoticePlace::BesidePrompt));
        assert_eq!(act(Client::ClaudeCode, &prompt), announced);
        let stop = json!({ "hook_event_name": "Stop", "stop_hook_active": false });
        assert_eq!(outlet(&stop), Some(Outlet::NextTurn(Prolonging::ByReason)));
        let stop = json!({ "hook_event_name": "Stop", "prompt_id": "p-1" });
        assert_eq!(outlet(&stop), Some(Outlet::NextTurn(Prolonging::ByContext)));
        for other in ["SessionStart", "PostToolBatch"] {
            assert_eq!(outlet(&json!({ "hook_event_name": other })), None);
        }
        let of_subagent = json!({ "hook_event_name": "PostToolUse", "agent_id": "a1" });
        assert_eq!(outlet(&of_subagent), None);
    }

    #[test]
    fn hooks_of_other_clients_only_announce() {
        let on = |client, event: &str| {
            act(client, &json!({ "hook_event_name": event, "prompt_id": "p-1" }))
        };
        let (beside, next) = (NoticePlace::BesideResults, NoticePlace::NextTurn);
        assert_eq!(on(Client::QwenCode, "PostToolBatch"), Some(Act::Announce(beside)));
        assert_eq!(on(Client::QwenCode, "Stop"), Some(Act::Announce(next)));
        assert_eq!(on(Client::ClaudeCode, "AfterAgent"), Some(Act::Announce(next)));
        for silent in ["PostToolUse", "UserPromptSubmit", "BeforeAgent", "AfterTool"] {
            assert_eq!(on(Client::QwenCode, silent), None, "{silent}");
        }
        let of_subagent = json!({ "hook_event_name": "PostToolBatch", "agent_id": "a1" });
        assert_eq!(act(Client::QwenCode, &of_subagent), None);
    }

    #[test]
    fn the_answer_has_the_form_that_the_client_reads() {
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
        let answer =
            |place: NoticePlace| -> Value { serde_json::from_str(&place.answer("a")).unwrap() };
        assert_eq!(answer(NoticePlace::NextTurn), expected);
        let expected = json!({
            "hookSpecificOutput": { "hookEventName": "PostToolBatch", "additionalContext": "a" }
        });
        assert_eq!(answer(NoticePlace::BesideResults), expected);
    }

    /// The next conversation would answer the old notice instead of its user.
    #[test]
    fn a_notice_that_comes_again_puts_off_no_stop() {
        use MessageKind::{Message, Notice};
        let worth = |unread: &[(MessageKind, bool)]| is_worth_a_turn(unread.iter().copied());
        assert!(!worth(&[]) && !worth(&[(Notice, true)]));
        assert!(worth(&[(Notice, false)]) && worth(&[(Notice, true), (Notice, false)]));
        assert!(worth(&[(Message, true)]) && worth(&[(Notice, true), (Message, false)]));
    }
}
