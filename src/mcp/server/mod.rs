//! The server: what a client may ask for, and the guard around every call of a tool.
//!
//! However a call ends, what it was handed is accounted for: answered, or given back. An answer that the client takes back
//! when it is already on its way counts as never given.

pub(crate) mod client_pipes;
pub(crate) mod first_message;
pub(crate) mod read_line;
pub(crate) mod serve_stdio;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use rmcp::model::{
    self, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ContentBlock, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, RequestId,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::client_pipes::Arrival;
use super::ask_consent::Asked;
use super::ask_user::User;
use super::caller::{Caller, Progress};
use super::error::ToolError;
use super::lazy_membership::LazyMembership;
use super::shapes::message_shape::views;
use super::tool::json_schema::INBOX;
use super::tool::{AnyTool, CallTimeout, InboxMode, Prepared};
use crate::bus::rules::{Operation, Pick};
use crate::bus::{Answer, BusError, Membership};
use crate::domain::ids::CallId;
use crate::domain::limits;
use crate::domain::member::Tools;
use crate::domain::message::DeliveryMethod;
use crate::domain::text::suggest::nearest;
use crate::team::UserReachable;

/// A tool that does not wait answers within this.
const TOOL_LIMIT: Duration = Duration::from_millis(limits::TOOL_MS);

/// How long a call waits for its membership: a name may be waited for as long as its holder takes to leave, and then the bus.
const SEAT_LIMIT: Duration = TOOL_LIMIT.saturating_mul(2);

/// When it is said again that the tools are ready, after the bus could not take it.
const ANNOUNCE_AGAIN: Duration = Duration::from_millis(500);

/// How long a client may keep the list of tools: it never changes while a server lives.
const LIST_TTL_MS: u64 = 60 * 60 * 1000;

/// Answered calls that are remembered in case their client takes them back: as many as the wire remembers.
const RECENT: usize = client_pipes::REMEMBERED;

/// How much room an answer has to have before messages ride along on it: for one with a sentence.
const LEAST_ROOM: usize = 2 * limits::HEADER_BYTES;

/// How a server introduces itself.
#[derive(Clone, Debug)]
pub struct About {
    /// What a model is told about all the tools together.
    pub instructions: String,
}

/// An MCP server with some tools for one membership. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Inner>,
}

struct Inner {
    about: About,
    tools: Vec<Offered>,
    membership: LazyMembership,
    /// The client's user, where that one is asked something.
    user: Option<User>,
    recent: Mutex<VecDeque<(RequestId, CallId)>>,
    /// Cancelled when the client goes away: ends the calls that wait.
    ending: CancellationToken,
    tasks: TaskTracker,
    /// Held by whoever says on the bus that the tools are there.
    announcing: tokio::sync::Mutex<()>,
    /// How long a tool that does not wait may take.
    limit: Duration,
}

/// A tool with what `tools/list` shows of it.
struct Offered {
    tool: Box<dyn AnyTool>,
    definition: model::Tool,
}

impl Server {
    /// Makes a server with these tools, shown in this order.
    pub fn new(about: About, tools: Vec<Box<dyn AnyTool>>, membership: LazyMembership) -> Self {
        Self::with_limit(about, tools, membership, TOOL_LIMIT)
    }

    /// Makes the same server, whose client's user is asked what agents want to be allowed.
    pub fn asking_users(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        human: UserReachable,
    ) -> Self {
        Self::made(about, tools, membership, (TOOL_LIMIT, Some(User::new(human))))
    }

    /// Makes a server whose tools may take so long.
    pub(super) fn with_limit(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        limit: Duration,
    ) -> Self {
        Self::made(about, tools, membership, (limit, None))
    }

