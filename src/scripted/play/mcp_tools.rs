//! The MCP client side: starts the servers of a session, calls their tools, and ends them.

use std::path::Path;
use std::process::Stdio;

use agent_client_protocol::v1::schema::McpServerStdio;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
};
use rmcp::service::{Peer, RoleClient, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::{ServiceExt, service::ClientInitializeError};
use serde_json::{Map, Value};
use tokio::process::{Child, Command};

use crate::domain::{grace_periods, wait_times};

/// Variables that a server inherits from our own environment; the client has to list all others.
const INHERITED: [&str; 5] = ["HOME", "PATH", "LANG", "TERM", "TMPDIR"];

/// Why tools cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ToolsError {
    #[error("failed to start the MCP server `{server}`: {reason}")]
    Start { server: String, reason: String },
    #[error("the MCP servers were not ready within {} s", wait_times::SCRIPTED_SERVERS.as_secs())]
    StartDeadline,
    #[error("no MCP server was given")]
    None,
    #[error("failed to call `{tool}`: {reason}")]
    Call { tool: String, reason: String },
    #[error("`{tool}` did not answer within {} s", wait_times::SCRIPTED_CALL.as_secs())]
    CallDeadline { tool: String },
}

/// A tool's answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The structured result, or the JSON in its text, or `{"text": …}`.
    Result(Value),
    /// The error message of a tool that failed.
    Error(String),
}

/// One running MCP server. Its owner ends it; if it is dropped, it is killed.
pub(crate) struct Server {
    name: String,
    service: RunningService<RoleClient, ClientConfig>,
    child: Option<Child>,
}

impl Server {
    /// Starts all servers, in order, before the deadline.
    pub(crate) async fn start_all(
        servers: &[McpServerStdio],
        cwd: &Path,
    ) -> Result<Vec<Self>, ToolsError> {
        let start = async {
            let mut started = Vec::new();
            for server in servers {
                started.push(Self::start(server, cwd).await?);
            }
            Ok(started)
        };
        tokio::time::timeout(wait_times::SCRIPTED_SERVERS, start)
            .await
            .unwrap_or(Err(ToolsError::StartDeadline))
    }

    async fn start(server: &McpServerStdio, cwd: &Path) -> Result<Self, ToolsError> {
        let failed = |reason: String| ToolsError::Start { server: server.name.clone(), reason };
        let mut child = Command::new(&server.command)
            .args(&server.args)
            .env_clear()
            .envs(INHERITED.iter().filter_map(|key| Some((key, std::env::var_os(key)?))))
            .envs(server.env.iter().map(|variable| (&variable.name, &variable.value)))
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", server.command.display())))?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let started = Self::connect(&server.name, (stdout, stdin)).await.map_err(failed)?;
        Ok(Self { child: Some(child), ..started })
    }

    /// Introduces the agent to a server over given streams and lists its tools, as real agents do first.
    pub(crate) async fn connect<T, E, A>(name: &str, transport: T) -> Result<Self, String>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let identity = Implementation::new("scripted-agent", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), identity);
        let service = client
            .serve(transport)
            .await
            .map_err(|error: ClientInitializeError| error.to_string())?;
        service.list_all_tools().await.map_err(|error| error.to_string())?;
        Ok(Self { name: name.to_owned(), service, child: None })
    }

    /// Returns the handle to call its tools.
    pub(crate) fn toolbox(&self) -> Toolbox {
        Toolbox { server: self.name.clone(), peer: self.service.peer().clone() }
    }

    /// Ends the server: closes its stdin, waits, then kills it.
    pub(crate) async fn end(mut self) {
        let end = async {
            // The server may have ended by itself; in both cases it is closed now.
            self.service.close().await.ok();
            if let Some(child) = &mut self.child {
                child.wait().await.ok();
            }
        };
        let in_time = tokio::time::timeout(grace_periods::SCRIPTED_SERVER, end).await;
        if let (Err(_), Some(mut child)) = (in_time, self.child) {
            // An error means that the server is gone already.
            child.kill().await.ok();
        }
    }
}

/// The tools of one server, for a turn.
#[derive(Clone)]
pub(crate) struct Toolbox {
    server: String,
    peer: Peer<RoleClient>,
}

