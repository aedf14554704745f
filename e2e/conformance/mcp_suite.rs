//! The official conformance suite of MCP judges the real servers, under each revision of the protocol that it has requirements for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use cli_team_bridge::supervisor::ChildSpec;

use super::http_front::HttpFront;
use super::judged;
use super::suite_results::{Results, Revision, read_results};
use super::verdict_table::Table;
use crate::programs::Programs;
use crate::support::Stage;

/// The programs that the tests need. The suite needs Node 22.
pub(crate) const PROGRAMS: [&str; 2] = ["node", "conformance"];

/// The document that says what passes.
pub(super) const DOCUMENT: &str = include_str!("../../docs/conformance.md");

/// A server that is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Server {
    Orchestrator,
    Peer,
}

impl Server {
    /// Returns the arguments of the process with this number: no two members of a team have the same name.
    fn arguments(self, number: usize) -> Vec<OsString> {
        match self {
            Self::Orchestrator => vec!["orchestrator".into()],
            Self::Peer => vec!["peer".into(), "--name".into(), format!("judged-{number}").into()],
        }
    }
}

/// Runs all scenarios, and compares what they find with the document.
pub(crate) async fn finds_what_the_document_says(server: Server) {
    let programs = Programs::find();
    let suite = programs.command("conformance", "conformance");
    let stage = Stage::new("").with_env(vec![("PATH".into(), programs.path(&PROGRAMS))]);
    let front = HttpFront::start(starter(&stage, server)).await;

    let (exit, listed) = judged(&stage, suite.clone(), arguments(&["list", "--server"])).await;
    assert_eq!(exit.code, Some(0), "{exit}: {listed}");
    let scenarios = scenarios(&listed);
    assert!(scenarios.len() > 50, "the suite lists its scenarios: {listed}");
    let mut results = Results::new();
    for revision in Revision::ALL {
        results
            .extend(run(&stage, &suite, &front, revision, "--requirements", revision.date()).await);
    }
    // Scenarios of extensions that no revision counts.
    let run_so_far: BTreeSet<_> = results.keys().map(|(name, _)| name.clone()).collect();
    for scenario in scenarios.difference(&run_so_far) {
        let more = run(&stage, &suite, &front, Revision::Stateless, "--scenario", scenario).await;
        results.extend(more);
    }

    assert!(front.end().await > 2, "each session has a process of its own");
    stage.check_nobody_is_left();
    let differences = Table::read(DOCUMENT).differences(&scenarios, &results);
    assert!(
        differences.is_empty(),
        "docs/conformance.md and the suite differ for {server:?}:\n{}",
        differences.join("\n")
    );
}

/// Runs a part of the suite.
async fn run(
    stage: &Stage,
    suite: &Path,
    front: &HttpFront,
    revision: Revision,
    option: &str,
    value: &str,
) -> Results {
    let folder = stage.home().join(format!("results-{value}"));
    let mut args = arguments(&["server", "--url", front.url(), option, value, "--output-dir"]);
    args.push(folder.clone().into());
    // It exits with an error if any scenario fails, also where it does not apply.
    let (_, said) = judged(stage, suite.to_owned(), args).await;
    assert!(folder.is_dir(), "the suite writes its results: {said}");
    read_results(&folder, revision)
}

/// Returns what starts the server in the project of the stage.
fn starter(stage: &Stage, server: Server) -> Box<dyn Fn(usize) -> ChildSpec + Send + Sync> {
    let (env, project) = (stage.environment(), stage.project().to_owned());
    Box::new(move |number| {
        let mut args = server.arguments(number);
        args.extend(["--project".into(), project.clone().into()]);
        let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
        ChildSpec { program, args, env: env.clone(), cwd: project.clone(), shim: None }
    })
}

/// Reads the names of the scenarios from lines such as `  - tools-list [2025-11-25,2026-07-28]`.
fn scenarios(listed: &str) -> BTreeSet<String> {
    let names = listed.lines().filter_map(|line| line.strip_prefix("  - ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

fn arguments(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
