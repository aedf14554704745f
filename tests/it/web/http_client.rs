//! A server of a test's project, and requests to it, byte by byte as the test wants them.

use std::time::Duration;

use cli_team_bridge::supervisor::{Pipes, Supervised};
use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::Stage;
use crate::support::misbehaving_agents::signal;

/// Longer than anything here takes, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A running `cli-team-bridge web`.
pub(crate) struct WebServer {
    program: Supervised,
    pub(crate) port: u16,
    /// The path and query of the URL that signs in.
    pub(crate) sign_in: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers, in small letters.
    pub(crate) head: String,
    /// The cookie that it sets, as it is.
    pub(crate) cookie: Option<String>,
    pub(crate) body: String,
}

/// Reads until a text has come or the connection ends, and returns all that was read.
pub(crate) async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        let mut part = [0; 4_096];
        loop {
            match stream.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(count) => read.extend(&part[..count]),
            }
            if String::from_utf8_lossy(&read).contains(text) {
                return;
            }
        }
    };
    timeout(DEADLINE, reading).await.unwrap();
    String::from_utf8_lossy(&read).into_owned()
}

impl WebServer {
    /// Starts the server of a project.
    pub(crate) async fn start(stage: &Stage, arguments: &[&str]) -> Self {
        let arguments = [&["web", "--no-open"], arguments].concat();
        Self::reached(stage.start(&arguments).await).await
    }

    /// Starts the server of a project through another program.
    #[cfg(target_os = "linux")]
    pub(crate) async fn start_by(stage: &Stage, program: &[&str], arguments: &[&str]) -> Self {
        let arguments = [&["web", "--no-open"], arguments].concat();
        Self::reached(stage.start_by(program, &arguments).await).await
    }

    /// Waits for the address of a server.
    async fn reached((program, pipes): (Supervised, Pipes)) -> Self {
        let mut lines = BufReader::new(pipes.stdout).lines();
        let url = timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap();
        let rest = url.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{url}"));
        let (port, path) = rest.split_once('/').unwrap();
        Self { program, port: port.parse().unwrap(), sign_in: format!("/{path}") }
    }

    /// Sends bytes, and reads the answer until the connection ends.
    pub(crate) async fn send(&self, request: &str) -> Answer {
        self.send_bytes(request.as_bytes()).await
    }

    /// Does the same with bytes that are no text.
    pub(crate) async fn send_bytes(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        // A body that is too long is not read to its end.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        timeout(DEADLINE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let cookie = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then(|| value.to_owned())
        });
        Answer { status, head: head.to_lowercase(), cookie, body: body.to_owned() }
    }

    /// Sends many requests on one connection, and returns all answers as they come.
    pub(crate) async fn flood(&self, requests: &str) -> String {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let (mut reads, mut writes) = stream.into_split();
        let mut answers = Vec::new();
        let all = async {
            let (_, read) = tokio::join!(
                writes.write_all(requests.as_bytes()),
                reads.read_to_end(&mut answers)
            );
            read.unwrap();
        };
        timeout(DEADLINE, all).await.unwrap();
        String::from_utf8(answers).unwrap()
    }

    /// Asks for a path with these headers more.
    pub(crate) async fn get(&self, path: &str, headers: &str) -> Answer {
        let port = self.port;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}\r\n"
        );
        self.send(&request).await
    }

    /// Returns how many files the server has open, connections among them.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.program.pid())).unwrap().count()
    }

    /// Sends bytes, and leaves the connection open.
    pub(crate) async fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Kills the server.
    pub(crate) async fn kill(self) {
        signal(self.program.pid(), Signal::SIGKILL).unwrap();
        timeout(DEADLINE, self.program.exited()).await.unwrap();
    }

    /// Ends the server, which says so by its exit code.
    pub(crate) async fn end(self) {
        signal(self.program.pid(), Signal::SIGTERM).unwrap();
        let exit = timeout(DEADLINE, self.program.exited()).await.unwrap();
        assert_eq!(exit.code, Some(0), "{}", self.program.stderr_tail());
    }
}
