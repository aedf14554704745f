//! The stream of what happens: nothing is skipped between two connections, and nobody follows without a valid key.

use serde_json::json;

use super::event_reader::EventReader;
use crate::steer::done;
use crate::support::Stage;
use crate::support::schema_check::misfit;
use crate::web::api_client::ApiClient;
use crate::web::http_client::WebServer;

const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

#[tokio::test]
async fn a_broken_stream_goes_on_where_it_broke() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--read", "--write"]).await;
    let say = async |content: &str| {
        ci.post("/messages", &json!({ "to": "ann", "content": content }), 201).await;
    };

    let mut whole = EventReader::connect(&web, "/events", &ci.bearer).await;
    let hello = whole.next().await.unwrap();
    assert_eq!((hello.kind.as_str(), hello.id), ("hello", hello.data["last"].as_u64()));
    let begin = hello.id.unwrap();
    let mut broken =
        EventReader::connect(&web, &format!("/events?after={begin}"), &ci.bearer).await;
    assert_eq!(broken.next().await.unwrap().id, Some(begin));
    say("number one").await;
    say("number two").await;
    let mut seen = broken.up_to("number one").await;
    drop(broken);
    // What happens while nobody listens.
    for number in 0..12 {
        say(&format!("meanwhile {number}")).await;
    }
    let last = seen.last().unwrap().id.unwrap();
    // A browser that connects again keeps its address.
    let headers = format!("{}Last-Event-ID: {last}\r\n", ci.bearer);
    let mut resumed = EventReader::connect(&web, &format!("/events?after={begin}"), &headers).await;
    assert_eq!(resumed.next().await.unwrap().id, Some(last));
    say("the last").await;
    seen.extend(resumed.up_to("the last").await);
    assert_eq!(seen, whole.up_to("the last").await);
    let ids: Vec<_> = seen.iter().map(|event| event.id.unwrap()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    assert!(seen.iter().all(|event| event.data["seq"] == event.id.unwrap()), "{seen:?}");

    let document = ci.get("/openapi.json", 200).await;
    let stream = &document["paths"]["/events"]["get"]["responses"]["200"]["content"];
    let schema = &stream["text/event-stream"]["x-data"];
    for event in &seen {
        assert_eq!(misfit(&event.data, schema, &document), None);
    }

    let mut all = EventReader::connect(&web, "/events?after=0", &ci.bearer).await;
    all.next().await.unwrap();
    let told = all.up_to("the last").await;
    assert!(told.ends_with(&seen), "{told:?}");
    assert_eq!(told[0].kind, "member", "{told:?}");

    let future = ci.get("/events?after=1000000", 400).await;
    assert_eq!(future["type"], "wrong-query", "{future}");
    assert_eq!(ci.get("/events?since=1", 400).await["type"], "wrong-query");

    done(&stage, &["key", "revoke", &ci.key_id]).await;
    while whole.next().await.is_some() {}
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn there_are_only_so_many_streams_and_they_end_with_the_server() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &[]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &[]).await;
    let mut streams = Vec::new();
    for _ in 0..32 {
        let mut stream = EventReader::connect(&web, "/events", &ci.bearer).await;
        stream.next().await.unwrap();
        streams.push(stream);
    }
    assert_eq!(ci.get("/events", 503).await["type"], "too-many-streams");
    assert_eq!(ci.get("/status", 200).await["version"], 1);
    web.end().await;
    for mut stream in streams {
        while stream.next().await.is_some() {}
    }
    lead.close().await;
}
