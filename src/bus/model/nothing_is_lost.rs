//! Whatever happens, no message and no request is lost or in two places, and no log makes the state panic.

use std::rc::Rc;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::engines::{Engine, MemoryEngine, ServerEngine};
use super::model_step::{ModelStep, step};
use super::world::World;
use super::{garbage, odd_events};
use crate::bus::storage::postgres::test_server::TestServer;
use crate::sys::random_ids;

/// The default number of runs: enough for each pair of steps to occur often, and few enough for a second or two.
const CASES: u32 = 64;

/// The same on a server, where each append takes milliseconds.
const CASES_ON_SERVER: u32 = 6;

/// The longest search for fewer steps that fail too, in milliseconds.
const SEARCH_MS: u32 = 60_000;

/// Takes the steps, each by the process of its number, and then lets all time pass.
fn play(engine: Box<dyn Engine>, steps: &[(usize, ModelStep)]) {
    let mut world = World::new(engine);
    for (handle, step) in steps {
        world.take_step(*handle, step);
    }
    world.check_replicas();
    world.let_all_time_pass();
    world.check_replicas();
}

#[test]
fn nothing_is_lost_or_in_two_places_on_a_server_either() {
    let Some(server) = TestServer::start() else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let server = Rc::new(server.with_movable_clock());
    let setting = |name: &str| std::env::var(name).ok();
    let seed = setting("BRIDGE_MODEL_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| random_ids::blob().as_u64_pair().1);
    let cases = setting("BRIDGE_MODEL_CASES").and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(CASES_ON_SERVER);
    println!("BRIDGE_MODEL_CASES={cases} BRIDGE_MODEL_SEED={seed}");
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_time: SEARCH_MS,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let steps = proptest::collection::vec((0..3usize, step()), 1..90);
    let played = runner.run(&steps, |steps| {
        play(Box::new(ServerEngine::on(&server)), &steps);
        Ok(())
    });
    played.unwrap_or_else(|failed| panic!("{failed}"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_nothing_is_lost_and_nothing_is_in_two_places(
        steps in proptest::collection::vec((0..3usize, step()), 1..90)
    ) {
        play(Box::new(MemoryEngine::new()), &steps);
    }

    #[test]
    fn any_sequence_of_events_is_taken_and_comes_to_rest(
        entries in proptest::collection::vec(odd_events::entry(), 1..40),
        asks in proptest::collection::vec(any::<[u8; 4]>(), 0..8)
    ) {
        garbage::check(&entries, &asks);
    }
}
