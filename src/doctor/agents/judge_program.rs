//! Judges how an agent is installed. Pure.

use std::path::{Path, PathBuf};

use super::agent_kinds::Kind;
use crate::doctor::finding::{Finding, Subject};
use crate::domain::missing_program::MissingProgram;
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::installed_agents::{FoundProgram, LoginSign, how_to_add_to_path};

/// How an agent is installed.
#[derive(Clone, Debug)]
pub(super) struct InstalledProgram {
    pub(super) profile: String,
    /// The agent's kind, if it is one of the five.
    pub(super) kind: Option<&'static Kind>,
    /// The vendor's own program, if it is installed and not the one that the bridge starts.
    pub(super) cli: Option<FoundProgram>,
    /// The program that the bridge starts.
    pub(super) program: Result<PathBuf, MissingProgram>,
    pub(super) version: Option<String>,
    /// Whether the user's or the project's configuration names the program.
    pub(super) is_chosen: bool,
    pub(super) install: Option<String>,
    /// Whether that needs npm, which is not on `PATH`.
    pub(super) lacks_npm: bool,
    /// Completes a sentence that begins "to log in,".
    pub(super) how_to_log_in: Option<String>,
    /// The program, if npm has installed it where `PATH` does not lead.
    pub(super) off_path: Option<PathBuf>,
    /// None if nothing is known about its logins.
    pub(super) login: Option<LoginSign>,
    pub(super) consent: Consented,
}

/// Whether the user has approved the changes of the project's files to a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consented {
    /// No file changes anything that needs approval, or the user has approved it.
    Yes,
    /// This file is not approved.
    No { file: String, command: String },
    /// The approvals cannot be read.
    Unreadable(String),
}

impl InstalledProgram {
    /// Returns the step that runs a command of the installer.
    fn run(&self, command: &str) -> String {
        let before = if self.lacks_npm { "install Node.js, which includes npm, then " } else { "" };
        format!("{before}run `{command}`")
    }
}

/// The judgement of an installation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) findings: Vec<Finding>,
    /// Whether the agent is installed, perhaps without its adapter.
    pub(super) is_installed: bool,
    /// Whether it may be started for a trial.
    pub(super) may_start: bool,
}

/// Judges how an agent is installed.
pub(super) fn judge(installed: &InstalledProgram) -> Judged {
    let subject = Subject::Agent(installed.profile.clone());
    let program = match &installed.program {
        Ok(program) => program,
        Err(missing) => {
            let finding = judge_missing(&subject, installed, missing);
            let is_there = installed.cli.is_some() || installed.off_path.is_some();
            let is_installed = is_there || installed.is_chosen;
            return Judged { findings: vec![finding], is_installed, may_start: false };
        }
    };
    let mut findings = vec![judge_present(&subject, installed, program)];
    findings.extend(judge_login(&subject, installed));
    let may_start = installed.consent == Consented::Yes;
    findings.extend(match &installed.consent {
        Consented::Yes => None,
        Consented::No { file, command } => Some(
            Finding::unknown(
                &subject,
                "start",
                format!(
                    "not started: {file} decides what it runs, and you have not approved that file"
                ),
            )
            .with_remedy(format!("review and approve it with `{command}`")),
        ),
        Consented::Unreadable(why) => Some(Finding::unknown(
            &subject,
            "start",
            format!("not started: a file of the project decides what it runs, and {why}"),
        )),
    });
    Judged { findings, is_installed: true, may_start }
}

