//! Examines the configuration: whether it can be read, and whether the user has approved the project's own file.

use crate::config::Config;
use crate::doctor::finding::{Finding, Subject};
use crate::team::{Trust, UnreadableApproval};

const SUBJECT: Subject = Subject::Project;

/// Examines a configuration that could be read.
pub(crate) fn examine(config: &Config, trust: &Trust) -> Vec<Finding> {
    let Some(file) = config.project_file() else {
        return vec![Finding::ok(&SUBJECT, "trust", "the project brings no bridge.toml")];
    };
    let quoted = file.file.quoted();
    let mut findings = vec![if file.needs_yes() {
        judge_consent(&quoted, trust.has(&file.file))
    } else {
        let says = format!("{quoted} asks for nothing that needs your approval");
        Finding::ok(&SUBJECT, "trust", says)
    }];
    if config.leaves_out_auto_resume() {
        findings.push(
            Finding::note(&SUBJECT, "config", "`resume = \"auto\"` in it is ignored")
                .with_remedy("set it in your own config.toml"),
        );
    }
    findings
}

fn judge_consent(quoted: &str, approved: Result<bool, UnreadableApproval>) -> Finding {
    match approved {
        Ok(true) => Finding::ok(&SUBJECT, "trust", format!("you approved {quoted}")),
        Ok(false) => Finding::problem(
            &SUBJECT,
            "trust",
            format!(
                "{quoted} would run programs or raise limits, which you have not approved: those \
                 settings are ignored"
            ),
            "review and approve it with `cli-team-bridge trust`",
        ),
        Err(why) => Finding::problem(
            &SUBJECT,
            "trust",
            why.to_string(),
            "give the state directory back to its owner alone (`chmod go-w`)",
        ),
    }
}

/// Reports that the configuration cannot be read, and why.
pub(crate) fn unreadable(why: &str) -> Finding {
    Finding::problem(
        &SUBJECT,
        "config",
        why.to_owned(),
        "correct that file; the agents below were checked with the built-in profiles",
    )
}

/// Reports that there is no project here.
pub(crate) fn no_project(why: &str) -> Finding {
    Finding::note(&SUBJECT, "place", why.to_owned())
        .with_remedy("run `cli-team-bridge doctor` in a project to check its bus, too")
}
