//! Plans, right and wrong.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::team::Candidates;
use crate::team::assign::on_host::find_host::tests::one_host;

fn known() -> Candidates {
    let name = |text| Name::parse(text).unwrap();
    Candidates {
        profiles: vec![name("codex"), name("claude")],
        missing: vec![(name("gemini"), "its program is not on PATH".into())],
        agents: vec![name("ann")],
        others: vec![name("gate")],
        words: vec![
            ("reviewer".into(), None),
            ("tester".into(), Some("its program is not on PATH".into())),
        ],
        hosts: None,
        search_path: None,
    }
}

fn step(name: &str, depends_on: &[&str], prompt: &str) -> StepDraft {
    StepDraft {
        name: (!name.is_empty()).then(|| name.to_owned()),
        agent: "codex".into(),
        prompt: prompt.into(),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        ..StepDraft::default()
    }
}

#[test]
fn a_missing_program_of_a_gate_is_reported_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    std::fs::write(&tool, "").unwrap();
    std::fs::set_permissions(&tool, Permissions::from_mode(0o700)).unwrap();
    let known = Candidates { search_path: Some(folder.path().into()), ..known() };
    let programs = ["tool", "tol", tool.to_str().unwrap(), "/nowhere/tool", "./made-by-a-step"];
    let steps = programs.map(|program| StepDraft {
        gate: vec![program.to_owned(), "now".to_owned()],
        ..step("", &[], "x")
    });
    let draft = Draft { name: "test".into(), steps: steps.to_vec() };
    let problems = validate(draft, &known).unwrap_err().0;
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "steps[1].gate: the program `tol` is not on PATH: install it, or correct the gate",
            "steps[3].gate: the program `/nowhere/tool` does not exist: install it, or correct the gate",
        ]
    );
}

fn checked(steps: Vec<StepDraft>) -> Result<Plan, Problems> {
    let name = "test".to_owned();
    validate(Draft { name, steps }, &known())
}

#[track_caller]
fn refused(steps: Vec<StepDraft>, expected: &[&str]) {
    let problems = checked(steps).unwrap_err().0;
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected);
}

#[test]
fn a_diamond_runs_in_three_groups() {
    let plan = checked(vec![
        step("d", &["b", "c"], "{{steps.a.output}} {{steps.b.status}}"),
        step("b", &["A"], "x"),
        step("c", &["a", "a"], "x"),
        step("a", &[], "x"),
    ])
    .unwrap();
    let order: Vec<Vec<String>> =
        plan.order().iter().map(|group| group.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(order, [vec!["a"], vec!["b", "c"], vec!["d"]]);
    assert_eq!(plan.steps[2].depends_on.len(), 1, "a dependency named twice counts once");
}

#[test]
fn an_unnamed_step_is_named_after_its_agent_with_a_free_number() {
    let plan =
        checked(vec![step("", &[], "x"), step("codex-2", &[], "x"), step("", &["codex"], "x")])
            .unwrap();
    let names: Vec<_> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["codex", "codex-2", "codex-3"]);
}

#[test]
fn every_problem_is_listed_at_once_with_its_place() {
    let mut first = step("a", &["b", "zebra"], "{{steps.b.otput}}");
    first.agent = "codx".into();
    let mut second = step("b", &[], " ");
    second.agent = "gate".into();
    second.timeout_seconds = Some(0);
    second.retries = Some(9);
    let mut third = step("A", &[], "{{steps.b.output}} {{steps.q.output}}");
    third.agent = "gemini".into();
    refused(
        vec![first, second, third],
        &[
            "steps[1].prompt: it is empty: say what to do",
            "steps[1].timeout_seconds: it is 0; it must be 1 to 86400",
            "steps[2].name: another step is already named `A`",
            "steps[0].agent: `codx` is neither a live agent nor a profile: did you mean `codex`?",
            "steps[0].depends_on[1]: no step is named `zebra`",
            "steps[1].agent: `gate` is not an agent started by a bridge: ask it with send_message",
            "steps[1].retries: it is 9; it must be 0 to 5",
            "steps[2].agent: its program is not on PATH",
            "steps[0].prompt: unknown placeholder `{{steps.b.otput}}`: did you mean `.output`?",
            "steps[2].prompt: a placeholder names the step `b`, which this step does not depend \
                on: add it to depends_on",
            "steps[2].prompt: a placeholder names the step `q`, which does not exist",
        ],
    );
}

