//! Random plans, and random events while they run.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::domain::workflow::StepStatus;

/// A step of a random plan. It depends on earlier steps, by number, and has a fate.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) depends_on: Vec<usize>,
    pub(crate) fate: Fate,
    pub(crate) retries: u32,
    pub(crate) fallback: bool,
    pub(crate) repeat: bool,
    pub(crate) when: Option<Wants>,
    /// The number of items, if it has `for_each`.
    pub(crate) items: Option<u32>,
}

/// A condition on the step's first dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// On its final status.
    Status(StepStatus),
    /// On its output, with the result.
    Output(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Good,
    /// Fails this many times, then succeeds.
    Fails(u32),
    Crashes,
    /// Its gate fails this many times.
    Gated(u32),
}

/// The rounds of a step that is repeated with its first dependency.
pub(crate) const ROUNDS: u32 = 3;

/// An event between two looks of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happens {
    /// A running task ends.
    TaskEnds(prop::sample::Index),
    /// Only some of the engine's actions are performed: the rest was cut off.
    Partly(u8),
    /// The owner is killed, and the next one resumes.
    OwnerDies,
    /// A client cancels the workflow.
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
