//! A model of the bus: members do anything, in any order, from several handles, while time passes, machines boot, sessions die and
//! processes come back. After each append a ledger, kept from the events alone, tells where every message and request must be.
//!
//! `PROPTEST_CASES` sets how many runs there are.

mod garbage;
mod ledger;
mod world;

use proptest::prelude::*;
use proptest::sample::Index;

use self::world::World;

/// Runs by default: enough to meet each pair of steps often, few enough for a second or two.
const CASES: u32 = 64;

/// Something that happens. Indices choose among what there is at that moment.
#[derive(Clone, Debug)]
enum ModelStep {
    JoinChosen(u8),
    JoinLike,
    StartAgent(Index),
    Ready(Index),
    Leave(Index),
    /// The process of a session ends without a word; nothing is written.
    Die(Index),
    /// Somebody sees a heartbeat stand still.
    Hang(Index),
    /// Somebody sees it move again.
    Beat(Index),
    /// An agent is started again; its task ends or is kept.
    Crash(Index, bool),
    /// Somebody looks who is dead.
    Reap,
    /// Somebody takes over the name of a dead session.
    Inherit(Index),
    Send(Index, Index, Option<Index>),
    Broadcast(Index),
    Take(Index, u8),
    /// A bridge hands over what is unread, by one of its ways.
    Hand(Index, u8),
    Settle(Index, bool),
    Wait(Index, Option<Index>, Option<Index>, bool),
    EndWait(Index),
    /// A bridge says that a turn is over.
    EndCalls(Index),
    /// The answer of a call was written.
    Written(Index),
    Open(Index, bool),
    Claim(Index, Index),
    Answer(Index),
    Assign(Index, Index),
    PlayTask(Index),
    CancelTask(Index, Index),
    Stop(Index, Index, bool),
    Due,
    Pass(u64),
    Boot,
    /// A process comes back and reads everything again.
    Reopen,
    /// The last command comes a second time.
    Again,
}

fn step() -> impl Strategy<Value = ModelStep> {
    let one = any::<Index>;
    let maybe = || proptest::option::of(any::<Index>());
    // Short and long spans: of a wait, a nudge, an expiry, a hand-over, and of mail.
    let span = prop_oneof![
        Just(1_000),
        Just(30_000),
        Just(70_000),
        Just(300_000),
        Just(600_000),
        Just(2_592_000_000)
    ];
    let members = prop_oneof![
        4 => (0..4u8).prop_map(ModelStep::JoinChosen),
        2 => Just(ModelStep::JoinLike),
        3 => one().prop_map(ModelStep::StartAgent),
        2 => one().prop_map(ModelStep::Ready),
        2 => one().prop_map(ModelStep::Leave),
        2 => one().prop_map(ModelStep::Die),
        2 => Just(ModelStep::Reap),
        1 => one().prop_map(ModelStep::Hang),
        1 => one().prop_map(ModelStep::Beat),
        1 => (one(), any::<bool>()).prop_map(|(which, keeps)| ModelStep::Crash(which, keeps)),
        1 => one().prop_map(ModelStep::Inherit),
        1 => (one(), one(), any::<bool>()).prop_map(|(by, of, kill)| ModelStep::Stop(by, of, kill)),
    ];
    let messages = prop_oneof![
        6 => (one(), one(), maybe()).prop_map(|(by, to, reply)| ModelStep::Send(by, to, reply)),
        1 => one().prop_map(ModelStep::Broadcast),
        4 => (one(), 1..4u8).prop_map(|(by, limit)| ModelStep::Take(by, limit)),
        3 => (one(), 0..4u8).prop_map(|(which, way)| ModelStep::Hand(which, way)),
        4 => (one(), any::<bool>()).prop_map(|(call, seen)| ModelStep::Settle(call, seen)),
        5 => (one(), maybe(), maybe(), any::<bool>())
            .prop_map(|(by, from, about, long)| ModelStep::Wait(by, from, about, long)),
        2 => one().prop_map(ModelStep::EndWait),
        2 => one().prop_map(ModelStep::EndCalls),
        2 => one().prop_map(ModelStep::Written),
    ];
    let work = prop_oneof![
        3 => (one(), any::<bool>()).prop_map(|(by, long)| ModelStep::Open(by, long)),
        4 => (one(), one()).prop_map(|(by, which)| ModelStep::Claim(by, which)),
        2 => one().prop_map(ModelStep::Answer),
        2 => (one(), one()).prop_map(|(by, agent)| ModelStep::Assign(by, agent)),
        2 => one().prop_map(ModelStep::PlayTask),
        1 => (one(), one()).prop_map(|(by, which)| ModelStep::CancelTask(by, which)),
    ];
    let time = prop_oneof![
        3 => Just(ModelStep::Due),
        6 => span.prop_map(ModelStep::Pass),
        1 => Just(ModelStep::Boot),
        1 => Just(ModelStep::Reopen),
        1 => Just(ModelStep::Again),
    ];
    prop_oneof![4 => members, 6 => messages, 3 => work, 2 => time]
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
        entries in proptest::collection::vec(garbage::entry(), 1..40),
        asks in proptest::collection::vec(any::<[u8; 4]>(), 0..8)
    ) {
        garbage::check(&entries, &asks);
    }
}
