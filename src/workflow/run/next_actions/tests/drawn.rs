//! Plans and what happens to them, drawn by chance.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::domain::workflow::StepStatus;

/// A plan by numbers: each step depends on some that come before it, and ends so.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) depends_on: Vec<usize>,
    pub(crate) fate: Fate,
    pub(crate) retries: u32,
    pub(crate) fallback: bool,
    pub(crate) repeat: bool,
    pub(crate) when: Option<Wants>,
    /// How many items of a list it is done for.
    pub(crate) items: Option<u32>,
}

/// A condition on the first step that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// On how that ended.
    Status(StepStatus),
    /// On what was said in it, with the answer.
    Output(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Good,
    /// Fails so many times, then ends well.
    Fails(u32),
    Crashes,
    /// Its gate does not hold so many times.
    Gated(u32),
}

/// Rounds of a step that is repeated with the first that it depends on.
pub(crate) const ROUNDS: u32 = 3;

/// What may happen between two looks of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happens {
    /// A task that runs comes to its end.
    TaskEnds(prop::sample::Index),
    /// Only some of what the engine said is done: the rest was cut off.
    Partly(u8),
    /// Whoever leads is killed, and the next one resumes.
    OwnerDies,
    /// Somebody cancels the workflow.
    Cancel,
}

pub(crate) fn drawn(most: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let fate = prop_oneof![
        12 => Just(Fate::Good),
        1 => (1..3u32).prop_map(Fate::Fails),
        1 => Just(Fate::Crashes),
        2 => (0..4u32).prop_map(Fate::Gated),
    ];
    let one = (
        proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        fate,
        0..3u32,
        any::<bool>(),
        any::<bool>(),
        wants(),
        proptest::option::weighted(0.1, 0..4u32),
    );
    proptest::collection::vec(one, 1..=most).prop_map(|steps| {
        let mut all = Vec::new();
        for (number, (before, fate, retries, fallback, repeat, when, items)) in
            steps.into_iter().enumerate()
        {
            let before = before.iter().filter(|_| number > 0);
            let depends_on: BTreeSet<_> = before.map(|index| index.index(number)).collect();
            all.push(Drawn {
                depends_on: depends_on.into_iter().collect(),
                fate,
                retries,
                fallback,
                repeat,
                when: when.filter(|_| number > 0),
                items,
            });
        }
        all
    })
}

fn wants() -> impl Strategy<Value = Option<Wants>> {
    prop_oneof![
        6 => Just(None),
        1 => prop_oneof![Just(StepStatus::Done), Just(StepStatus::Failed), Just(StepStatus::Skipped)]
            .prop_map(|status| Some(Wants::Status(status))),
        1 => any::<bool>().prop_map(|answer| Some(Wants::Output(answer))),
    ]
}

pub(crate) fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        20 => any::<prop::sample::Index>().prop_map(Happens::TaskEnds),
        4 => (0..4u8).prop_map(Happens::Partly),
        1 => Just(Happens::OwnerDies),
    ]
}
