//! `wait_for_message`: the next matching message, as soon as there is one.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sender_filter::sender;
use crate::bus::rules::Refusal;
use crate::bus::state::Session;
use crate::bus::{LoadedMessage, Membership, WaitFor, Waited};
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::member::{Activity, MemberKind};
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::mcp::interrupted_wait::DoneBefore;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::tool::at_most;
use crate::mcp::{CallTimeout, Caller, Effect, InboxMode, MessageView, Tool, ToolError};
use crate::view::doing::{Doing, awaited};

#[derive(Default)]
pub(crate) struct WaitForMessage {
    /// The team of a caller that can start agents.
    pub(crate) leading: Option<OrchestratorTeam>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Only from this member.
    from: Option<String>,
    /// Only about this request.
    request_id: Option<String>,
    /// 0 to 120; default 30. 0 looks once.
    timeout_seconds: Option<u64>,
    /// Only the answer to this message of yours.
    reply_to: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The most urgent, then oldest, unread message that fits, if one came.
    message: Option<MessageView>,
    /// Whether the wait timed out.
    timed_out: bool,
    /// A further note.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The agents at work of which the progress of a wait says what they do: a client shows it in a line.
const MOST_AT_WORK: usize = 3;

/// The note for a model that may see the message again.
const ALSO_IN_TURN: &str = "this message may appear in your turn a second time; it is the same one";

/// The note for a model whose wait does not begin.
const IN_TURN: &str =
    "your messages were delivered into your turn: read them there. Wait again for others";

impl Input {
    fn seconds(&self) -> u64 {
        self.timeout_seconds.unwrap_or(wait_times::WAIT_SECONDS)
    }
}

impl Tool for WaitForMessage {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "wait_for_message";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "Wait for a message, such as the answer to your request; \
        returns at once if an unread message fits. After a timeout, do other work or wait again.";
    const MAIL: InboxMode = InboxMode::IsTheAnswer;

    fn patience(&self, input: &Input) -> CallTimeout {
        let seconds = input.seconds().min(wait_times::MAX_WAIT_SECONDS);
        CallTimeout::Waits(Duration::from_secs(seconds))
    }

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let (seconds, shortened) =
            at_most("timeout_seconds", input.seconds(), wait_times::MAX_WAIT_SECONDS);
        let from = input.from.map(|from| sender(caller, &from)).transpose()?;
        let request = input.request_id.map(|id| known_request(caller, &id));
        let request = request.transpose()?;
        let reply_to = input.reply_to.map(|id| own_message(&id)).transpose()?;
        let Caller { call, progress, interruptions, .. } = caller;
        let limit = interruptions.rest_of(Duration::from_secs(seconds));
        let membership = call.membership().clone();
        let waiting = call.wait(WaitFor { from, request, reply_to }, limit);
        let words = || waiting_words("a message", &membership, self.leading.as_ref());
        let waiting = progress.during(limit, words, waiting);
        let waited =
            interruptions.during(&membership, (limit, DoneBefore::default()), waiting).await??;
        let (message, timed_out, note) = outcome(waited, membership.name());
        let notes: Vec<_> = note.into_iter().chain(shortened).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(Output { message, timed_out, note })
    }
}

/// Says what a member waits for, and what the one whose message it waits for is doing; without such a one, what the agents are doing that
/// are at work.
pub(super) fn waiting_words(
    what: &str,
    me: &Membership,
    leading: Option<&OrchestratorTeam>,
) -> String {
    let now = me.bus().now();
    let doing: Vec<_> = me.bus().look(|state| {
        let own = state.session(me.session());
        let awaited = own.and_then(|own| awaited(state, own)).and_then(|name| state.live(name));
        let is_at_work = |live: &&Session| live.id != me.session() && is_at_work(live);
        let shown: Vec<_> = match awaited {
            Some(only) => vec![only],
            None => state.live_sessions().into_iter().filter(is_at_work).collect(),
        };
        let doing = |live: &Session| {
            (live.id, live.name.clone(), Doing::look(state, live, now).in_words(|_| None))
        };
        shown.into_iter().map(doing).collect()
    });
    let more = doing.len().saturating_sub(MOST_AT_WORK);
    let said = doing.into_iter().take(MOST_AT_WORK).map(|(session, name, doing)| {
        match leading.and_then(|leading| leading.team(me).doing_in_turn(session)) {
            Some(now) => format!("{name} {now}"),
            None => format!("{name}: {doing}"),
        }
    });
    let more = (more > 0).then(|| format!("and {more} more are at work"));
    let words = std::iter::once(format!("waiting for {what}")).chain(said).chain(more);
    words.collect::<Vec<_>>().join("; ")
}

/// Says whether an agent has something to do.
fn is_at_work(live: &Session) -> bool {
    live.kind == MemberKind::Agent
        && (live.activity != Activity::Idle || !live.queue.is_empty() || live.running.is_some())
}

/// Returns the message that a wait has brought, whether it timed out, and a note.
pub(super) fn outcome(
    waited: Waited,
    reader: &Name,
) -> (Option<MessageView>, bool, Option<String>) {
    let view = |letter: Box<LoadedMessage>| Some(MessageView::of(*letter, reader));
    match waited {
        Waited::Message(letter) => (view(letter), false, None),
        Waited::AlsoInTurn(letter) => (view(letter), false, Some(ALSO_IN_TURN.to_owned())),
        Waited::TimedOut => (None, true, None),
        // Another wait of this member received the shutdown, which ended this one.
        Waited::Ended => (None, false, None),
        Waited::NoAnswer(why) => (None, false, Some(why.to_string())),
        Waited::InTurn => (None, false, Some(IN_TURN.to_owned())),
    }
}

fn own_message(text: &str) -> Result<MessageId, ToolError> {
    if RequestId::parse(text).is_ok() {
        let problem =
            "`reply_to` is a message of yours: for the answer to a request, give request_id";
        return Err(ToolError::Arguments(problem.to_owned()));
    }
    Ok(MessageId::parse(text)?)
}

fn known_request(caller: &Caller, text: &str) -> Result<RequestId, ToolError> {
    let id = RequestId::parse(text)?;
    caller.bus().refresh()?;
    match caller.membership().known_request(&id) {
        Some(_) => Ok(id),
        None => Err(Refusal::UnknownRequest { id }.into()),
    }
}