impl Toolbox {
    /// Returns the title under which real agents show a tool.
    pub(crate) fn title(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.server)
    }

    /// Calls a tool. Dropping the future before the answer cancels the call at the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, ToolsError> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answer =
            tokio::time::timeout(wait_times::SCRIPTED_CALL, self.peer.call_tool(request)).await;
        match answer {
            Err(_) => Err(ToolsError::CallDeadline { tool: tool.to_owned() }),
            Ok(Ok(result)) => Ok(read_answer(result)),
            // A protocol error about this call, such as an unknown tool, is an answer that a model would see.
            Ok(Err(ServiceError::McpError(error))) => Ok(Answer::Error(error.message.into_owned())),
            Ok(Err(error)) => {
                Err(ToolsError::Call { tool: tool.to_owned(), reason: error.to_string() })
            }
        }
    }
}

fn read_answer(result: CallToolResult) -> Answer {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|content| content.as_text())
        .map(|text| text.text.as_str())
        .collect();
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        return Answer::Error(text);
    }
    let value = result.structured_content.or_else(|| serde_json::from_str(&text).ok());
    Answer::Result(value.unwrap_or_else(|| serde_json::json!({ "text": text })))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use rmcp::handler::server::wrapper::Parameters;
    use rmcp::model::ServerConfig;
    use rmcp::service::{RequestContext, RoleServer};
    use rmcp::{ErrorData, Json, ServerHandler, tool, tool_handler, tool_router};
    use serde_json::json;
    use std::sync::Arc;
    use tokio::sync::Notify;

    #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    struct Text {
        text: String,
    }

    /// A server outside of this crate.
    #[derive(Clone, Default)]
    struct Fake {
        called: Arc<Notify>,
        cancelled: Arc<Notify>,
    }

    #[tool_router]
    impl Fake {
        #[tool(description = "Says it again")]
        async fn echo(&self, Parameters(text): Parameters<Text>) -> Result<Json<Text>, ErrorData> {
            Ok(Json(text))
        }

        #[tool(description = "Answers with text only")]
        async fn plain(&self) -> String {
            "just text".to_owned()
        }

        #[tool(description = "Fails")]
        async fn fail(&self) -> Result<String, String> {
            Err("nothing works".to_owned())
        }

        #[tool(description = "Waits until it is cancelled")]
        async fn wait(&self, context: RequestContext<RoleServer>) -> String {
            self.called.notify_one();
            context.ct.cancelled().await;
            self.cancelled.notify_one();
            String::new()
        }
    }

    #[tool_handler]
    impl ServerHandler for Fake {
        fn get_info(&self) -> ServerConfig {
            let capabilities = rmcp::model::ServerCapabilities::builder().enable_tools().build();
            ServerConfig::new(capabilities)
        }
    }

    async fn connected(fake: Fake) -> Server {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move {
            let service = fake.serve(theirs).await.unwrap();
            service.waiting().await.unwrap();
        });
        Server::connect("fake", ours).await.unwrap()
    }

    async fn call(tool: &str, arguments: Value) -> Answer {
        let server = connected(Fake::default()).await;
        let answer =
            server.toolbox().call(tool, arguments.as_object().unwrap().clone()).await.unwrap();
        server.end().await;
        answer
    }

    #[tokio::test]
    async fn an_answer_is_the_structured_result_or_else_the_text() {
        assert_eq!(
            call("echo", json!({"text": "hello"})).await,
            Answer::Result(json!({"text": "hello"}))
        );
        assert_eq!(call("plain", json!({})).await, Answer::Result(json!({"text": "just text"})));
    }

    #[tokio::test]
    async fn a_failing_an_unknown_and_a_misused_tool_are_answers_too() {
        assert_eq!(call("fail", json!({})).await, Answer::Error("nothing works".to_owned()));
        assert_eq!(call("nothing", json!({})).await, Answer::Error("tool not found".to_owned()));
        assert!(matches!(call("echo", json!({"text": 1})).await, Answer::Error(_)));
    }

    #[tokio::test]
    async fn a_dropped_call_is_cancelled_at_the_server() {
        let fake = Fake::default();
        let server = connected(fake.clone()).await;
        let toolbox = server.toolbox();
        let waiting = tokio::spawn(async move { toolbox.call("wait", Map::new()).await });
        let deadline = Duration::from_secs(10);
        tokio::time::timeout(deadline, fake.called.notified()).await.unwrap();
        waiting.abort();
        tokio::time::timeout(deadline, fake.cancelled.notified()).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_program_is_named() {
        let server = McpServerStdio::new("bridge", "/nowhere/server");
        let error = Server::start_all(&[server], Path::new("/")).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "failed to start the MCP server `bridge`: /nowhere/server: No such file or directory (os error 2)"
        );
    }
}
