//! The requests that a client may send: the server's identity, its tools, and calls of them. Calls that need the user's decision first
//! ask the user here.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ContentBlock, Implementation,
    InitializeRequestParams, InitializeResult, InputRequiredResult, JsonObject,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;

use super::push_messages::CHANNEL;
use super::server_handle::{Offered, Pushing, Server};
use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::domain::wait_times;
use crate::mcp::ask_consent::Asked;
use crate::mcp::caller::Interruptions;
use crate::mcp::decision_form::shows_forms_in_answers;
use crate::mcp::error::ToolError;
use crate::mcp::interrupted_wait::InterruptedWait;

/// How long a client may cache the list of tools: the tools stay, but one names the agents that are installed.
const LIST_TTL_MS: u64 = 60 * 1000;

impl ServerHandler for Server {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.versions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        if request.protocol_version == ProtocolVersion::V_2025_03_26 {
            // Every client of that version knows the one before it, but not the newest.
            answer.protocol_version = ProtocolVersion::V_2024_11_05;
        }
        Ok(answer)
    }

    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if self.shared.about.pushing == Pushing::ByChannel {
            let channel = (CHANNEL.to_owned(), JsonObject::new());
            capabilities.experimental = Some([channel].into_iter().collect());
        }
        let implementation = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        info.instructions = Some(self.shared.about.instructions.clone());
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // An empty cursor does no harm, and a client without our tools would.
        if request.and_then(|request| request.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            let problem = "`tools/list` has no such `cursor`: one answer holds all tools";
            return Err(ErrorData::invalid_params(problem, None));
        }
        let server = self.clone();
        self.tasks().spawn(async move {
            let ending = server.ending().clone();
            let membership =
                tokio::time::timeout(wait_times::JOIN, server.shared.membership.membership());
            tokio::select! {
                membership = membership => if let Ok(Ok(membership)) = membership {
                    server.announce_tools(&membership).await;
                },
                () = ending.cancelled() => {}
            }
        });
        let tools = self.shared.tools.iter();
        let tools = tools.map(Offered::listed).collect();
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
            && let Err(error) = user.consents.take_answers(answers)
        {
            let text = ContentBlock::text(error.to_string());
            return Ok(CallToolResult::error(vec![text]).into());
        }
        if let (Some(user), Some(membership)) =
            (&self.shared.user, self.shared.membership.current())
            && let Some(mut questions) = user.ask_by_answer(&request, &membership, &context).await
        {
            questions.request_state = request.request_state;
            return Ok(questions.into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let earlier = request.request_state.as_deref().and_then(InterruptedWait::parse);
        let answer = self.answer_or_ask(offered, (arguments.clone(), earlier), &context).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(questions) => return Ok(questions.into()),
        };
        if let (Err(ToolError::Unagreed(consent)), Some(user)) = (&answer, &self.shared.user) {
            answer = match user.consents.ask(consent, &context).await {
                Asked::Put(form) => return Ok(form.into()),
                Asked::Yes => {
                    let interruptions = Interruptions::default();
                    self.answer(offered, (arguments, interruptions), &context).await
                }
                Asked::No(error) => Err(error),
            };
        }
        let result = match answer {
            Ok(object) => CallToolResult::structured(Value::Object(object)),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }

    // The library would answer these with empty lists, although we declare no such capability.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let server = self.clone();
        if self.shared.about.pushing == Pushing::ByChannel {
            let (server, peer) = (server.clone(), context.peer.clone());
            self.tasks().spawn(async move { server.push_messages(peer).await });
        }
        // Tracked, like every task that runs on behalf of the server.
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
        // A running call is cancelled by its own token; this handles one that has been answered.
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

impl Server {
    /// Answers a call; or returns questions for the user, who has to answer them before the call waits on.
    async fn answer_or_ask(
        &self,
        offered: &Offered,
        (arguments, mut earlier): (JsonObject, Option<InterruptedWait>),
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<JsonObject, ToolError>, InputRequiredResult> {
        let asked = self.shared.user.as_ref().filter(|_| shows_forms_in_answers(context));
        loop {
            let interruptions = Interruptions::new(asked.cloned(), earlier);
            let answer = self.answer(offered, (arguments.clone(), interruptions), context).await;
            let Err(ToolError::UserIsAsked(wait)) = answer else {
                return Ok(answer);
            };
            let membership = self.shared.membership.current();
            let asking = asked.zip(membership.as_ref());
            let questions = asking.and_then(|(user, membership)| user.questions(membership));
            if let Some(mut questions) = questions {
                questions.request_state = Some(wait.to_state());
                return Err(questions);
            }
            // The question has been answered elsewhere in the meantime.
            earlier = Some(*wait);
        }
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
}
