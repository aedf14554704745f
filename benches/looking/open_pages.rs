//! What open pages cost the bridge that leads: its processor time for the same work, without a page and with twenty.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use cli_team_bridge::bus::Membership;
use cli_team_bridge::bus::rules::Pick;
use cli_team_bridge::domain::limits;
use cli_team_bridge::domain::messaging::DeliveryMethod;
use serde_json::{Value, json};

use super::commands::Team;
use super::web::{get, header};
use crate::support::Outcome;
use crate::support::child_process::ChildProcess;
use crate::support::project;
use crate::support::table::{Demand, Row};
use crate::waiting_process::ticks;

const PAGES: usize = 20;

/// What the bridge does each time: so many messages, of which its reader takes so many at once.
const MESSAGES: u64 = 2_000;
const AT_ONCE: u64 = 100;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let team = Team::new()?;
        let mut bridge = Bridge::start(&team)?;
        let reader = team.member("ben").await?;
        let mut server = ChildProcess::spawn(&mut team.command(&["web", "--no-open"]))?;
        let url = server.hear()?;
        // The first round warms up both.
        bridge.work(&reader).await?;
        let without = bridge.work(&reader).await?;
        let pages = open_pages(&url)?;
        let with = bridge.work(&reader).await?;
        // The pages end with the server.
        drop(server);
        let events: usize = pages.into_iter().map(|page| page.join().unwrap_or_default()).sum();
        if events < PAGES {
            return Err(format!("{PAGES} pages had only {events} events").into());
        }
        Ok(vec![
            Row::absolute(
                "a bridge that sends 2,000 messages without a page: processor time",
                Demand::None,
                without,
                "ms",
            ),
            Row::absolute("the same, with 20 open pages", Demand::None, with, "ms"),
        ])
    })
}

/// A bridge that leads, and its client.
struct Bridge {
    process: ChildProcess,
    calls: u64,
}

impl Bridge {
    fn start(team: &Team) -> Outcome<Self> {
        let config = team.without_rates()?;
        let mut command = team.command(&["orchestrator"]);
        let process = ChildProcess::spawn(command.env("XDG_CONFIG_HOME", config))?;
        let mut bridge = Self { process, calls: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        bridge.ask("initialize", &hello)?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        bridge.process.say(&ready.to_string())?;
        Ok(bridge)
    }

    /// Asks, and returns the answer. Notifications before it are passed over.
    fn ask(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.calls += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        self.process.say(&request.to_string())?;
        loop {
            let line = self.process.hear()?;
            if line.is_empty() {
                return Err("the bridge has ended".into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.calls {
                return Ok(answer);
            }
        }
    }

    /// Has it send its messages, and returns its processor time in milliseconds.
    async fn work(&mut self, reader: &Membership) -> Outcome<f64> {
        let before = ticks(self.process.pid())?;
        for number in 0..MESSAGES {
            let arguments = json!({ "to": "ben", "content": project::text("news ") });
            let call = json!({ "name": "send_message", "arguments": arguments });
            let answer = self.ask("tools/call", &call)?;
            if answer["result"]["isError"] == true || answer.get("error").is_some() {
                return Err(format!("the bridge does not send: {answer}").into());
            }
            if number % AT_ONCE == AT_ONCE - 1 {
                take(reader).await?;
            }
        }
        // A tick is 10 ms.
        Ok(f64::from(u32::try_from(ticks(self.process.pid())? - before)?) * 10.0)
    }
}

async fn take(reader: &Membership) -> Outcome {
    let pick = Pick::any(limits::MAX_CHECK_LIMIT, usize::MAX, limits::HEAD_BYTES);
    let mut call = reader.call();
    call.receive(DeliveryMethod::Pull, pick).await?;
    call.answered().await;
    Ok(())
}

/// Opens the streams of pages. Each is read until the server ends, and says how many events it had.
fn open_pages(url: &str) -> Outcome<Vec<std::thread::JoinHandle<usize>>> {
    let rest = url.strip_prefix("http://").ok_or("no URL")?;
    let (host, path) = rest.split_once('/').ok_or("no path")?;
    let answer = get(host, &format!("/{path}"), "")?;
    let (cookie, base) = (header(&answer, "set-cookie")?, header(&answer, "location")?);
    let cookie = cookie.split(';').next().unwrap_or_default();
    let request = format!(
        "GET {base}live?view=conversation HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
    );
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        let mut stream = TcpStream::connect(host)?;
        stream.write_all(request.as_bytes())?;
        pages.push(std::thread::spawn(move || {
            let (mut part, mut events) = ([0; 16 * 1024], 0);
            while let Ok(count @ 1..) = stream.read(&mut part) {
                events += part[..count].windows(6).filter(|bytes| *bytes == b"event:").count();
            }
            events
        }));
    }
    Ok(pages)
}
