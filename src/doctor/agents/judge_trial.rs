//! Judges how an agent has started. Pure.

use std::time::Duration;

use super::agent_kinds;
use crate::doctor::finding::{Finding, Level, Subject};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::task::error_class;
use crate::domain::text::counted::counted_as;
use crate::domain::text::visible_letters::{one_line, without_styles};
use crate::domain::wait_times;
use crate::sys::process::memory_use::MemoryUse;

/// The beginning of the advice at the end of a login error. The remedy repeats the advice.
const ADVICE: &str = "; to log in,";

/// The most characters of an agent's own words that are shown.
const SHOWN_CHARS: usize = 500;

/// The outcome of an agent's start.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trial {
    /// The agent started our endpoint, and has listed our tools.
    Ready {
        after: Duration,
        memory: MemoryUse,
        methods: Vec<DeliveryMethod>,
        version: Option<String>,
    },
    /// It has a session, but has not asked for our tools.
    NoTools,
    /// It could not be started or has ended, for this reason.
    Ended(String),
    /// None of these happened in time. What it printed beside messages is ready to append.
    Silent { printed: String },
}

/// Details of an agent that its remedies may name.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) profile: String,
    /// The command line, as a person would type it.
    pub(super) command: String,
    pub(super) how_to_log_in: Option<String>,
    /// The command that updates it, if its version is older than the one that the bridge is tested with.
    pub(super) update: Option<String>,
}

/// Judges how an agent has started.
pub(super) fn judge(tried: &Tried, trial: &Trial) -> Finding {
    let subject = Subject::Agent(tried.profile.clone());
    let by_hand = format!("run `{}` by hand to see why", tried.command);
    let remedy = match &tried.update {
        Some(update) => format!("its version is old: run `{update}`, or {by_hand}"),
        None => by_hand,
    };
    match trial {
        Trial::Ready { after, memory, methods, version } => {
            let methods: Vec<_> = methods.iter().map(|method| method.as_str()).collect();
            let seconds = after.as_secs_f64();
            let megabytes = memory.bytes / 1_000_000;
            let finding = Finding::ok(
                &subject,
                "start",
                format!(
                    "has the bridge's tools after {seconds:.1} s; {megabytes} MB in {}; \
                     messages by {}",
                    counted_as(memory.processes, "process", "processes"),
                    methods.join(", ")
                ),
            );
            let finding = finding
                .with_fact("seconds", (seconds * 10.0).round() / 10.0)
                .with_fact("memory_bytes", memory.bytes)
                .with_fact("processes", memory.processes)
                .with_fact("delivery", methods);
            match version {
                Some(version) => finding.with_fact("tells_version", version.as_str()),
                None => finding,
            }
        }
        Trial::NoTools => Finding::problem(
            &subject,
            "start",
            format!(
                "it runs, but did not ask for the bridge's tools within {} s, so its model cannot \
                 reach the team",
                wait_times::TOOLS_LISTED.as_secs()
            ),
            format!(
                "run `{}` by hand to see whether its settings let it start MCP servers",
                tried.command
            ),
        ),
        Trial::Ended(reason) if is_login_missing(reason) => {
            let reason = clipped(reason.split(ADVICE).next().unwrap_or_default());
            let how = tried.how_to_log_in.as_deref();
            let remedy = how.map_or(remedy, |how| format!("to log in, {how}"));
            Finding::problem(&subject, "login", format!("it is not logged in: {reason}"), remedy)
        }
        Trial::Ended(reason) => {
            let says = format!("it did not start: {}", clipped(reason));
            Finding::problem(&subject, "start", says, remedy)
        }
        Trial::Silent { printed } => Finding::problem(
            &subject,
            "start",
            format!(
                "it was not ready within {} s (a busy machine may need longer: try again){}",
                wait_times::DOCTOR_START.as_secs(),
                clipped(printed)
            ),
            remedy,
        ),
    }
}

/// Says whether an agent failed because it is not logged in: its error has our login advice, or belongs to that class.
fn is_login_missing(reason: &str) -> bool {
    reason.contains(ADVICE) || error_class::class(None, reason) == Some(error_class::AUTH)
}

/// Adds the findings of trials. A trial is better evidence of a login than a key or a login file.
pub(super) fn with_trials(mut before: Vec<Finding>, started: Vec<Finding>) -> Vec<Finding> {
    for finding in started {
        let same =
            |other: &&mut Finding| other.subject == finding.subject && other.check == "login";
        let login = before.iter_mut().find(same);
        let opened = finding.check == "start" && finding.level == Level::Ok;
        match login {
            Some(login) if finding.check == "login" => {
                *login = finding;
                continue;
            }
            Some(login) if opened && proves_login(&finding) && login.level == Level::Unknown => {
                *login =
                    Finding::ok(&login.subject, "login", "it opens a session, which needs one");
            }
            _ => {}
        }
        before.push(finding);
    }
    before
}

fn proves_login(started: &Finding) -> bool {
    let kind = started.subject.name().and_then(agent_kinds::of_profile);
    kind.is_some_and(|kind| kind.session_needs_login)
}

