//! The agent's loop: it owns the sessions, starts their servers and turns, and ends them.
//!
//! The protocol's handlers only pass requests on. Everything that takes time (a turn, the start and the end of servers) is a task whose
//! end comes back to the loop.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    CloseSessionResponse, FileSystemCapabilities, McpServer, McpServerStdio, SessionId,
};
use futures::future::join_all;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::acp_handlers::{Event, Offered, Opening, OpeningAnswer, Prompt, connect};
use super::mcp_tools::{Server, ToolsError};
use super::mid_turn_words::{SteerAnswer, SteerRequest};
use super::ordered_output::{Wire, transport};
use super::play_session::{Session, TurnDone};
use super::play_turn::{TurnEnd, write_stderr};
use super::rpc_answers::{answered, invalid};
use crate::domain::env_vars;
use crate::scripted::script::script_format::{Part, Script, Start, StartServers, Steering};

/// Events of the client that the handlers may queue for the loop; then the client has to wait.
const EVENT_CAPACITY: usize = 64;

/// How playing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Closed,
    /// The script tells the process to exit with this code at once.
    Crashed(u8),
}

/// The end of one of the agent's tasks.
enum Done {
    Started {
        session: SessionId,
        servers: Result<Vec<Server>, ToolsError>,
        answer: Option<OpeningAnswer>,
    },
    Turn(TurnDone),
    ServersEnded(Option<Responder<CloseSessionResponse>>),
    Connection,
}

/// The agent: a script, and the sessions in which it is played.
pub(crate) struct Agent {
    script: Arc<Script>,
    /// The table that was named when the process was started.
    table: Option<Arc<Part>>,
    /// The tables in use, for their settings of the process.
    in_play: Vec<Arc<Part>>,
    /// The requests for files that the client offers.
    files: FileSystemCapabilities,
    sessions: HashMap<SessionId, Session>,
    opened: u64,
    /// Openings that the script leaves unanswered.
    unanswered: Vec<OpeningAnswer>,
    steering: Vec<Responder<SteerAnswer>>,
    wire: Arc<Wire>,
    tasks: JoinSet<Done>,
}

