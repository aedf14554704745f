//! The steps of the model, and their frequencies.

use proptest::prelude::*;
use proptest::sample::Index;

/// The groups to which members write: see [`group`](super::model_inputs::group).
pub(super) const GROUPS: u8 = 8;

/// One step. Its indices choose among the existing sessions, calls, requests and so on.
#[derive(Clone, Debug)]
pub(super) enum ModelStep {
    JoinChosen(u8),
    JoinLike,
    StartAgent(Index),
    Ready(Index),
    Leave(Index),
    /// The process of a session dies; nothing is written.
    Die(Index),
    /// A process finds that a heartbeat has stopped.
    Hang(Index),
    /// A process finds that a heartbeat has returned.
    Beat(Index),
    /// An agent is restarted; its task ends or is kept.
    Crash(Index, bool),
    /// A process reaps the dead sessions.
    Reap,
    /// A new session takes over the name of a dead one.
    Inherit(Index),
    /// Sends one of few messages, with one of few envelopes.
    Send(Index, Index, Option<Index>, u8),
    Broadcast(Index),
    /// The user writes to a member, in reply to one of the messages, and decides what is in dispute there.
    UserWord(Index, Index),
    /// A member writes to one of a few groups.
    SendToGroup(Index, u8, Option<Index>),
    /// A member writes to the other project.
    SendThere(Index, u8, Option<Index>),
    /// A courier reports what has become of a message to or from the other project.
    Report(Index, Index, u8),
    /// Something comes from the other project.
    Comes(Index, u8),
    /// A member follows one of the topics, or leaves it.
    Follow(Index, bool),
    /// A member claims one of the lanes, or gives it up.
    Lane(Index, u8, bool),
    /// An orchestrator sets the rate of messages; 0 is none.
    Limit(Index, u8),
    Take(Index, u8),
    /// A bridge delivers unread messages, by one of its methods.
    Deliver(Index, u8),
    Settle(Index, bool),
    Wait(Index, Option<Index>, Option<Index>, bool),
    EndWait(Index),
    /// A bridge reports that a turn is over.
    EndCalls(Index),
    /// A member acknowledges one of the messages.
    Acknowledge(Index, Index, u8),
    /// The answer of a call was written.
    Written(Index),
    Open(Index, bool),
    /// A member opens a request for one of a few groups.
    OpenFor(Index, u8),
    Claim(Index, Index),
    Answer(Index),
    /// The owner of a request does something else with its claim, perhaps for a member.
    UpdateClaim(Index, u8, Index),
    Assign(Index, Index),
    RunTask(Index),
    CancelTask(Index, Index),
    Stop(Index, Index, bool),
    Due,
    Pass(u64),
    Boot,
    /// A process restarts and reads the whole log again.
    Reopen,
    /// A process repeats the last command.
    Again,
}

pub(super) fn step() -> impl Strategy<Value = ModelStep> {
    let one = any::<Index>;
    let maybe = || proptest::option::of(any::<Index>());
    // Short and long spans: for a wait, a nudge, an expiry, a delivery, and mail.
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
        6 => (one(), one(), maybe(), 0..16u8)
            .prop_map(|(by, to, reply, more)| ModelStep::Send(by, to, reply, more)),
        1 => one().prop_map(ModelStep::Broadcast),
        1 => (one(), one()).prop_map(|(to, answered)| ModelStep::UserWord(to, answered)),
        3 => (one(), 0..GROUPS, maybe())
            .prop_map(|(by, group, reply)| ModelStep::SendToGroup(by, group, reply)),
        2 => (one(), 0..16u8, maybe())
            .prop_map(|(by, how, reply)| ModelStep::SendThere(by, how, reply)),
        2 => (one(), one(), 0..16u8)
            .prop_map(|(by, which, how)| ModelStep::Report(by, which, how)),
        2 => (one(), 0..16u8).prop_map(|(which, how)| ModelStep::Comes(which, how)),
        2 => (one(), any::<bool>()).prop_map(|(by, follows)| ModelStep::Follow(by, follows)),
        2 => (one(), 0..2u8, any::<bool>())
            .prop_map(|(by, lane, claims)| ModelStep::Lane(by, lane, claims)),
        1 => (one(), prop_oneof![Just(0), Just(1), Just(60)])
            .prop_map(|(by, rate)| ModelStep::Limit(by, rate)),
        4 => (one(), 1..4u8).prop_map(|(by, limit)| ModelStep::Take(by, limit)),
        3 => (one(), 0..4u8).prop_map(|(which, method)| ModelStep::Deliver(which, method)),
        4 => (one(), any::<bool>()).prop_map(|(call, seen)| ModelStep::Settle(call, seen)),
        5 => (one(), maybe(), maybe(), any::<bool>())
            .prop_map(|(by, from, about, long)| ModelStep::Wait(by, from, about, long)),
        2 => one().prop_map(ModelStep::EndWait),
        2 => one().prop_map(ModelStep::EndCalls),
        2 => one().prop_map(ModelStep::Written),
        3 => (one(), one(), 0..3u8)
            .prop_map(|(by, which, status)| ModelStep::Acknowledge(by, which, status)),
    ];
    let work = prop_oneof![
        3 => (one(), any::<bool>()).prop_map(|(by, long)| ModelStep::Open(by, long)),
        2 => (one(), 0..GROUPS).prop_map(|(by, group)| ModelStep::OpenFor(by, group)),
        4 => (one(), one()).prop_map(|(by, which)| ModelStep::Claim(by, which)),
        2 => one().prop_map(ModelStep::Answer),
        3 => (one(), 0..6u8, one())
            .prop_map(|(which, how, to)| ModelStep::UpdateClaim(which, how, to)),
        2 => (one(), one()).prop_map(|(by, agent)| ModelStep::Assign(by, agent)),
        2 => one().prop_map(ModelStep::RunTask),
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