#[test]
fn a_step_needs_one_installed_program_of_its_agents() {
    let with = |agent: &str, fallback: &str| StepDraft {
        agent: agent.into(),
        fallback: vec![fallback.into()],
        ..step("a", &[], "x")
    };
    assert!(checked(vec![with("gemini", "codex")]).is_ok());
    assert!(checked(vec![with("codex", "gemini")]).is_ok());
    refused(vec![with("gemini", "gemini")], &["steps[0].agent: its program is not on PATH"]);
}

#[test]
fn cycles_are_named_in_full() {
    refused(
        vec![
            step("a", &["b"], "x"),
            step("b", &["c"], "x"),
            step("c", &["a"], "x"),
            step("d", &["d"], "{{steps.d.output}}"),
        ],
        &[
            "steps: they depend on each other in a cycle: a → b → c → a",
            "steps: they depend on each other in a cycle: d → d",
            "steps[3].prompt: a placeholder names this step itself, which has no output before it \
                runs",
        ],
    );
}

#[test]
fn exceeded_limits_are_reported_with_the_excess() {
    refused(Vec::new(), &["steps: there are none: a workflow needs at least one"]);
    let many = vec![step("", &[], "x"); limits::MAX_STEPS + 1];
    refused(many, &["steps: there are 201; the limit is 200: divide the workflow"]);
    let long = "x".repeat(limits::MAX_PLAN_BYTES + 1);
    let problems = checked(vec![step("", &[], &long)]).unwrap_err();
    assert!(problems.to_string().contains("524289 bytes"), "{problems}");
    let most = vec![step("", &[], "x"); limits::MAX_STEPS];
    assert_eq!(checked(most).unwrap().steps.len(), limits::MAX_STEPS);
}

#[test]
fn an_endless_list_of_problems_is_counted() {
    let wrong = step("", &[], "{{x}}");
    let problems = checked(vec![wrong; 60]).unwrap_err().to_string();
    assert!(problems.ends_with("and 20 more problems"), "{problems}");
}

#[test]
fn a_live_agent_can_do_a_step() {
    let mut only = step("", &[], "x");
    only.agent = "ANN".into();
    assert_eq!(checked(vec![only]).unwrap().steps[0].name.as_str(), "ANN");
}

#[test]
fn gates_and_rounds_are_checked() {
    let gated = |name: &str, depends_on: &[&str]| {
        let mut step = step(name, depends_on, "x");
        step.gate = vec!["cargo".into(), "test".into()];
        step.repeat = Some(3);
        step
    };
    let mut good = gated("b", &["a"]);
    good.repeat_steps = vec!["a".into()];
    let plan = checked(vec![step("a", &[], "x"), good.clone()]).unwrap();
    let repeat = plan.steps[1].repeat.as_ref().unwrap();
    assert_eq!((repeat.times, repeat.steps.len()), (3, 1));
    let mut later = gated("c", &[]);
    later.repeat_steps = vec!["b".into(), "zebra".into()];
    later.repeat = Some(1);
    later.gate_seconds = Some(0);
    let mut none = step("d", &[], "x");
    none.repeat = Some(2);
    none.approve = Some("me".into());
    refused(
        vec![step("a", &[], "x"), good, later, none],
        &[
            "steps[2].gate_seconds: it is 0; it must be 1 to 86400",
            "steps[2].repeat: it is 1; it must be 2 to 20",
            "steps[2].repeat_steps[1]: no step is named `zebra`",
            "steps[3].approve: it is \"me\"; it must be \"human\"",
            "steps[3].repeat: it needs a `gate`",
            "steps[2].repeat_steps: `b` does not come before this step",
        ],
    );
}

#[test]
fn conditions_and_lists_are_checked() {
    let with = |name: &str, depends_on: &[&str], when: &str, for_each: &str| StepDraft {
        when: (!when.is_empty()).then(|| when.to_owned()),
        for_each: (!for_each.is_empty()).then(|| for_each.to_owned()),
        ..step(name, depends_on, "{{item}}")
    };
    let all = [
        step("a", &[], "x"),
        with("b", &["a"], "steps.a.json.ok == true", "steps.a.json.list"),
        with("c", &["b"], "steps.b.status == done", "steps.a.json"),
    ];
    let plan = checked(all.to_vec()).unwrap();
    let when = plan.steps[1].when.as_ref().unwrap();
    assert_eq!(when.to_string(), "steps.a.json.ok == true");
    let for_each = plan.steps[2].for_each.as_ref().unwrap();
    assert_eq!(for_each.to_string(), "steps.a.json");
    let mut rounds = with("d", &["a"], "", "steps.a.json");
    rounds.repeat_steps = vec!["a".into()];
    rounds.repeat = Some(2);
    rounds.gate = vec!["true".into()];
    refused(
        vec![
            step("a", &[], "{{item.x}}"),
            with("b", &["a"], "steps.q.status == done", "steps.q.json"),
            with("c", &["b"], "steps.a.status == done", "steps.a.output"),
            rounds,
            step("D.12", &[], "x"),
            with(&"x".repeat(62), &["a"], "steps.a.state == done", "steps.c.json"),
        ],
        &[
            "steps[2].for_each: write `steps.NAME.json` or `steps.NAME.json.FIELD`, which must be \
                a list",
            "steps[3].repeat_steps: a step with `for_each` repeats each item by itself: leave \
                `repeat_steps` out",
            "steps[5].when: did you mean `.status`?",
            "steps[1].when: it names the step `q`, which does not exist",
            "steps[1].for_each: it names the step `q`, which does not exist",
            "steps[2].when: this step does not depend on `a`: add it to depends_on",
            "steps[4].name: an item of `d`, which has `for_each`, has this name",
            "steps[5].for_each: this step does not depend on `c`: add it to depends_on",
            "steps[5].name: it is longer than 61 bytes: its items are named `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.1` and so on",
            "steps[0].prompt: `{{item}}` stands for a list item, but this step has no `for_each`",
        ],
    );
}