fn judge_missing(
    subject: &Subject,
    installed: &InstalledProgram,
    missing: &MissingProgram,
) -> Finding {
    let program = &missing.program;
    let install = installed.install.as_ref().filter(|_| !installed.is_chosen);
    let run = install.map(|install| installed.run(install));
    let finding = match (&installed.cli, run) {
        _ if installed.is_chosen => Finding::problem(
            subject,
            "program",
            format!("its program `{program}` {}", missing.searched),
            missing.instead.clone(),
        ),
        (Some(FoundProgram { name, path }), run) => {
            let cli = path.as_deref().unwrap_or(Path::new(name)).shown();
            let (says, remedy) = match &installed.off_path {
                Some(there) => (
                    format!(
                        "`{name}` is installed ({cli}), and so is its ACP adapter ({}), but not on PATH",
                        there.shown()
                    ),
                    how_to_add_to_path(there),
                ),
                None => (
                    format!(
                        "`{name}` is installed ({cli}), but not its ACP adapter: `{program}` {}",
                        missing.searched
                    ),
                    run.unwrap_or_else(|| missing.instead.clone()),
                ),
            };
            Finding::problem(subject, "program", says, remedy)
        }
        (None, run) => {
            let note = Finding::note(
                subject,
                "program",
                format!("not installed: `{program}` {}", missing.searched),
            );
            match (&installed.off_path, run) {
                (Some(there), _) => Finding::problem(
                    subject,
                    "program",
                    format!("`{program}` is installed ({}), but not on PATH", there.shown()),
                    how_to_add_to_path(there),
                ),
                (None, Some(run)) => note.with_remedy(format!("to use it, {run}")),
                (None, None) => note,
            }
        }
    };
    finding.with_fact("installed", false)
}

fn judge_present(subject: &Subject, installed: &InstalledProgram, program: &Path) -> Finding {
    let version = installed.version.as_deref();
    let shown = program.shown();
    let says =
        version.map_or_else(|| shown.to_string(), |version| format!("{shown}, version {version}"));
    let old = installed.kind.zip(version).filter(|(kind, version)| kind.is_older(version));
    let finding = match old {
        Some((kind, _)) => {
            let says =
                format!("{says}, older than {}, which the bridge is tested with", kind.tested);
            let note = Finding::note(subject, "program", says);
            match &installed.install {
                // Without a version, npm passes over those that need a newer Node.js, and does not say so.
                Some(install) => {
                    let run = installed.run(&format!("{install}@latest"));
                    let warns = "npm warns if that needs a newer Node.js";
                    note.with_remedy(format!("to update it, {run}; {warns}"))
                }
                None => note,
            }
        }
        None => Finding::ok(subject, "program", says),
    };
    let finding = finding
        .with_fact("installed", true)
        .with_fact("program", program.to_string_lossy().into_owned());
    match version {
        Some(version) => finding.with_fact("version", version),
        None => finding,
    }
}

