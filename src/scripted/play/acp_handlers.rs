//! The protocol's handlers: they answer `initialize`, and pass every other request on, in order and at once.
//!
//! The library delivers one message at a time and waits for its handler, so no handler here waits for anything.

use std::path::PathBuf;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    PromptRequest, PromptResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionConfigOption, SessionId,
    SessionNotification, SessionResumeCapabilities, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, ConnectTo, Error, on_receive_notification, on_receive_request,
};
use tokio::sync::mpsc;

use super::mid_turn_words::{self, SteerAnswer, SteerRequest};
use super::text_blocks::chunk;

/// A request or notification of the client, or the end of its input.
pub(crate) enum Event {
    /// The client has introduced itself, and offers these requests for files.
    Introduced(FileSystemCapabilities),
    Open(Opening),
    SetOption(SetSessionConfigOptionRequest, Responder<SetSessionConfigOptionResponse>),
    Prompt(Prompt),
    Steer(SteerRequest, Responder<SteerAnswer>),
    Cancel(SessionId),
    Close(SessionId, Responder<CloseSessionResponse>),
    /// The client closed our stdin.
    InputEnded,
}

/// A prompt, with its responder and the connection for its updates.
pub(crate) struct Prompt {
    pub(crate) request: PromptRequest,
    pub(crate) responder: Responder<PromptResponse>,
    pub(crate) connection: ConnectionTo<Client>,
}

/// A session to open: a new one, or an earlier one to load or resume.
pub(crate) struct Opening {
    /// The session to load or resume; `None` for a new one.
    pub(crate) session: Option<SessionId>,
    pub(crate) cwd: PathBuf,
    pub(crate) servers: Vec<McpServer>,
    pub(crate) answer: OpeningAnswer,
}

/// How to answer the opening of a session.
pub(crate) enum OpeningAnswer {
    New(Responder<NewSessionResponse>),
    Load(Responder<LoadSessionResponse>, ConnectionTo<Client>),
    Resume(Responder<ResumeSessionResponse>),
}

impl OpeningAnswer {
    /// Answers with an error.
    pub(crate) fn refuse(self, error: Error) -> Result<(), Error> {
        match self {
            Self::New(responder) => responder.respond_with_error(error),
            Self::Load(responder, _) => responder.respond_with_error(error),
            Self::Resume(responder) => responder.respond_with_error(error),
        }
    }

    /// Answers that the session is open.
    pub(crate) fn give(
        self,
        session: SessionId,
        options: Option<Vec<SessionConfigOption>>,
        history: Option<&str>,
    ) -> Result<(), Error> {
        match self {
            Self::New(responder) => {
                responder.respond(NewSessionResponse::new(session).config_options(options))
            }
            Self::Load(responder, connection) => {
                if let Some(text) = history {
                    let said = SessionUpdate::AgentMessageChunk(chunk(text.to_owned()));
                    connection.send_notification(SessionNotification::new(session, said))?;
                }
                responder.respond(LoadSessionResponse::new().config_options(options))
            }
            Self::Resume(responder) => {
                responder.respond(ResumeSessionResponse::new().config_options(options))
            }
        }
    }
}

/// The capabilities that the agent offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    pub(crate) load: bool,
    pub(crate) resume: bool,
    pub(crate) steer: bool,
}

/// Speaks the protocol until the connection ends; the handlers only pass requests on.
pub(crate) async fn connect(
    offered: Offered,
    transport: impl ConnectTo<Agent>,
    events: mpsc::Sender<Event>,
) -> Result<(), Error> {
    let [introduced, new, load, resume, option, prompt, steer, cancel, close, ended] =
        std::array::from_fn(|_| events.clone());
    drop(events);
    Agent
        .v1()
        .name("scripted-agent")
        .on_receive_request(
            async move |it: InitializeRequest, responder, _| {
                pass(&introduced, Event::Introduced(it.client_capabilities.fs)).await?;
                let response = InitializeResponse::new(ProtocolVersion::V1)
                    .agent_capabilities(capabilities(offered));
                let about = Implementation::new("scripted-agent", env!("CARGO_PKG_VERSION"));
                let response = response.agent_info(about);
                responder.respond(if offered.steer {
                    response.meta(mid_turn_words::advertised())
                } else {
                    response
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: NewSessionRequest, responder, _| {
                let answer = OpeningAnswer::New(responder);
                let session = None;
                pass(
                    &new,
                    Event::Open(Opening { session, cwd: it.cwd, servers: it.mcp_servers, answer }),
                )
                .await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                let answer = OpeningAnswer::Load(responder, connection);
                let opening = Opening {
                    session: Some(it.session_id),
                    cwd: it.cwd,
                    servers: it.mcp_servers,
                    answer,
                };
                pass(&load, Event::Open(opening)).await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: ResumeSessionRequest, responder, _| {
                let answer = OpeningAnswer::Resume(responder);
                let opening = Opening {
                    session: Some(it.session_id),
                    cwd: it.cwd,
                    servers: it.mcp_servers,
                    answer,
                };
                pass(&resume, Event::Open(opening)).await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: SetSessionConfigOptionRequest, responder, _| {
                pass(&option, Event::SetOption(it, responder)).await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let received = Prompt { request: it, responder, connection };
                pass(&prompt, Event::Prompt(received)).await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: SteerRequest, responder, _| {
                pass(&steer, Event::Steer(it, responder)).await
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |it: CloseSessionRequest, responder, _| {
                pass(&close, Event::Close(it.session_id, responder)).await
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |it: CancelNotification, _| {
                pass(&cancel, Event::Cancel(it.session_id)).await
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async move |connection: ConnectionTo<Client>| {
            connection.incoming_closed().await;
            pass(&ended, Event::InputEnded).await?;
            // Running turns may still write; the loop drops the connection when it ends.
            std::future::pending().await
        })
        .await
}

async fn pass(events: &mpsc::Sender<Event>, event: Event) -> Result<(), Error> {
    events.send(event).await.map_err(|_| Error::internal_error())
}

fn capabilities(offered: Offered) -> AgentCapabilities {
    let mut sessions = SessionCapabilities::new().close(SessionCloseCapabilities::new());
    if offered.load {
        if offered.resume {
            sessions = sessions.resume(SessionResumeCapabilities::new());
        }
        AgentCapabilities::new().load_session(true).session_capabilities(sessions)
    } else {
        AgentCapabilities::new().session_capabilities(sessions)
    }
}
