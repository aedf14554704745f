//! The demo of a team on two machines: two projects with a mirror of the log each, a server between them, and a race for one request.

use std::time::Instant;

use serde_json::json;

use super::closing_lines::{self, entries};
use super::demo_project::{Orchestrator, Stage};
use super::story::{call, result, start, text, until};
use super::teller::Teller;
use super::throw_away_server::ThrowAwayServer;
use crate::bus::event::Event;
use crate::cli::{Failure, open_bus, output};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::one_line;

/// The name of the team on the server.
const TEAM: &str = "demo";

const STAND_BY: &str = "Stand by for a request, claim it if you can, and answer it.";

/// Plays it. The server, the projects and all processes are gone at the end.
pub(super) async fn play(keep: bool) -> Result<(), Failure> {
    let began = Instant::now();
    let teller = Teller::starting_now();
    output::say(
        "A team on two machines: here two projects, each with a log of its own, and a PostgreSQL \
            server that keeps the order.",
    );
    let server = ThrowAwayServer::start().await?;
    teller.tell("a PostgreSQL server of the demo's own is up");
    let played = play_on(&server, &teller, (keep, began)).await;
    server.stop().await;
    played
}

async fn play_on(
    server: &ThrowAwayServer,
    teller: &Teller,
    (keep, began): (bool, Instant),
) -> Result<(), Failure> {
    let (here, there) = (Stage::build(keep)?, Stage::build(keep)?);
    let mut orchestrators = Vec::new();
    for (place, stage) in [("first", &here), ("second", &there)] {
        stage.share(&server.address(), TEAM).await?;
        orchestrators.push(stage.orchestrator().await?);
        let project = stage.project().shown();
        teller.tell(&format!("the {place} machine has joined the team: {project}"));
    }
    let told = tell(&orchestrators, teller, &here).await;
    // Nothing may be left running, even after an error.
    let mut closed = Ok(());
    while let Some(orchestrator) = orchestrators.pop() {
        closed = closed.and(orchestrator.close(teller).await);
    }
    told?;
    closed?;
    let counts = [&here, &there].map(|stage| closing_lines::of(&stage.bus_directory()));
    let [here_counted, there_counted] = counts;
    let owner = owner_of_request(&here)?;
    output::say("");
    output::say(&format!("The request had one owner on both machines: {owner}."));
    if keep {
        output::say(&format!(
            "Kept: {} and {}. Their server is gone.",
            here.project().shown(),
            there.project().shown()
        ));
    }
    closing_lines::print_left(&[here_counted?, there_counted?], began)
}

async fn tell(
    orchestrators: &[Orchestrator],
    teller: &Teller,
    here: &Stage,
) -> Result<(), Failure> {
    let [first, second] = orchestrators else { return Ok(()) };
    let (first, second) = (&first.client, &second.client);
    let reviewer = start(first, "reviewer", STAND_BY).await?;
    let verifier = start(second, "verifier", STAND_BY).await?;
    until(first, "waiting", &["reviewer", "verifier"]).await?;
    teller.tell("reviewer on the first machine and verifier on the second wait for a request");
    let writer = start(first, "writer", "Write the release note and have it checked.").await?;
    let written = result(first, &writer).await?;
    teller.tell_talk(&here.bus_directory())?;
    teller.tell(&format!("writer says: {}", one_line(&text(&written, "output"))));
    for (client, name, task) in [(first, "reviewer", reviewer), (second, "verifier", verifier)] {
        let done = result(client, &task).await?;
        teller.tell(&format!("{name} says: {}", one_line(&text(&done, "output"))));
    }
    // The last notices: what a call has brought is read once the next one comes.
    for client in [first, second] {
        call(client, "check_messages", json!({})).await?;
        call(client, "list_agents", json!({})).await?;
    }
    Ok(())
}

/// Returns who has claimed the request, by the log of a machine. Fails if that is not one member.
fn owner_of_request(stage: &Stage) -> Result<String, Failure> {
    let bus = open_bus::open_own_bus(&stage.bus_directory())?;
    let entries = entries(&bus)?;
    let events = entries.iter().flat_map(|entry| &entry.events);
    let claims: Vec<_> = events
        .filter_map(|event| match event {
            Event::RequestClaimed { by, .. } => Some(by.to_string()),
            _ => None,
        })
        .collect();
    match claims.as_slice() {
        [owner] => Ok(owner.clone()),
        claims => Err(format!("the request was claimed {} times", claims.len()).into()),
    }
}