fn judge_login(subject: &Subject, installed: &InstalledProgram) -> Option<Finding> {
    Some(match installed.login.as_ref()? {
        LoginSign::Variable(name) => Finding::ok(subject, "login", format!("by {name}")),
        LoginSign::File(path) => Finding::ok(subject, "login", format!("by {}", path.shown())),
        LoginSign::NotNeeded(provider) => {
            let says = format!("not needed for its model provider `{provider}`");
            Finding::ok(subject, "login", says)
        }
        sign @ (LoginSign::NoKey(_) | LoginSign::NoVariable { .. }) => {
            let (says, remedy) = sign.why_no_key()?;
            Finding::problem(subject, "login", says, remedy)
        }
        LoginSign::NotSeen => {
            let unknown =
                Finding::unknown(subject, "login", "no sign of a login: no key and no login file");
            match &installed.how_to_log_in {
                Some(how) => unknown.with_remedy(format!("to log in, {how}")),
                None => unknown,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::agents::agent_kinds;
    use crate::doctor::finding::Level;
    use crate::domain::missing_program::Searched;

    fn codex() -> InstalledProgram {
        InstalledProgram {
            profile: "codex".into(),
            kind: agent_kinds::of_profile("codex"),
            cli: Some(FoundProgram { name: "codex".into(), path: Some("/bin/codex".into()) }),
            program: Ok("/bin/codex-acp".into()),
            version: Some("2.6.0".into()),
            is_chosen: false,
            install: Some("npm install -g @x/codex-acp".into()),
            lacks_npm: false,
            how_to_log_in: Some("run `codex login`".into()),
            off_path: None,
            login: Some(LoginSign::Variable("OPENAI_API_KEY".into())),
            consent: Consented::Yes,
        }
    }

    fn missing(searched: Searched) -> Result<PathBuf, MissingProgram> {
        Err(MissingProgram {
            profile: None,
            program: "codex-acp".into(),
            searched,
            install: None,
            instead: "correct `command` of [agents.codex]".into(),
        })
    }

    /// Judges an installation, and asserts the finding of one check.
    #[track_caller]
    fn check(
        installed: &InstalledProgram,
        check: &str,
        level: Level,
        says: &str,
        remedy: Option<&str>,
    ) {
        let judged = judge(installed);
        let finding = judged.findings.iter().find(|finding| finding.check == check).unwrap();
        assert_eq!(finding.level, level);
        assert_eq!(finding.says, says);
        assert_eq!(finding.remedy.as_deref(), remedy);
        assert_eq!(
            judged.may_start,
            installed.program.is_ok() && installed.consent == Consented::Yes
        );
    }

    #[test]
    fn an_installed_program_is_named_with_its_version() {
        check(&codex(), "program", Level::Ok, "/bin/codex-acp, version 2.6.0", None);
        check(&codex(), "login", Level::Ok, "by OPENAI_API_KEY", None);
        let old = InstalledProgram { version: Some("2.5.9".into()), ..codex() };
        check(
            &old,
            "program",
            Level::Note,
            "/bin/codex-acp, version 2.5.9, older than 2.6.0, which the bridge is tested with",
            Some(
                "to update it, run `npm install -g @x/codex-acp@latest`; npm warns if that needs a newer \
                 Node.js",
            ),
        );
    }

    #[test]
    fn a_cli_without_its_adapter_is_a_problem_but_a_missing_agent_is_not() {
        let cli = InstalledProgram { program: missing(Searched::OnPath), ..codex() };
        check(
            &cli,
            "program",
            Level::Problem,
            "`codex` is installed (/bin/codex), but not its ACP adapter: `codex-acp` is not on PATH",
            Some("run `npm install -g @x/codex-acp`"),
        );
        let there = Some("/opt/my node/bin/codex-acp".into());
        let off_path = InstalledProgram { off_path: there, ..cli.clone() };
        check(
            &off_path,
            "program",
            Level::Problem,
            "`codex` is installed (/bin/codex), and so is its ACP adapter (/opt/my node/bin/codex-acp), but not on PATH",
            Some(
                "add `export PATH='/opt/my node/bin':\"$PATH\"` to the start file of your shell, and start the shell \
                 and your client anew",
            ),
        );
        check(
            &InstalledProgram { cli: None, ..off_path },
            "program",
            Level::Problem,
            "`codex-acp` is installed (/opt/my node/bin/codex-acp), but not on PATH",
            Some(
                "add `export PATH='/opt/my node/bin':\"$PATH\"` to the start file of your shell, and start the shell \
                 and your client anew",
            ),
        );
        let nothing = InstalledProgram { cli: None, ..cli };
        check(
            &nothing,
            "program",
            Level::Note,
            "not installed: `codex-acp` is not on PATH",
            Some("to use it, run `npm install -g @x/codex-acp`"),
        );
        assert!(!judge(&nothing).is_installed);
        let without_npm = InstalledProgram { lacks_npm: true, ..nothing };
        check(
            &without_npm,
            "program",
            Level::Note,
            "not installed: `codex-acp` is not on PATH",
            Some(
                "to use it, install Node.js, which includes npm, then run `npm install -g @x/codex-acp`",
            ),
        );
    }

    #[test]
    fn a_wrong_path_is_a_problem_and_the_remedy_names_its_setting() {
        let chosen = InstalledProgram {
            program: missing(Searched::AsExecutable),
            is_chosen: true,
            cli: None,
            ..codex()
        };
        check(
            &chosen,
            "program",
            Level::Problem,
            "its program `codex-acp` does not exist or is not executable",
            Some("correct `command` of [agents.codex]"),
        );
    }

    #[test]
    fn a_missing_login_sign_has_the_login_as_its_remedy() {
        let out = InstalledProgram { login: Some(LoginSign::NotSeen), ..codex() };
        check(
            &out,
            "login",
            Level::Unknown,
            "no sign of a login: no key and no login file",
            Some("to log in, run `codex login`"),
        );
    }

    #[test]
    fn an_agent_without_approval_is_not_started() {
        let file = "the project's own bridge.toml".to_owned();
        let command = "cli-team-bridge trust".to_owned();
        let consent = Consented::No { file, command };
        let unapproved = InstalledProgram { consent, ..codex() };
        check(
            &unapproved,
            "start",
            Level::Unknown,
            "not started: the project's own bridge.toml decides what it runs, and you have not \
             approved that file",
            Some("review and approve it with `cli-team-bridge trust`"),
        );
    }
}
