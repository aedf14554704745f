//! Real programs, end to end: the five agents under a real orchestrator, and Claude Code as its user, without any model.
//!
//! `install.sh` installs the programs. A test whose program is missing is skipped, and its name says so. `BRIDGE_E2E_MATRIX=FILE`
//! writes the results into the matrix of that document.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and the summary is for the user"
)]

mod agent_kinds;
mod browser;
mod claude_code;
mod conformance;
mod results_table;
mod model;
mod programs;
mod real_project;
pub(crate) mod suites;
#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests in `tests/it` use more of it")]
mod support;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Conclusion, Trial};

use self::agent_kinds::{KINDS, Kind};
use self::results_table::Matrix;
use programs::Programs;
use support::npm::Packages;

/// How many tests run at the same time: an agent takes up to half a GB, and a core while it starts.
const AT_ONCE: usize = 2;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let programs = Programs::find();
    let matrix = Matrix::default();
    let mut trials = model::tests::trials();
    trials.extend(conformance::tests::trials());
    trials.extend(trials_of_judges(&programs));
    for kind in &KINDS {
        trials.extend(trials_of(kind, &programs, &matrix));
    }
    trials.push(trial(
        "codex",
        "says_how_to_log_in_without_its_key",
        programs.missing(&["node", "codex"]),
        suites::every_agent::says_how_to_log_in_without_its_key,
    ));
    trials.push(trial(
        "claude",
        "leads_two_agents_that_talk_to_each_other",
        programs.missing(&suites::claude::as_user::PROGRAMS),
        suites::claude::as_user::leads_two_agents_that_talk_to_each_other,
    ));
    trials.push(trial(
        "workflow",
        "passes_outputs_between_three_vendors",
        programs.missing(&suites::three_vendor_workflow::PROGRAMS),
        suites::three_vendor_workflow::passes_outputs_between_three_vendors,
    ));
    for kind in [&agent_kinds::CODEX, &agent_kinds::CLAUDE_CODE] {
        trials.push(trial(
            kind.name,
            "continues_the_session_of_an_interrupted_step",
            programs.missing(&["node", kind.name]),
            || suites::killed_orchestrator::continues_the_session_of_an_interrupted_step(kind),
        ));
    }
    trials.push(trial(
        "droid",
        "reaches_the_team_although_its_user_has_connected_it",
        programs.missing(&["node", "droid"]),
        suites::connected_client::reaches_the_team_although_its_user_has_connected_it,
    ));
    trials.push(trial(
        "dialogue",
        "answers_arrive_without_delay",
        programs.missing(&suites::shown_before_seen::PROGRAMS),
        suites::shown_before_seen::answers_arrive_without_delay,
    ));
    let missing = programs.missing(&claude_code::PROGRAMS);
    trials.push(trial(
        "claude",
        "gets_messages_between_two_steps_and_before_it_stops",
        missing,
        suites::claude::is_notified::gets_messages_between_two_steps_and_before_it_stops,
    ));
    trials.push(trial(
        "claude",
        "is_woken_by_a_finished_task_when_idle",
        missing,
        suites::claude::is_notified::is_woken_by_a_finished_task_when_idle,
    ));
    trials.extend(trials_of_doctor(&programs));
    trials.push(trial(
        "claude",
        "leads_and_gets_messages_from_its_hook",
        missing,
        suites::claude::uses_plugin::leads_and_gets_messages_from_its_hook,
    ));
    trials.push(trial(
        "claude",
        "is_woken_by_its_monitor",
        missing,
        suites::claude::uses_plugin::is_woken_by_its_monitor,
    ));
    trials.extend(trials_of_leader(missing));
    trials.push(trial(
        "claude",
        "lets_its_user_answer_an_agent_with_one_key",
        programs.missing(&suites::claude::shows_forms::PROGRAMS),
        suites::claude::shows_forms::lets_its_user_answer_an_agent_with_one_key,
    ));
    trials.extend(trials_of_browser(&programs));
    trials.extend(trials_of_first_minutes(missing));
    trials.extend(trials_of_other_clients(&programs));
    let conclusion: Conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(document) = std::env::var_os("BRIDGE_E2E_MATRIX") {
        write_matrix(&matrix, &conclusion, Path::new(&document));
    }
    conclusion.exit_code()
}

/// Returns the test of the pages in a real browser.
fn trials_of_browser(programs: &Programs) -> Vec<Trial> {
    vec![trial(
        "browser",
        "shows_a_team_in_a_real_browser",
        programs.missing(&browser::shows_a_team::PROGRAMS),
        browser::shows_a_team::shows_a_team_in_a_real_browser,
    )]
}

