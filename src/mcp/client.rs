//! The client side: our own programs use our MCP servers with it, like any other client.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::wait_times;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    FormElicitationCapability, Implementation, InputRequest, InputRequiredResult, InputResponses,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RequestContext, RoleClient,
    RunningService,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

/// Why a client has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server did not introduce itself.
    #[error("the MCP server did not start: {0}")]
    NotStarted(String),
    /// The call has no answer.
    #[error("`{tool}` did not answer: {problem}")]
    NoAnswer { tool: String, problem: String },
    /// The tool returned an error.
    #[error("`{tool}` says: {problem}")]
    Refused {
        tool: String,
        /// The tool's error.
        problem: String,
    },
}

/// How often a call is repeated because the server asks for input first, as in other clients.
const ROUNDS: usize = 10;

/// How a user answers a form: from its text to whether it is accepted, with the first choice in each field, or declined; `None` closes
/// the form.
#[derive(Clone)]
pub struct Forms(Arc<Fill>);

type Fill = dyn Fn(&str) -> Option<bool> + Send + Sync;

impl Forms {
    /// Answers forms with a function.
    pub fn new(fill: impl Fn(&str) -> Option<bool> + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    fn fill(&self, form: &ElicitRequestParams) -> ElicitResult {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = form
        else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        match (self.0)(message) {
            Some(true) => {
                let schema = json!(requested_schema);
                let fields = schema["properties"].as_object().into_iter().flatten();
                let word = |field: &Value| match field.get("enum") {
                    Some(offers) => offers[0].clone(),
                    None => json!("yes"),
                };
                let chosen = fields.map(|(name, field)| (name.clone(), word(field)));
                let content = Value::Object(chosen.collect());
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            Some(false) => ElicitResult::new(ElicitationAction::Decline),
            None => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

/// The lifecycle of the protocol that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// It introduces itself, and takes requests.
    Session,
    /// It sends all metadata with every request, and takes no requests.
    Stateless,
}

/// Answers the server's requests.
#[derive(Clone, Default)]
struct Handler {
    forms: Option<Forms>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let form = ElicitationCapability::default().with_form(FormElicitationCapability::default());
        capabilities.elicitation = self.forms.as_ref().map(|_| form);
        let about = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, about)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(match &self.forms {
            Some(forms) => forms.fill(&request),
            None => ElicitResult::new(ElicitationAction::Cancel),
        })
    }
}

/// A connection to an MCP server over its pipes.
pub struct Client {
    service: RunningService<RoleClient, Handler>,
    forms: Option<Forms>,
}

impl Client {
    /// Connects, and introduces itself.
    pub async fn connect<R, W>(output: R, input: W) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::connect_as(output, input, Lifecycle::Session, None).await
    }

    /// Connects in one of the lifecycles, with or without a user who fills in forms.
    pub async fn connect_as<R, W>(
        output: R,
        input: W,
        lifecycle: Lifecycle,
        forms: Option<Forms>,
    ) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let mode = match lifecycle {
            Lifecycle::Session => ClientLifecycleMode::Initialize,
            Lifecycle::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let handler = Handler { forms: forms.clone() };
        let transport = AsyncRwTransport::new_client(output, input);
        let serving = handler.serve_with_lifecycle(transport, mode);
        match tokio::time::timeout(wait_times::GREETING, serving).await {
            Ok(Ok(service)) => Ok(Self { service, forms }),
            Ok(Err(error)) => Err(ClientError::NotStarted(error.to_string())),
            Err(_) => Err(ClientError::NotStarted(format!(
                "no answer to `initialize` within {:?}",
                wait_times::GREETING
            ))),
        }
    }

    /// Returns the names of the server's tools.
    pub async fn tools(&self) -> Result<Vec<String>, ClientError> {
        let listed = self.service.list_all_tools().await;
        let tools = listed.map_err(|error| no_answer("tools/list", &error))?;
        Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    /// Calls a tool, and returns its structured result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Value,
        limit: Duration,
    ) -> Result<Value, ClientError> {
        let Value::Object(arguments) = arguments else {
            return Err(ClientError::NoAnswer {
                tool: tool.to_owned(),
                problem: "the arguments are not an object".to_owned(),
            });
        };
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..ROUNDS {
            match self.call_once(tool, params.clone(), limit).await? {
                ServerResult::InputRequiredResult(required) => {
                    params.request_state.clone_from(&required.request_state);
                    params.input_responses = Some(self.inputs(required));
                }
                answer => return result(tool, answer),
            }
        }
        Err(ClientError::NoAnswer {
            tool: tool.to_owned(),
            problem: format!("the server asked for input more than {ROUNDS} times"),
        })
    }

    async fn call_once(
        &self,
        tool: &str,
        params: CallToolRequestParams,
        limit: Duration,
    ) -> Result<ServerResult, ClientError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(limit);
        let sent = self.service.send_cancellable_request(request, options).await;
        let answer = match sent {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| no_answer(tool, &error))
    }

    /// Lets the user fill in the forms that the server asks for.
    fn inputs(&self, required: InputRequiredResult) -> InputResponses {
        let requests = required.input_requests.into_iter().flatten();
        let filled = requests.filter_map(|(key, request)| match (request, &self.forms) {
            (InputRequest::Elicitation(form), Some(forms)) => {
                let result = serde_json::to_value(forms.fill(&form.params)).ok()?;
                Some((key, result))
            }
            _ => None,
        });
        filled.collect()
    }

    /// Closes the connection: the server sees the end of its input.
    pub async fn close(self) {
        if let Err(error) = self.service.cancel().await {
            tracing::debug!("the connection ended with an error: {error}");
        }
    }
}

fn no_answer(tool: &str, error: &rmcp::ServiceError) -> ClientError {
    ClientError::NoAnswer { tool: tool.to_owned(), problem: error.to_string() }
}

/// Returns the structured result of a call, or the tool's error.
fn result(tool: &str, answer: ServerResult) -> Result<Value, ClientError> {
    match answer {
        ServerResult::CallToolResult(result) if result.is_error == Some(true) => {
            let texts = result.content.iter().filter_map(|content| content.as_text());
            let problem = texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n");
            Err(ClientError::Refused { tool: tool.to_owned(), problem })
        }
        ServerResult::CallToolResult(result) => {
            Ok(result.structured_content.unwrap_or(Value::Null))
        }
        other => Err(ClientError::NoAnswer {
            tool: tool.to_owned(),
            problem: format!("{other:?} is not a result"),
        }),
    }
}
