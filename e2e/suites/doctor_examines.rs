//! `doctor` with the five real agents: it finds, starts and ends all of them at the same time and sees our tools in each, and no
//! model gets a prompt.

use std::time::Instant;

use serde_json::Value;

use crate::agent_kinds::{KINDS, Kind};
use crate::model::ModelServer;
use crate::real_project;

/// The programs that the test needs.
pub(crate) const PROGRAMS: [&str; 6] =
    ["node", KINDS[0].name, KINDS[1].name, KINDS[2].name, KINDS[3].name, KINDS[4].name];

/// Examines all five agents.
pub(crate) async fn finds_all_agents_healthy_without_a_prompt() {
    let model = ModelServer::start(Vec::new()).await;
    let kinds: Vec<&Kind> = KINDS.iter().collect();
    let stage = real_project::private_stage(&kinds, &model);
    let project = stage.project().to_str().unwrap();
    let began = Instant::now();
    let (exit, printed) = stage.ended(&["doctor", "--json", "--project", project], None).await;
    let took = began.elapsed().as_secs_f64();
    let report = serde_json::Deserializer::from_str(&printed).into_iter::<Value>().next();
    let report = report.unwrap().unwrap_or_else(|error| panic!("{error}: {printed}"));
    let mut one_after_another = 0.0;
    for kind in &KINDS {
        let findings = report["findings"].as_array().unwrap().iter();
        let of_kind: Vec<_> = findings.filter(|finding| finding["name"] == kind.name).collect();
        let of = |check: &str| of_kind.iter().find(|finding| finding["check"] == check).unwrap();
        let (program, start) = (of("program"), of("start"));
        assert_eq!(program["level"], "ok", "{program:#}");
        assert!(program["facts"]["version"].is_string(), "{program:#}");
        assert_eq!(start["level"], "ok", "{start:#}");
        one_after_another += start["facts"]["seconds"].as_f64().unwrap();
        let delivery = start["facts"]["delivery"].as_array().unwrap();
        assert!(delivery.iter().any(|method| method == "prompt"), "{start:#}");
        assert!(start["facts"]["memory_bytes"].as_u64() > Some(10_000_000), "{start:#}");
    }
    assert!(took < one_after_another, "all at once: {took} s, not {one_after_another} s");
    // Another test may have written a client's entry.
    let all = report["findings"].as_array().unwrap().iter();
    let problem =
        all.filter(|one| one["subject"] != "client").find(|one| one["level"] == "problem");
    assert_eq!(problem, None, "{exit}");
    let prompted = model.shown().iter().filter(|shown| shown.newest.is_some()).count();
    assert_eq!(prompted, 0, "{}", real_project::shown_to_models(&model));
}
