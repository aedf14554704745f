//! The client's side: how a program of ours uses an MCP server of ours, as any client would.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

/// How long the server may take to introduce itself.
const GREETING: Duration = Duration::from_secs(10);

/// Why a client has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server did not introduce itself.
    #[error("the MCP server did not start: {0}")]
    NotStarted(String),
    /// The call has no answer.
    #[error("`{tool}` has no answer: {problem}")]
    NoAnswer {
        /// Which tool.
        tool: String,
        /// Why.
        problem: String,
    },
    /// The tool says no.
    #[error("`{tool}` says: {problem}")]
    Refused {
        /// Which tool.
        tool: String,
        /// Its words.
        problem: String,
    },
}

/// A connection to an MCP server over its pipes.
pub struct Client {
    service: RunningService<RoleClient, ()>,
}

impl Client {
    /// Connects, and introduces itself.
    pub async fn connect<R, W>(output: R, input: W) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let serving = ().serve(AsyncRwTransport::new_client(output, input));
        match tokio::time::timeout(GREETING, serving).await {
            Ok(Ok(service)) => Ok(Self { service }),
            Ok(Err(error)) => Err(ClientError::NotStarted(error.to_string())),
            Err(_) => Err(ClientError::NotStarted(format!(
                "no greeting within {GREETING:?}"
            ))),
        }
    }

    /// Returns the names of the server's tools.
    pub async fn tools(&self) -> Result<Vec<String>, ClientError> {
        let listed = self.service.list_all_tools().await;
        let tools = listed.map_err(|error| no_answer("tools/list", &error))?;
        Ok(tools
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect())
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
                problem: "the arguments are no object".to_owned(),
            });
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(limit);
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        let answer = match sent {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        match answer.map_err(|error| no_answer(tool, &error))? {
            ServerResult::CallToolResult(result) if result.is_error == Some(true) => {
                let texts = result
                    .content
                    .iter()
                    .filter_map(|content| content.as_text());
                let problem = texts
                    .map(|text| text.text.as_str())
                    .collect::<Vec<_>>()
                    .join("\n");
                Err(ClientError::Refused {
                    tool: tool.to_owned(),
                    problem,
                })
            }
            ServerResult::CallToolResult(result) => {
                Ok(result.structured_content.unwrap_or(Value::Null))
            }
            other => Err(ClientError::NoAnswer {
                tool: tool.to_owned(),
                problem: format!("{other:?} is no result"),
            }),
        }
    }

    /// Closes the connection: the server sees the end of its input.
    pub async fn close(self) {
        if let Err(error) = self.service.cancel().await {
            tracing::debug!("the connection ended badly: {error}");
        }
    }
}

fn no_answer(tool: &str, error: &rmcp::ServiceError) -> ClientError {
    ClientError::NoAnswer {
        tool: tool.to_owned(),
        problem: error.to_string(),
    }
}
