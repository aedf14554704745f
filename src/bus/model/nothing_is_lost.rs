//! Whatever happens, no message and no request is lost or in two places, and no log makes the state panic.

use proptest::prelude::*;

use super::model_step::step;
use super::world::World;
use super::{garbage, odd_events};

/// The default number of runs: enough for each pair of steps to occur often, and few enough for a second or two.
const CASES: u32 = 64;

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
        let mut world = World::new();
        for (handle, step) in &steps {
            world.take_step(*handle, step);
        }
        world.check_replicas();
        world.let_all_time_pass();
        world.check_replicas();
    }

    #[test]
    fn any_sequence_of_events_is_taken_and_comes_to_rest(
        entries in proptest::collection::vec(odd_events::entry(), 1..40),
        asks in proptest::collection::vec(any::<[u8; 4]>(), 0..8)
    ) {
        garbage::check(&entries, &asks);
    }
}
