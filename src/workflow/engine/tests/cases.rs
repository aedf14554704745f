//! Single cases of the engine, by name.

use super::*;

fn drawn_chain() -> Vec<Drawn> {
    let step = |depends_on: Vec<usize>| Drawn {
        depends_on,
        fate: Fate::Good,
        retries: 0,
        fallback: false,
        repeat: false,
    };
    vec![step(vec![]), step(vec![0]), step(vec![1])]
}

#[test]
fn what_is_interrupted_again_and_again_fails() {
    let mut world = World::new(drawn_chain());
    for _ in 0..=limits::MAX_INTERRUPTIONS {
        world.look(usize::MAX);
        world.look(usize::MAX);
        world.happen(Happens::OwnerDies);
    }
    assert_eq!(world.end(), WorkflowStatus::Failed);
    let first = &world.workflow().steps[0];
    assert_eq!(
        first.why.as_deref(),
        Some("it was interrupted 6 times"),
        "{first:?}"
    );
    assert_eq!(first.attempts, 6);
}

#[test]
fn no_more_run_at_once_than_may() {
    let drawn = drawn_chain();
    let mut world = World::new(vec![drawn[0].clone(); limits::WORKFLOW_WIDTH + 3]);
    assert_eq!(world.look(usize::MAX), limits::WORKFLOW_WIDTH);
    assert_eq!(world.look(usize::MAX), 0);
    let first = world.running().remove(0);
    world.end_task(&first);
    assert_eq!(world.look(usize::MAX), 1, "the move");
    assert_eq!(world.look(usize::MAX), 1, "the next");
}

#[test]
fn what_was_interrupted_begins_before_what_never_began() {
    let drawn = drawn_chain();
    let world = World::new(vec![drawn[0].clone(); 3]);
    let mut workflow = world.workflow().clone();
    workflow.steps[1].interrupted = true;
    let started: Vec<_> = next(&workflow, |_| Seen::Going)
        .into_iter()
        .map(|action| match action {
            Action::Start(name) => number_of(&name),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(started, [1, 0, 2]);
}

#[test]
fn an_agent_that_cannot_gives_way_to_the_next_and_one_that_fails_is_asked_again() {
    let mut plan = Step::new(name_of(0), "codex", &[]);
    plan.fallback = vec!["claude".into()];
    plan.retries = 1;
    let world = World::new(drawn_chain());
    let mut step = world.workflow().steps[0].clone();
    step.plan = plan;
    let after = |step: &PlayedStep, class: &str| after_failure(step, class, "oh");
    let oh = || "oh".to_owned();
    assert_eq!(after(&step, "refused"), StepMove::Again(Again::Retry, oh()));
    assert_eq!(
        after(&step, "crashed"),
        StepMove::Again(Again::Fallback, oh())
    );
    assert_eq!(step.wanted(), "codex");
    step.passed = 1;
    assert_eq!(step.wanted(), "claude");
    assert_eq!(after(&step, "crashed"), StepMove::Again(Again::Retry, oh()));
    step.failures = 1;
    assert_eq!(after(&step, "crashed"), StepMove::Fail(oh()));
}

#[test]
fn two_loops_that_share_a_step_do_it_again_once_for_both() {
    let step = |depends_on: Vec<usize>, fate: Fate| Drawn {
        depends_on,
        fate,
        retries: 0,
        fallback: false,
        repeat: true,
    };
    let shared = step(vec![], Fate::Good);
    let looping = step(vec![0], Fate::Gated(1));
    let mut world = World::new(vec![shared, looping.clone(), looping]);
    world.look(usize::MAX);
    let end_all = |world: &mut World| {
        for running in world.running() {
            world.end_task(&running);
        }
    };
    end_all(&mut world);
    world.look(usize::MAX);
    world.look(usize::MAX);
    end_all(&mut world);
    world.look(usize::MAX);
    assert_eq!(world.look(usize::MAX), 3, "the shared step and both loops");
    assert_eq!(world.end(), WorkflowStatus::Done);
    let attempts = world.workflow().steps.iter().map(|step| step.attempts);
    assert_eq!(attempts.collect::<Vec<_>>(), [2, 2, 2]);
}