/// Returns the tests of what the doctor says of real programs.
fn trials_of_doctor(programs: &Programs) -> Vec<Trial> {
    use suites::{doctor_examines, doctor_reads_clients};
    vec![
        trial(
            "doctor",
            "finds_all_agents_healthy_without_a_prompt",
            programs.missing(&doctor_examines::PROGRAMS),
            doctor_examines::finds_all_agents_healthy_without_a_prompt,
        ),
        trial(
            "doctor",
            "entries_for_one_project_apply_where_claude_uses_them",
            programs.missing(&claude_code::PROGRAMS),
            doctor_reads_clients::entries_for_one_project_apply_where_claude_uses_them,
        ),
        trial(
            "doctor",
            "an_entry_is_off_where_claude_shows_no_tools",
            programs.missing(&claude_code::PROGRAMS),
            doctor_reads_clients::an_entry_is_off_where_claude_shows_no_tools,
        ),
        trial(
            "doctor",
            "folders_are_trusted_as_gemini_trusts_them",
            programs.missing(&doctor_reads_clients::GEMINI),
            doctor_reads_clients::folders_are_trusted_as_gemini_trusts_them,
        ),
        trial(
            "doctor",
            "files_are_read_as_the_clients_read_them",
            programs.missing(&doctor_reads_clients::READERS),
            doctor_reads_clients::files_are_read_as_the_clients_read_them,
        ),
        trial(
            "doctor",
            "entries_are_started_where_the_doctor_finds_them_right",
            programs.missing(&doctor_reads_clients::READERS),
            doctor_reads_clients::entries_are_started_where_the_doctor_finds_them_right,
        ),
    ]
}

/// Writes the matrix into its document, if all tests ran and passed.
fn write_matrix(matrix: &Matrix, conclusion: &Conclusion, document: &Path) {
    let have_all_run = conclusion.num_filtered_out == 0 && conclusion.num_ignored == 0;
    if have_all_run && !conclusion.has_failed() {
        matrix.write_into(document);
    } else {
        eprintln!("the matrix is not written: not all tests ran and passed");
    }
}

/// Returns the tests of Qwen Code and Gemini CLI as users.
fn trials_of_other_clients(programs: &Programs) -> [Trial; 2] {
    let qwen = trial(
        "qwen",
        "announces_messages_between_two_steps_and_before_it_stops",
        programs.missing(&["node", "qwen"]),
        suites::other_clients_announce::qwen_announces_between_two_steps_and_before_it_stops,
    );
    let gemini = trial(
        "gemini",
        "announces_messages_before_it_stops",
        programs.missing(&["node", "gemini"]),
        suites::other_clients_announce::gemini_announces_before_it_stops,
    );
    [qwen, gemini]
}

/// Returns the tests of one kind of agent.
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
        trial!("gets_messages_during_a_turn_and_when_idle", suites::every_agent::gets_messages),
        trial!(
            "gets_a_message_during_a_turn_by_its_own_method",
            suites::every_agent::gets_a_message_by_its_own_method
        ),
        trial!("ends_a_cancelled_turn_and_shuts_down_cleanly", suites::every_agent::stops),
        trial!(
            "forgets_the_conversation_in_a_fresh_session",
            suites::every_agent::starts_fresh_session
        ),
        trial!("resumes_with_its_conversation", suites::every_agent::resumes),
        trial!(
            "refuses_a_model_that_it_does_not_offer",
            suites::every_agent::refuses_an_unknown_model
        ),
        trial!("reports_why_its_model_fails", suites::every_agent::reports_a_failing_model),
        trial!("leaves_no_process_when_it_is_killed", suites::every_agent::is_killed),
        trial!("obeys_its_permission_policy", suites::permission_policies::obeys_its_policy),
    ];
    trials.push(trial(kind.name, "shows_results_in_full", missing, || {
        suites::shown_before_seen::shows_results_in_full(kind)
    }));
    trials.push(trial(kind.name, "answers_a_question_in_its_thread", missing, move || {
        suites::asked_in_thread::answers_in_its_thread(kind)
    }));
    trials.push(trial(kind.name, "is_woken_once_by_a_storm", missing, || {
        suites::shown_before_seen::is_woken_once_by_a_storm(kind)
    }));
    if !matches!(kind.reach, agent_kinds::Reach::Interrupt) {
        for (name, end) in [
            ("gets_the_message_again_after_a_cancel", suites::shown_before_seen::End::Cancel),
            ("gets_the_message_again_after_a_crash", suites::shown_before_seen::End::Crash),
            (
                "gets_the_message_again_from_the_next_orchestrator",
                suites::shown_before_seen::End::Orchestrator,
            ),
        ] {
            trials.push(trial(kind.name, name, missing, move || {
                suites::shown_before_seen::gets_the_message_again(kind, end)
            }));
        }
    }
    if kind.reports_missing_login {
        trials.push(trial!("says_how_to_log_in", suites::every_agent::says_how_to_log_in));
    }
    trials
}