impl Agent {
    /// Makes an agent that plays one table, or the one for the member name of a session.
    pub(crate) fn new(script: Arc<Script>, table: Option<Arc<Part>>) -> Self {
        Self {
            script,
            table,
            in_play: Vec::new(),
            files: FileSystemCapabilities::default(),
            sessions: HashMap::new(),
            opened: 0,
            unanswered: Vec::new(),
            steering: Vec::new(),
            wire: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    /// Plays until the input ends or a termination signal comes, unless the script ignores it.
    pub(crate) async fn serve<R, W>(
        mut self,
        reader: R,
        writer: W,
        mut terminated: mpsc::Receiver<()>,
    ) -> Ending
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let certain = self.table.clone().or_else(|| self.script.certain());
        if let Some(certain) = certain
            && let Some(code) = self.take_up(&certain).await
        {
            return Ending::Crashed(code);
        }
        let (sender, mut events) = mpsc::channel(EVENT_CAPACITY);
        let connection = connect(
            Offered {
                load: self.loads(),
                resume: self.loads() && !self.only_loads(),
                steer: self.steers(),
            },
            transport(reader, writer, Arc::clone(&self.wire)),
            sender,
        );
        self.tasks.spawn(async {
            // The client knows why a connection broke; to the agent it is the end of the input.
            connection.await.ok();
            Done::Connection
        });
        let crashed = loop {
            tokio::select! {
                Some(event) = events.recv() => match event {
                    Event::Introduced(files) => self.files = files,
                    Event::Open(opening) => if let Some(code) = self.open(opening).await { break Some(code) },
                    Event::SetOption(request, responder) => {
                        let answer = match self.sessions.get_mut(&request.session_id) {
                            Some(session) => session.set_option(&request),
                            None => Err(no_session(&request.session_id)),
                        };
                        answered(responder.respond_with_result(answer));
                    }
                    Event::Prompt(prompt) => self.prompt(prompt),
                    Event::Steer(request, responder) => self.steer(&request, responder),
                    Event::Cancel(session) => if let Some(session) = self.sessions.get(&session) { session.cancel() },
                    Event::Close(session, responder) => self.close(&session, responder),
                    Event::InputEnded => if !self.ignores(|start| start.ignore_eof) { break None },
                },
                Some(Ok(done)) = self.tasks.join_next() => match done {
                    Done::Turn(TurnDone { end: TurnEnd::Crashed(code), .. }) => {
                        self.wire.silence();
                        break Some(code);
                    }
                    Done::Turn(mut turn) => {
                        if let Some(session) = self.sessions.get_mut(&turn.session) {
                            session.turn_ended(std::mem::take(&mut turn.memory));
                        }
                        answered(turn.answer());
                    }
                    Done::Started { session, servers, answer } => self.started(session, servers, answer).await,
                    Done::ServersEnded(responder) => if let Some(responder) = responder {
                        answered(responder.respond(CloseSessionResponse::new()));
                    },
                    Done::Connection => if !self.ignores(|start| start.ignore_eof) { break None },
                },
                Some(()) = terminated.recv() => {
                    if !self.ignores(|start| start.ignore_term) { break None }
                }
                // No further event can come: a script that ignores its end waits to be killed.
                else => std::future::pending().await,
            }
        };
        match crashed {
            Some(code) => Ending::Crashed(code),
            None => self.end().await,
        }
    }

    fn ignores(&self, what: impl Fn(&Start) -> bool) -> bool {
        self.in_play.iter().any(|part| what(&part.start))
    }

    /// Ends the running tasks, then the servers.
    async fn end(mut self) -> Ending {
        self.tasks.shutdown().await;
        let servers = self.sessions.drain().flat_map(|(_, session)| session.servers);
        join_all(servers.map(Server::end)).await;
        Ending::Closed
    }

    /// Applies a table's settings of the process, once; returns the code to crash with.
    async fn take_up(&mut self, part: &Arc<Part>) -> Option<u8> {
        if self.in_play.iter().any(|other| Arc::ptr_eq(other, part)) {
            return None;
        }
        self.in_play.push(Arc::clone(part));
        if let Some(text) = &part.start.stderr {
            write_stderr(text).await;
        }
        if part.start.crash.is_some() {
            self.wire.silence();
        }
        part.start.crash
    }

    /// Says whether sessions can be loaded: if the table is known, as it says, else if any table can.
    fn loads(&self) -> bool {
        self.table.as_ref().map_or_else(|| self.script.any_loads(), |part| part.start.load)
    }

    /// Says whether sessions can be loaded but not resumed.
    fn only_loads(&self) -> bool {
        self.table
            .as_ref()
            .map_or_else(|| self.script.only_loads(), |part| part.start.history.is_some())
    }

    /// Says whether it offers steering: if the table is known, as it says, else if any table does.
    fn steers(&self) -> bool {
        self.table.as_ref().map_or_else(
            || self.script.any_steers(),
            |part| part.start.steering != Steering::Absent,
        )
    }

    fn steer(&mut self, request: &SteerRequest, responder: Responder<SteerAnswer>) {
        let Some(session) = self.sessions.get(&request.session_id) else {
            return answered(responder.respond_with_error(no_session(&request.session_id)));
        };
        self.steering.extend(session.steer(request, responder));
    }

    /// Opens a session; returns the code to crash with.
    async fn open(&mut self, opening: Opening) -> Option<u8> {
        if opening.session.is_some() && !self.loads() {
            answered(opening.answer.refuse(Error::method_not_found()));
            return None;
        }
        let servers: Vec<McpServerStdio> = opening.servers.into_iter().filter_map(stdio).collect();
        let mut variables = servers.iter().flat_map(|server| &server.env);
        let member = variables.find(|it| it.name == env_vars::MEMBER).map(|it| it.value.clone());
        let part = match &self.table {
            Some(table) => Ok(Arc::clone(table)),
            None => self.script.for_member(member.as_deref()),
        };
        let part = match part {
            Ok(part) => part,
            Err(error) => {
                answered(opening.answer.refuse(invalid(error.to_string())));
                return None;
            }
        };
        if let Some(code) = self.take_up(&part).await {
            return Some(code);
        }
        if part.start.sessions.is_some_and(|most| self.opened >= u64::from(most)) {
            self.unanswered.push(opening.answer);
            return None;
        }
        let id = opening.session.unwrap_or_else(|| self.new_id());
        if self.sessions.get(&id).is_some_and(Session::is_busy) {
            answered(opening.answer.refuse(busy(&id)));
            return None;
        }
        let memory = self.sessions.remove(&id).and_then(|before| {
            self.end_servers(before.servers, None);
            before.memory
        });
        let name = member.unwrap_or_else(|| part.name.clone());
        let session = Session::new(Arc::clone(&part), memory.unwrap_or_default(), name);
        let options = session.options();
        self.sessions.insert(id.clone(), session);
        let servers = if part.start.servers == StartServers::Never { Vec::new() } else { servers };
        let answer = if part.start.servers == StartServers::Before {
            Some(opening.answer)
        } else {
            let history = part.start.history.as_deref();
            answered(opening.answer.give(id.clone(), options, history));
            None
        };
        self.tasks.spawn(async move {
            let servers = Server::start_all(&servers, &opening.cwd).await;
            Done::Started { session: id, servers, answer }
        });
        None
    }

    /// Returns an id that no session has had, including loaded ones.
    fn new_id(&mut self) -> SessionId {
        loop {
            self.opened += 1;
            let id = SessionId::new(format!("session-{}", self.opened));
            if !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    async fn started(
        &mut self,
        id: SessionId,
        servers: Result<Vec<Server>, ToolsError>,
        answer: Option<OpeningAnswer>,
    ) {
        if let Err(error) = &servers {
            // Real agents continue without the tools, and report it on stderr.
            write_stderr(&format!("{error}; continuing without its tools")).await;
        }
        let Some(session) = self.sessions.get_mut(&id) else {
            // The session was closed meanwhile.
            self.end_servers(servers.unwrap_or_default(), None);
            return;
        };
        session.started(servers);
        if let Some(answer) = answer {
            answered(answer.give(id, session.options(), session.history()));
        }
    }

    fn prompt(&mut self, prompt: Prompt) {
        let id = prompt.request.session_id.clone();
        let refusal = match self.sessions.get_mut(&id) {
            None => no_session(&id),
            Some(session) => match session.begin_turn() {
                None => busy(&id),
                Some(turn) => {
                    let (wire, files) = (Arc::clone(&self.wire), self.files.clone());
                    self.tasks
                        .spawn(async move { Done::Turn(turn.play(prompt, wire, files).await) });
                    return;
                }
            },
        };
        answered(prompt.responder.respond_with_error(refusal));
    }

    /// Closes a session and its turn, even one that ignores cancellation.
    fn close(&mut self, id: &SessionId, responder: Responder<CloseSessionResponse>) {
        let Some(session) = self.sessions.remove(id) else {
            return answered(responder.respond_with_error(no_session(id)));
        };
        session.end_turn();
        self.end_servers(session.servers, Some(responder));
    }

    fn end_servers(
        &mut self,
        servers: Vec<Server>,
        responder: Option<Responder<CloseSessionResponse>>,
    ) {
        self.tasks.spawn(async {
            join_all(servers.into_iter().map(Server::end)).await;
            Done::ServersEnded(responder)
        });
    }
}

fn stdio(server: McpServer) -> Option<McpServerStdio> {
    match server {
        McpServer::Stdio(server) => Some(server),
        // The agent advertises no other transport.
        _ => None,
    }
}

fn busy(session: &SessionId) -> Error {
    invalid(format!("a turn is already running in session `{session}`"))
}

fn no_session(session: &SessionId) -> Error {
    invalid(format!("there is no session `{session}`"))
}