    fn made(
        about: About,
        tools: Vec<Box<dyn AnyTool>>,
        membership: LazyMembership,
        (limit, user): (Duration, Option<User>),
    ) -> Self {
        let offered = tools.into_iter().map(|tool| Offered { definition: tool.definition(), tool });
        Self {
            shared: Arc::new(Inner {
                about,
                tools: offered.collect(),
                membership,
                user,
                recent: Mutex::default(),
                ending: CancellationToken::new(),
                tasks: TaskTracker::new(),
                announcing: tokio::sync::Mutex::default(),
                limit,
            }),
        }
    }

    /// Returns whose calls it answers.
    pub fn membership(&self) -> &LazyMembership {
        &self.shared.membership
    }

    /// Returns the token that tells the calls that wait that the client is gone.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.shared.ending
    }

    /// Returns everything that runs on behalf of this server.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.shared.tasks
    }

    fn find(&self, name: &str) -> Result<&Offered, ErrorData> {
        let found = self.shared.tools.iter().find(|offered| offered.tool.name() == name);
        found.ok_or_else(|| {
            let known = self.shared.tools.iter().map(|offered| offered.tool.name());
            let hint = match nearest(name, known.clone()) {
                near if near.is_empty() => {
                    format!("the tools are {}", known.collect::<Vec<_>>().join(", "))
                }
                near => format!("did you mean {}?", near.join(" or ")),
            };
            let shown: String = name.chars().take(limits::SHOWN_NAME_CHARS).collect();
            ErrorData::invalid_params(format!("there is no tool `{shown}`: {hint}"), None)
        })
    }

    /// Does a call, from taking the membership to the answer.
    async fn answer(
        &self,
        offered: &Offered,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<JsonObject, ToolError> {
        let name = offered.tool.name();
        let too_slow = ToolError::TooSlow { tool: name, seconds: SEAT_LIMIT.as_secs() };
        let membership = tokio::select! {
            membership = tokio::time::timeout(SEAT_LIMIT, self.shared.membership.membership()) => {
                membership.map_err(|_| too_slow)??
            }
            () = context.ct.cancelled() => return Err(ToolError::Cancelled { tool: name }),
        };
        membership.check_lives()?;
        self.prove_tools(&membership);
        // That this call came proves that the answers that its client had were taken, whatever becomes of this one.
        let arrival = context.extensions.get::<Arrival>();
        let mut caller = Caller {
            call: membership.call_at(arrival.map_or(0, |arrival| arrival.at)),
            progress: Progress::of(context),
        };
        let prepared = offered.tool.prepare(&offered.definition.input_schema, arguments);
        let (answer, was_read) = match prepared {
            // Nothing was handed to it.
            Err(error) => (Err(error), true),
            Ok(prepared) => {
                let tool = offered.tool.as_ref();
                let answer = self.perform(tool, prepared, &mut caller, context).await;
                let was_read = answer.is_ok();
                (answer, was_read)
            }
        };
        self.settle(caller, &membership, was_read, context).await;
        if let Err(error) = &answer {
            self.shared.membership.heard(error);
        }
        answer
    }

    /// Runs a call's work, guarded against panics, endless waiting, and a client that wants it no more.
    async fn perform(
        &self,
        tool: &dyn AnyTool,
        prepared: Box<dyn Prepared + '_>,
        caller: &mut Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<JsonObject, ToolError> {
        let name = tool.name();
        let patience = prepared.patience();
        let limit = match patience {
            CallTimeout::Short => self.shared.limit,
            CallTimeout::Waits(long) => long + self.shared.limit,
        };
        let work = AssertUnwindSafe(with_mail(tool.mail(), prepared, caller)).catch_unwind();
        let waits = matches!(patience, CallTimeout::Waits(_));
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ToolError::Cancelled { tool: name }),
            () = self.shared.ending.cancelled(), if waits => {
                Err(ToolError::Cancelled { tool: name })
            }
            done = tokio::time::timeout(limit, work) => match done {
                Ok(Ok(done)) => done,
                Ok(Err(panic)) => {
                    tracing::error!("`{name}` panicked: {}", told(panic.as_ref()));
                    Err(ToolError::Panicked { tool: name })
                }
                Err(_) => Err(ToolError::TooSlow { tool: name, seconds: limit.as_secs() }),
            },
        }
    }

    /// Accounts for what a call was handed.
    async fn settle(
        &self,
        caller: Caller,
        membership: &Membership,
        was_read: bool,
        context: &RequestContext<RoleServer>,
    ) {
        let id = caller.call.id();
        let settling = async {
            if !was_read {
                return caller.call.give_back().await;
            }
            let arrival = context.extensions.get::<Arrival>();
            let answer = arrival.map(|arrival| arrival.answer.clone());
            let answer = answer.unwrap_or_default();
            if caller.call.answered_by(answer.clone()).await {
                self.follow(membership.clone(), id, answer);
            }
            self.remember(context.id.clone(), id);
            // Taken back just now: the answer will not be sent.
            if context.ct.is_cancelled() {
                membership.unanswered(id).await?;
            }
            Ok(())
        };
        match tokio::time::timeout(TOOL_LIMIT, settling).await {
            Ok(Ok(())) => {}
            // The deadline of a hand-over gives it back in the end.
            Ok(Err(error)) => tracing::debug!(
                "failed to record whether a call was answered: \
                {error}"
            ),
            Err(_) => tracing::warn!("timed out while recording whether a call was answered"),
        }
    }

    /// Sees to it that the bus learns what becomes of an answer on which something hangs.
    fn follow(&self, membership: Membership, call: CallId, answer: Answer) {
        let ending = self.ending().clone();
        self.tasks().spawn(async move {
            let was_given = tokio::select! {
                biased;
                was_given = answer.was_given() => was_given,
                // The end of the session gives back what is left.
                () = ending.cancelled() => return,
            };
            let noted = if was_given {
                membership.written(call).await
            } else {
                membership.unanswered(call).await
            };
            if let Err(error) = noted {
                // What is not known to be written is given back by the end of the turn.
                tracing::debug!("failed to record whether an answer was written: {error}");
            }
        });
    }

    fn remember(&self, request: RequestId, call: CallId) {
        let mut recent = self.recent();
        recent.push_back((request, call));
        if recent.len() > RECENT {
            recent.pop_front();
        }
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<(RequestId, CallId)>> {
        // A list of pairs, each pushed in one step.
        self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that a session whose tool was called counts as one that has our tools.
    fn prove_tools(&self, membership: &Membership) {
        if !are_unproven(membership) {
            return;
        }
        let (server, membership, ending) =
            (self.clone(), membership.clone(), self.ending().clone());
        self.tasks().spawn(async move {
            tokio::select! {
                () = server.announce_tools(&membership) => {}
                () = ending.cancelled() => {}
            }
        });
    }

    /// Says on the bus that this session has our tools, unless that is known: again and again until the bus has taken it.
    async fn announce_tools(&self, membership: &Membership) {
        let Ok(_alone) = self.shared.announcing.try_lock() else {
            return;
        };
        let session = membership.session();
        let mut has_failed = false;
        while are_unproven(membership) {
            let ask = Operation::Tools { session, tools: Tools::Ready };
            match membership.ask(ask).await {
                Ok(_) => return,
                Err(error @ (BusError::Refused(_) | BusError::Closed)) => {
                    tracing::debug!("the bus did not record that the tools are ready: {error}");
                    return;
                }
                Err(error) if has_failed => tracing::debug!("the tools are ready: {error}"),
                Err(error) => tracing::warn!("failed to record that the tools are ready: {error}"),
            }
            has_failed = true;
            tokio::time::sleep(ANNOUNCE_AGAIN).await;
        }
    }
}

/// Says whether it is not known on the bus that a session has our tools.
fn are_unproven(membership: &Membership) -> bool {
    membership.bus().look(|state| {
        let session = state.session(membership.session());
        session.is_some_and(|session| session.tools != Tools::Ready)
    })
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        info.instructions = Some(self.shared.about.instructions.clone());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let server = self.clone();
        self.tasks().spawn(async move {
            let ending = server.ending().clone();
            let membership =
                tokio::time::timeout(SEAT_LIMIT, server.shared.membership.membership());
            tokio::select! {
                membership = membership => if let Ok(Ok(membership)) = membership {
                    server.announce_tools(&membership).await;
                },
                () = ending.cancelled() => {}
            }
        });
        let tools = self.shared.tools.iter();
        let tools = tools.map(|offered| offered.definition.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = self.tasks().token();
        let offered = self.find(&request.name)?;
        if let (Some(user), Some(answers)) = (&self.shared.user, &request.input_responses)
            && let Err(error) = user.consents.hear(answers)
        {
            let told = ContentBlock::text(error.to_string());
            return Ok(CallToolResult::error(vec![told]).into());
        }
        if let (Some(user), Some(membership)) =
            (&self.shared.user, self.shared.membership.current())
            && let Some(questions) = user.ask_by_answer(&request, &membership, &context).await
        {
            return Ok(questions.into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let mut answer = self.answer(offered, arguments.clone(), &context).await;
        if let (Err(ToolError::Unagreed(consent)), Some(user)) = (&answer, &self.shared.user) {
            answer = match user.consents.ask(consent, &context).await {
                Asked::Put(form) => return Ok(form.into()),
                Asked::Yes => self.answer(offered, arguments, &context).await,
                Asked::No(error) => Err(error),
            };
        }
        let result = match answer {
            Ok(object) => CallToolResult::structured(Value::Object(object)),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let server = self.clone();
        // Tracked, as everything that runs on behalf of the server.
        self.tasks().spawn(async move {
            if let Some(user) = &server.shared.user {
                let (membership, ending) = (server.membership().clone(), server.ending().clone());
                user.ask_by_requests(context.peer, membership, ending).await;
            }
        });
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        // A call that still runs hears of it by its own token; this is about one that has been answered.
        let call = self
            .recent()
            .iter()
            .rev()
            .find(|(request, _)| Some(request) == notification.request_id.as_ref())
            .map(|(_, call)| *call);
        if let (Some(call), Some(membership)) = (call, self.shared.membership.current())
            && let Err(error) = membership.unanswered(call).await
        {
            tracing::debug!("failed to requeue the messages of a dropped answer: {error}");
        }
    }
}

/// Runs a call and lets unread messages ride along on its result.
async fn with_mail(
    mail: InboxMode,
    prepared: Box<dyn Prepared + '_>,
    caller: &mut Caller,
) -> Result<JsonObject, ToolError> {
    let mut object = prepared.run(caller).await?;
    if mail == InboxMode::RidesAlong {
        let pick = Pick {
            only: None,
            from: None,
            kind: None,
            limit: limits::PIGGYBACK_MESSAGES,
            bytes: limits::PIGGYBACK_BYTES,
            head_bytes: limits::PIGGYBACK_BYTES,
        };
        // What is asked for comes first; messages that find no room come with the next call.
        let answer = serde_json::to_string_pretty(&object).map_or(usize::MAX, |text| text.len());
        let room = caller.membership().answer_room().saturating_sub(answer);
        if room < LEAST_ROOM {
            return Ok(object);
        }
        let most = limits::PIGGYBACK_BYTES + limits::PIGGYBACK_MESSAGES * limits::HEADER_BYTES;
        match caller.call.take_into(room.min(most), DeliveryMethod::Piggyback, pick).await {
            Ok(letters) if letters.is_empty() => {}
            Ok(letters) => {
                let inbox = serde_json::to_value(views(letters)).expect("messages are plain data");
                object.insert(INBOX.to_owned(), inbox);
            }
            // What was asked for is done; the messages stay in the inbox.
            Err(error) => tracing::warn!("failed to attach unread messages to a result: {error}"),
        }
    }
    Ok(object)
}

/// Returns the words of a panic.
fn told(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