/// Returns the tests of Claude Code as a leader that goes on.
fn trials_of_leader(missing: Option<&str>) -> [Trial; 3] {
    use suites::claude::leads_on;
    [
        trial(
            "claude",
            "waits_for_two_members_at_once",
            missing,
            leads_on::waits_for_two_members_at_once,
        ),
        trial(
            "claude",
            "finds_the_work_of_an_earlier_session",
            missing,
            leads_on::finds_the_work_of_an_earlier_session,
        ),
        trial(
            "claude",
            "is_told_of_the_work_that_was_lost_with_an_earlier_session",
            missing,
            leads_on::is_told_of_the_work_that_was_lost_with_an_earlier_session,
        ),
    ]
}

/// Returns the tests that begin with the npm packages. They also need npm.
fn trials_of_first_minutes(missing: Option<&str>) -> [Trial; 2] {
    let missing = missing.or_else(|| (!Packages::can_be_made()).then_some("npm"));
    [
        trial(
            "claude",
            "is_set_up_by_npx_and_restored_byte_for_byte",
            missing,
            suites::first_minutes::is_set_up_by_npx_and_restored_byte_for_byte,
        ),
        trial(
            "claude",
            "delegates_a_task_right_after_setup_and_keeps_its_own_changes",
            missing,
            suites::first_minutes::delegates_a_task_right_after_setup_and_keeps_its_own_changes,
        ),
    ]
}

/// Returns the tests in which programs of others judge ours.
fn trials_of_judges(programs: &Programs) -> Vec<Trial> {
    use conformance::mcp_suite::Server;
    use conformance::{acp_judges, acp_kit, mcp_suite};

    let by_suite = programs.missing(&mcp_suite::PROGRAMS);
    let by_schema = programs.missing(&acp_judges::SCHEMA_PROGRAMS);
    vec![
        trial(
            "conformance",
            "the_suite_finds_of_an_orchestrator_what_the_document_says",
            by_suite,
            || mcp_suite::finds_what_the_document_says(Server::Orchestrator),
        ),
        trial("conformance", "the_suite_finds_of_a_peer_what_the_document_says", by_suite, || {
            mcp_suite::finds_what_the_document_says(Server::Peer)
        }),
        trial(
            "conformance",
            "every_message_of_a_team_follows_the_schema",
            by_schema,
            acp_judges::every_message_of_a_team_follows_the_schema,
        ),
        trial(
            "conformance",
            "the_judge_of_messages_finds_faults",
            by_schema,
            acp_judges::the_judge_of_messages_finds_faults,
        ),
        trial(
            "conformance",
            "a_client_of_another_project_understands_the_scripted_agent",
            programs.missing(&acp_judges::CLIENT_PROGRAMS),
            acp_judges::a_client_of_another_project_understands_the_scripted_agent,
        ),
        trial_unless(
            "conformance",
            "the_kit_finds_the_scripted_agent_conformant",
            acp_kit::program().is_none().then(|| acp_kit::IS_MISSING.to_owned()),
            acp_kit::the_kit_finds_the_scripted_agent_conformant,
        ),
    ]
}

/// Returns a test that needs programs. If one is missing, the test is skipped and its name says which.
fn trial<F: Future<Output = ()>>(
    group: &str,
    name: &str,
    missing: Option<&str>,
    check: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let why = missing.map(|program| format!("`{program}` is not installed: run e2e/install.sh"));
    trial_unless(group, name, why, check)
}

/// Returns a test. If there is a reason why it cannot run, it is skipped and its name says the reason.
fn trial_unless<F: Future<Output = ()>>(
    group: &str,
    name: &str,
    why_not: Option<String>,
    check: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let is_skipped = why_not.is_some();
    let reason = why_not.map(|why| format!(" ({why})")).unwrap_or_default();
    let title = format!("{group}::{name}{reason}");
    let run = move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(check());
        Ok(())
    };
    Trial::test(title, run).with_ignored_flag(is_skipped)
}