#[test]
fn a_step_takes_a_role_that_somebody_has_whose_program_is_there() {
    let of = |agent: &str| StepDraft { agent: agent.into(), ..step("", &[], "x") };
    let plan = checked(vec![of("@Reviewers"), of("@reviewer")]).unwrap();
    let steps: Vec<_> =
        plan.steps.iter().map(|step| (step.name.as_str(), step.agent.as_str())).collect();
    assert_eq!(steps, [("Reviewers", "@Reviewers"), ("reviewer", "@reviewer")]);
    for (agent, problem) in [
        (
            "@reviwer",
            "no live agent and no profile has the role `@reviwer`: did you mean `@reviewer`?",
        ),
        (
            "@nobody",
            "no live agent and no profile has the role `@nobody`; there are `@reviewer`, `@tester`",
        ),
        ("@tester", "its program is not on PATH"),
    ] {
        refused(vec![of(agent)], &[&format!("steps[0].agent: {problem}")]);
    }
}

fn at(host: &str, agent: &str) -> StepDraft {
    StepDraft { agent: agent.into(), host: Some(host.into()), ..step("a", &[], "x") }
}

#[test]
fn a_step_of_another_host_needs_an_agent_that_this_host_starts_and_none_that_is_here() {
    let known = Candidates { hosts: Some(one_host("far")), ..known() };
    let check = |step: StepDraft, expected: &str| {
        let draft = Draft { name: "test".to_owned(), steps: vec![step] };
        match validate(draft, &known) {
            Ok(plan) => assert_eq!(expected, "", "{plan:?}"),
            Err(problems) => {
                let problems: Vec<_> = problems.0.iter().map(ToString::to_string).collect();
                assert_eq!(problems, [expected]);
            }
        }
    };
    for host in ["builder", "BOX"] {
        check(at(host, "far"), "");
    }
    let fallback = vec!["far".to_owned(), "codex".to_owned()];
    check(StepDraft { fallback, ..at("box", "far") }, "");
    // The machine that runs the workflow is no other one.
    check(at("laptop", "codex"), "");
    check(
        at("laptop", "far"),
        "steps[0].agent: `far` is neither a live agent nor a profile; profiles: `claude`, `codex`, `gemini`",
    );
    check(
        at("builder", "codex"),
        "steps[0].host: `builder` does not offer the profile `codex`, but `far`",
    );
    check(
        at("shed", "far"),
        "steps[0].host: no host `shed` starts agents for this team: there are `builder` on \"box\" (far)",
    );
    check(at(" ", "far"), "steps[0].host: it must be a name of 1 to 64 bytes");
    check(
        at("builder", "@reviewer"),
        "steps[0].agent: a host starts a new agent of a profile: name one instead of a role",
    );
    let gate = vec!["true".to_owned()];
    check(
        StepDraft { gate, ..at("builder", "far") },
        "steps[0].gate: it runs where the workflow runs, but the step works on its `host`: leave one of the two out",
    );
    check(
        StepDraft { fallback: vec!["zzyzx".to_owned()], ..at("builder", "far") },
        "steps[0].fallback[0]: `zzyzx` is neither a live agent nor a profile; profiles: `claude`, `codex`, `gemini`",
    );
}

#[test]
fn where_hosts_are_not_known_any_agent_may_be_of_one() {
    let plan = checked(vec![at("builder", "far")]).unwrap();
    assert_eq!(plan.steps[0].host.as_deref(), Some("builder"));
}