/// Returns an agent's words as one harmless line. Of many words the middle is left out: the beginning says what happened, the end
/// says why.
pub(super) fn clipped(words: &str) -> String {
    // Only what is shown counts: empty lines take no room from the words.
    let line = one_line(&without_styles(words));
    let length = line.chars().count();
    if length <= SHOWN_CHARS {
        return line;
    }
    let beginning: String = line.chars().take(SHOWN_CHARS / 2).collect();
    let end: String = line.chars().skip(length - SHOWN_CHARS / 2).collect();
    format!("{} … {}", beginning.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried() -> Tried {
        Tried {
            profile: "gemini".into(),
            command: "gemini --acp".into(),
            how_to_log_in: Some("set GEMINI_API_KEY".into()),
            update: None,
        }
    }

    #[track_caller]
    fn check(trial: &Trial, level: Level, check: &str, says: &str, remedy: Option<&str>) {
        let finding = judge(&tried(), trial);
        assert_eq!((finding.level, finding.check), (level, check));
        assert_eq!(finding.says, says);
        assert_eq!(finding.remedy.as_deref(), remedy);
    }

    #[test]
    fn an_agent_with_our_tools_is_well() {
        let ready = Trial::Ready {
            after: Duration::from_millis(1_440),
            memory: MemoryUse { bytes: 210_400_000, processes: 4 },
            methods: vec![DeliveryMethod::Steer, DeliveryMethod::Prompt],
            version: Some("1".into()),
        };
        let says =
            "has the bridge's tools after 1.4 s; 210 MB in 4 processes; messages by steer, prompt";
        check(&ready, Level::Ok, "start", says, None);
        let facts = judge(&tried(), &ready).facts;
        assert_eq!(facts["seconds"], 1.4);
        assert_eq!(facts["delivery"], serde_json::json!(["steer", "prompt"]));
    }

    #[test]
    fn a_missing_login_is_distinguished_from_other_failures() {
        check(
            &Trial::Ended("Authentication required; to log in, set GEMINI_API_KEY".into()),
            Level::Problem,
            "login",
            "it is not logged in: Authentication required",
            Some("to log in, set GEMINI_API_KEY"),
        );
        check(
            &Trial::Ended("it exited with code 7".into()),
            Level::Problem,
            "start",
            "it did not start: it exited with code 7",
            Some("run `gemini --acp` by hand to see why"),
        );
    }

    #[test]
    fn a_trial_overrides_the_signs_of_a_login() {
        let start = |agent: &str| Finding::ok(&Subject::Agent(agent.into()), "start", "ready");
        let no_sign =
            |agent: &str| Finding::unknown(&Subject::Agent(agent.into()), "login", "no sign");
        let levels = |before: Vec<Finding>, started: Vec<Finding>| {
            let all = with_trials(before, started);
            all.iter().map(|one| (one.check, one.level)).collect::<Vec<_>>()
        };
        assert_eq!(
            levels(
                vec![no_sign("gemini"), no_sign("claude-code")],
                vec![start("gemini"), start("claude-code")]
            ),
            [
                ("login", Level::Ok),
                ("login", Level::Unknown),
                ("start", Level::Ok),
                ("start", Level::Ok)
            ]
        );
        let key = Finding::ok(&Subject::Agent("codex".into()), "login", "by a key");
        let refused = Finding::problem(&key.subject, "login", "no", "log in");
        assert_eq!(levels(vec![key], vec![refused]), [("login", Level::Problem)]);
    }

    #[test]
    fn of_a_long_error_the_beginning_and_the_end_are_shown() {
        let long = format!("it ended; its stderr ends: {} no such model", "é".repeat(2_000));
        let finding = judge(&tried(), &Trial::Ended(long));
        assert!(finding.says.chars().count() < 600);
        assert!(finding.says.starts_with("it did not start: it ended;"), "{finding:?}");
        assert!(finding.says.ends_with("no such model"), "{finding:?}");
    }

    #[test]
    fn last_words_are_one_line_and_only_what_is_visible_counts() {
        let blank = format!("it ended; its stderr ends: first{}last\u{202e}", "\n".repeat(2_000));
        assert_eq!(clipped(&blank), "it ended; its stderr ends: first last");
        let ended = judge(&tried(), &Trial::Ended(blank)).says;
        assert_eq!(ended, "it did not start: it ended; its stderr ends: first last");
    }

    #[test]
    fn silence_and_missing_tools_are_problems() {
        let by_hand = Some("run `gemini --acp` by hand to see why");
        check(
            &Trial::Silent { printed: String::new() },
            Level::Problem,
            "start",
            "it was not ready within 30 s (a busy machine may need longer: try again)",
            by_hand,
        );
        check(
            &Trial::Silent {
                printed: "; it printed lines that are no messages: Log\nin".to_owned(),
            },
            Level::Problem,
            "start",
            "it was not ready within 30 s (a busy machine may need longer: try again); it printed lines that are no messages: Log in",
            by_hand,
        );
        let says = "it runs, but did not ask for the bridge's tools within 15 s, so its model cannot \
                    reach the team";
        let remedy =
            Some("run `gemini --acp` by hand to see whether its settings let it start MCP servers");
        check(&Trial::NoTools, Level::Problem, "start", says, remedy);
        let old = Tried { update: Some("npm install".into()), ..tried() };
        let finding = judge(&old, &Trial::Silent { printed: String::new() });
        assert!(
            finding.remedy.unwrap().starts_with("its version is old: run `npm install`, or run")
        );
    }
}
