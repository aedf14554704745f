//! The server of `web`: how soon the first view is there with a long history, what it holds when nobody looks, and how often it wakes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::commands::{LONG, Team};
use crate::process_memory::resident_mb;
use crate::support::Outcome;
use crate::support::child_process::ChildProcess;
use crate::support::project;
use crate::support::samples::Samples;
use crate::support::table::{Demand, Row};
use crate::waiting_process::sleeps;

const RUNS: usize = 20;

/// How long the idle server is watched.
const WATCHED: Duration = Duration::from_secs(10);

/// The limits.
const VIEW_MS: f64 = 100.0;
const IDLE_MB: f64 = 30.0;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let team = Team::new()?;
        team.fill(LONG).await?;
        let mut server = ChildProcess::spawn(&mut team.command(&["web", "--no-open"]))?;
        let url = server.hear()?;
        let rest = url.strip_prefix("http://").ok_or("no URL")?;
        let (host, path) = rest.split_once('/').ok_or("no path")?;

        let begun = Instant::now();
        let answer = get(host, &format!("/{path}"), "")?;
        let (cookie, base) = (header(&answer, "set-cookie")?, header(&answer, "location")?);
        let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap_or_default());
        let page = get(host, &base, &cookie)?;
        let first = begun.elapsed();
        if !page.contains("id=\"members\"") {
            return Err(format!("this is no page: {page}").into());
        }
        let mut views = Samples::default();
        let mut conversations = Samples::default();
        for _ in 0..RUNS {
            let begun = Instant::now();
            get(host, &base, &cookie)?;
            views.push(begun.elapsed());
            let begun = Instant::now();
            get(host, &format!("{base}conversation"), &cookie)?;
            conversations.push(begun.elapsed());
        }
        let before = sleeps(server.pid())?;
        tokio::time::sleep(WATCHED).await;
        let woken = f64::from(u32::try_from(sleeps(server.pid())? - before)?);
        let ms = |samples: &Samples| samples.percentile_us(50) / 1000.0;
        Ok(vec![
            Row::absolute(
                "`web`: signing in and the first view, with 100,000 messages of history",
                Demand::AtMost(VIEW_MS),
                first.as_secs_f64() * 1000.0,
                "ms",
            ),
            Row::absolute("a view after that, p50", Demand::None, ms(&views), "ms"),
            Row::absolute("the conversation, p50", Demand::None, ms(&conversations), "ms"),
            Row::absolute(
                "its resident memory afterwards",
                Demand::AtMost(IDLE_MB),
                resident_mb(server.pid())?,
                "MB",
            ),
            Row::absolute("its wake-ups in 10 s without a page", Demand::None, woken, ""),
        ])
    })
}

/// Asks for a path on a connection of its own.
pub(super) fn get(host: &str, path: &str, headers: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(host)?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(super) fn header(answer: &str, name: &str) -> Outcome<String> {
    let of = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    };
    answer.lines().find_map(of).ok_or_else(|| format!("no {name}: {answer}").into())
}
