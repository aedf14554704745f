//! Examines the configuration: whether it can be read, and whether the user has approved the files of the project.

use crate::config::Config;
use crate::doctor::finding::{Finding, Subject};
use crate::team::{Trust, UnreadableApproval, trust_command};

const SUBJECT: Subject = Subject::Project;

/// Examines a configuration that could be read.
pub(crate) fn examine(config: &Config, trust: &Trust) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in config.project_files() {
        let quoted = file.file.quoted();
        findings.push(if file.needs_yes() {
            let command = trust_command(file.trust_argument());
            judge_consent(&quoted, trust.has(&file.file), &command)
        } else {
            let says = format!("{quoted} asks for nothing that needs your approval");
            Finding::ok(&SUBJECT, "trust", says)
        });
    }
    if findings.is_empty() {
        findings.push(Finding::ok(&SUBJECT, "trust", "the project brings no bridge.toml"));
    }
    if config.leaves_out_auto_resume() {
        findings.push(
            Finding::note(&SUBJECT, "config", "`resume = \"auto\"` in it is ignored").with_remedy(
                "set it under [workflows] of your own `~/.config/cli-team-bridge/config.toml`",
            ),
        );
    }
    findings
}

fn judge_consent(
    quoted: &str,
    approved: Result<bool, UnreadableApproval>,
    command: &str,
) -> Finding {
    match approved {
        Ok(true) => Finding::ok(&SUBJECT, "trust", format!("you approved {quoted}")),
        Ok(false) => Finding::problem(
            &SUBJECT,
            "trust",
            format!(
                "{quoted} would run programs or raise limits, which you have not approved: those \
                 settings have no effect, and agents with some of them are not started"
            ),
            format!("review and approve it with `{command}`"),
        ),
        Err(why) => Finding::problem(
            &SUBJECT,
            "trust",
            why.message_for_user(),
            "run `cli-team-bridge doctor --fix`, which takes the rights of others to the state directory away",
        ),
    }
}

/// Reports that the configuration cannot be read: each problem, which is a line of `why`, as a finding of its own.
pub(crate) fn unreadable(why: &str) -> Vec<Finding> {
    let last = why.lines().count();
    let of_line = |(line, number): (&str, usize)| {
        let remedy = if number < last {
            "correct that line"
        } else {
            "correct that; the agents below were checked with the built-in profiles"
        };
        Finding::problem(&SUBJECT, "config", line.to_owned(), remedy)
    };
    why.lines().zip(1..).map(of_line).collect()
}

/// Reports that there is no project here.
pub(crate) fn no_project(why: &str) -> Finding {
    Finding::note(&SUBJECT, "place", why.to_owned())
        .with_remedy("run `cli-team-bridge doctor` in a project to check its bus, too")
}
