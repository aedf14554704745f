//! Single cases of the engine.

use super::*;

fn drawn_chain() -> Vec<Drawn> {
    let step = |depends_on: Vec<usize>| Drawn {
        depends_on,
        fate: Fate::Good,
        retries: 0,
        fallback: false,
        repeat: false,
        when: None,
        items: None,
    };
    vec![step(vec![]), step(vec![0]), step(vec![1])]
}

#[test]
fn a_step_that_is_interrupted_too_often_fails() {
    let mut world = World::new(drawn_chain());
    for _ in 0..=limits::MAX_INTERRUPTIONS {
        world.look(usize::MAX);
        world.look(usize::MAX);
        world.happen(Happens::OwnerDies);
    }
    assert_eq!(world.end(), WorkflowStatus::Failed);
    let first = &world.workflow().steps[0];
    assert_eq!(first.why.as_deref(), Some("it was interrupted 6 times"), "{first:?}");
    assert_eq!(first.attempts, 6);
}

/// A step whose condition does not hold depends on a step that is about to be repeated: the repeated step decides whether it is
/// needed.
#[test]
fn a_repeated_round_precedes_the_steps_that_depend_on_it() {
    let step = drawn_chain().swap_remove(0);
    let mut world = World::new(vec![
        step.clone(),
        step.clone(),
        Drawn { depends_on: vec![0], fate: Fate::Gated(1), repeat: true, ..step.clone() },
        Drawn { depends_on: vec![0, 1], when: Some(Wants::Output(false)), ..step },
    ]);
    let end = |world: &mut World, number: usize| {
        let running = world.running();
        let is_it = |(name, _): &&(Name, TaskId)| *name == name_of(number);
        world.end_task(running.iter().find(is_it).unwrap());
    };
    world.look(usize::MAX);
    end(&mut world, 0);
    world.look(usize::MAX);
    assert_eq!(world.look(usize::MAX), 1, "the third begins");
    end(&mut world, 2);
    assert_eq!(world.look(usize::MAX), 1, "its gate does not hold");
    end(&mut world, 1);
    assert_eq!(world.look(1), 1, "the second is done");
    world.end();
    world.check_statuses();
    let steps = &world.workflow().steps;
    assert_eq!((steps[0].attempts, steps[2].attempts), (2, 2));
}

#[test]
fn no_more_steps_run_at_once_than_the_width() {
    let drawn = drawn_chain();
    let mut world = World::new(vec![drawn[0].clone(); WIDTH + 3]);
    assert_eq!(world.look(usize::MAX), WIDTH);
    assert_eq!(world.look(usize::MAX), 0);
    let first = world.running().remove(0);
    world.end_task(&first);
    assert_eq!(world.look(usize::MAX), 1, "the move");
    assert_eq!(world.look(usize::MAX), 1, "the next");
}

#[test]
fn interrupted_steps_begin_before_new_ones() {
    let drawn = drawn_chain();
    let world = World::new(vec![drawn[0].clone(); 3]);
    let mut workflow = world.workflow().clone();
    workflow.steps[1].interrupted = true;
    let started: Vec<_> = next(&workflow, WIDTH, |_| TaskSeen::Going, |_| ConditionResult::Holds)
        .into_iter()
        .map(|action| match action {
            Action::Start(name) => number_of(&name),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(started, [1, 0, 2]);
}

#[test]
fn an_agent_that_cannot_run_is_replaced_and_one_that_fails_is_retried() {
    let mut plan = Step::new(name_of(0), "codex", &[]);
    plan.fallback = vec!["claude".into()];
    plan.retries = 1;
    let world = World::new(drawn_chain());
    let mut step = world.workflow().steps[0].clone();
    step.plan = plan;
    let after = |step: &StepRun, class: &str| after_failure(step, class, "oh");
    let oh = || "oh".to_owned();
    assert_eq!(after(&step, "refused"), StepMove::Again(Again::Retry, oh()));
    assert_eq!(after(&step, "crashed"), StepMove::Again(Again::Fallback, oh()));
    assert_eq!(step.planned_agent(), "codex");
    step.passed = 1;
    assert_eq!(step.planned_agent(), "claude");
    assert_eq!(after(&step, "crashed"), StepMove::Again(Again::Retry, oh()));
    step.failures = 1;
    assert_eq!(after(&step, "crashed"), StepMove::Fail(oh()));
}

#[test]
fn two_loops_repeat_a_shared_step_only_once() {
    let step = |depends_on: Vec<usize>, fate: Fate| Drawn {
        depends_on,
        fate,
        retries: 0,
        fallback: false,
        repeat: true,
        when: None,
        items: None,
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

#[test]
fn a_condition_on_a_failure_runs_after_it_and_a_plain_dependent_is_skipped() {
    use StepStatus::{Done, Failed, Skipped, Unneeded};
    let mut drawn = drawn_chain();
    drawn[0].fate = Fate::Fails(9);
    drawn[1].when = Some(Wants::Status(StepStatus::Failed));
    drawn.push(Drawn { when: Some(Wants::Status(StepStatus::Done)), ..drawn[1].clone() });
    drawn.push(Drawn { when: None, ..drawn[1].clone() });
    let mut world = World::new(drawn);
    assert_eq!(world.end(), WorkflowStatus::Failed);
    let ends = world.workflow().steps.iter().map(|step| step.status);
    assert_eq!(ends.collect::<Vec<_>>(), [Failed, Done, Done, Unneeded, Skipped]);
}

#[test]
fn the_items_of_a_list_share_the_width_and_one_that_fails_fails_the_step() {
    let mut drawn = drawn_chain();
    let count = u32::try_from(WIDTH).unwrap() + 3;
    drawn[1].items = Some(count);
    let mut world = World::new(drawn);
    world.look(usize::MAX);
    let first = world.running().remove(0);
    world.end_task(&first);
    world.look(usize::MAX);
    assert_eq!(world.look(usize::MAX), 1, "it is expanded");
    assert_eq!(world.look(usize::MAX), WIDTH);
    assert_eq!(world.look(usize::MAX), 0);
    let (name, task) = world.running().remove(2);
    assert_eq!(name.as_str(), "step-1.3");
    world.ask(world.lead, Operation::CancelTask(task));
    assert_eq!(world.end(), WorkflowStatus::Failed);
    let steps = &world.workflow().steps;
    assert_eq!(steps.len(), 3 + usize::try_from(count).unwrap());
    let why = steps[1].why.as_deref().unwrap();
    assert_eq!(
        why,
        "1 of 11 items did not succeed: step-1.3 was cancelled: cancelled by orchestrator"
    );
    let last = steps.last().unwrap();
    assert_eq!(last.why.as_deref(), Some("step-1 has failed"));
}

#[test]
fn a_condition_is_not_evaluated_before_a_slot_is_free() {
    let first = drawn_chain().remove(0);
    let mut drawn = vec![first.clone(); WIDTH + 1];
    drawn.push(Drawn { depends_on: vec![0], when: Some(Wants::Output(false)), ..first });
    let mut world = World::new(drawn);
    world.look(usize::MAX);
    let first = world.running().remove(0);
    world.end_task(&first);
    world.look(usize::MAX);
    assert_eq!(world.look(usize::MAX), 1, "the last step without dependencies");
    let seen = |step: &StepRun| world.seen(step);
    let actions = next(world.workflow(), WIDTH, seen, |step| panic!("{step:?}"));
    assert_eq!(actions, []);
    assert_eq!(world.end(), WorkflowStatus::Done);
}
