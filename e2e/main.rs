//! Real programs, end to end: the five agents under a real orchestrator, and Claude Code as its user, without any model.
//!
//! `install.sh` puts the programs where this finds them. What is not there is skipped, visibly. `BRIDGE_E2E_MATRIX=FILE` writes
//! what was seen into the document's matrix.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells what it did not do"
)]

mod agent_kinds;
mod results_table;
mod model;
mod programs;
mod real_project;
pub(crate) mod suites;
#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the other tests with real processes need more of it")]
mod support;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Conclusion, Trial};

use self::agent_kinds::{KINDS, Kind};
use self::results_table::Matrix;
use programs::Programs;

/// Agents that run at the same time: each takes up to half a GB, and a core while it starts.
const AT_ONCE: usize = 2;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let programs = Programs::find();
    let matrix = Matrix::default();
    let mut trials = model::tests::trials();
    for kind in &KINDS {
        trials.extend(trials_of(kind, &programs, &matrix));
    }
    trials.push(trial(
        "codex",
        "says_how_to_log_in_without_its_key",
        programs.missing(&["node", "codex"]),
        suites::every_agent::misses_its_key,
    ));
    trials.push(trial(
        "claude",
        "leads_two_agents_that_talk_to_each_other",
        programs.missing(&suites::claude_as_user::PROGRAMS),
        suites::claude_as_user::leads_two_agents_that_talk_to_each_other,
    ));
    trials.push(trial(
        "workflow",
        "hands_outputs_on_between_three_vendors",
        programs.missing(&suites::three_vendor_workflow::PROGRAMS),
        suites::three_vendor_workflow::hands_outputs_on_between_three_vendors,
    ));
    for kind in [&agent_kinds::CODEX, &agent_kinds::CLAUDE_CODE] {
        trials.push(trial(
            kind.name,
            "goes_on_in_the_session_of_an_interrupted_step",
            programs.missing(&["node", kind.name]),
            || suites::killed_orchestrator::in_the_session_of_the_interrupted_step(kind),
        ));
    }
    trials.push(trial(
        "dialogue",
        "has_no_answer_that_waits",
        programs.missing(&suites::shown_before_seen::PROGRAMS),
        suites::shown_before_seen::answers_come_at_once,
    ));
    let missing = programs.missing(&suites::claude_is_notified::PROGRAMS);
    trials.push(trial(
        "claude",
        "is_told_between_two_steps_and_before_it_stops",
        missing,
        suites::claude_is_notified::is_told_between_two_steps_and_before_it_stops,
    ));
    trials.push(trial(
        "claude",
        "is_woken_by_a_finished_task_when_idle",
        missing,
        suites::claude_is_notified::is_woken_by_a_finished_task_when_idle,
    ));
    trials.push(trial(
        "doctor",
        "finds_all_agents_well_without_asking_a_model",
        programs.missing(&suites::doctor_examines::PROGRAMS),
        suites::doctor_examines::finds_all_agents_well_without_asking_a_model,
    ));
    trials.push(trial(
        "claude",
        "leads_and_is_told_by_its_hook",
        missing,
        suites::claude_plugin::leads_and_is_told_by_its_hook,
    ));
    trials.push(trial(
        "claude",
        "is_woken_by_its_monitor",
        missing,
        suites::claude_plugin::is_woken_by_its_monitor,
    ));
    let missing = programs.missing(&suites::claude_leads_on::PROGRAMS);
    trials.push(trial(
        "claude",
        "waits_for_two_members_at_once",
        missing,
        suites::claude_leads_on::waits_for_two_members_at_once,
    ));
    trials.push(trial(
        "claude",
        "finds_the_work_of_an_earlier_session",
        missing,
        suites::claude_leads_on::finds_the_work_of_an_earlier_session,
    ));
    let conclusion: Conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(document) = std::env::var_os("BRIDGE_E2E_MATRIX") {
        let all = !conclusion.has_failed()
            && conclusion.num_filtered_out == 0
            && conclusion.num_ignored == 0;
        if all {
            matrix.write_into(Path::new(&document));
        } else {
            eprintln!("the matrix is not written: not everything was seen");
        }
    }
    conclusion.exit_code()
}

/// The lifecycle of one kind of agent.
fn trials_of(kind: &'static Kind, programs: &Programs, matrix: &Matrix) -> Vec<Trial> {
    let missing = programs.missing(&["node", kind.name]);
    macro_rules! trial {
        ($name:literal, $check:path) => {{
            let matrix = matrix.clone();
            trial(kind.name, $name, missing, move || async move { $check(kind, &matrix).await })
        }};
    }
    let mut trials = vec![
        trial!("works_and_asks_before_it_uses_our_tools", suites::every_agent::works),
        trial!("hears_messages_in_mid_turn_and_when_idle", suites::every_agent::hears),
        trial!("is_reached_in_a_turn_by_its_own_way", suites::every_agent::is_reached),
        trial!("ends_a_cancelled_turn_and_leaves_in_good_order", suites::every_agent::stops),
        trial!("forgets_when_a_task_begins_anew", suites::every_agent::begins_anew),
        trial!("comes_back_with_its_conversation", suites::every_agent::returns),
        trial!(
            "takes_no_model_that_it_does_not_offer",
            suites::every_agent::refuses_an_unknown_model
        ),
        trial!("tells_why_its_model_fails", suites::every_agent::tells_of_a_failing_model),
        trial!("leaves_nothing_when_it_is_killed", suites::every_agent::dies),
        trial!("does_what_the_policy_lets_it_do", suites::permission_policies::hold),
    ];
    trials.push(trial(kind.name, "shows_results_whole", missing, || {
        suites::shown_before_seen::shows_results_whole(kind)
    }));
    trials.push(trial(kind.name, "is_woken_once_by_a_storm", missing, || {
        suites::shown_before_seen::is_woken_once_by_a_storm(kind)
    }));
    if !matches!(kind.reach, agent_kinds::Reach::Interrupt) {
        for (name, end) in [
            ("is_told_again_after_a_cancel", suites::shown_before_seen::End::Cancel),
            ("is_told_again_after_a_crash", suites::shown_before_seen::End::Crash),
            (
                "is_told_again_by_the_next_orchestrator",
                suites::shown_before_seen::End::Orchestrator,
            ),
        ] {
            trials.push(trial(kind.name, name, missing, move || {
                suites::shown_before_seen::is_told_again(kind, end)
            }));
        }
    }
    if kind.tells_of_login {
        trials.push(trial!("says_how_to_log_in", suites::every_agent::asks_for_a_login));
    }
    trials
}

/// A test that needs programs: without them it is skipped, and its name says which is missing.
fn trial<F: Future<Output = ()>>(
    group: &str,
    name: &str,
    missing: Option<&str>,
    check: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let title = match missing {
        Some(program) => {
            format!("{group}::{name} (`{program}` is not installed: run e2e/install.sh)")
        }
        None => format!("{group}::{name}"),
    };
    let run = move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(check());
        Ok(())
    };
    Trial::test(title, run).with_ignored_flag(missing.is_some())
}
