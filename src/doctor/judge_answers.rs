//! Judges what clients say of their own settings when they are asked. Pure.

use std::path::{Path, PathBuf};

use super::finding::{Cause, Finding, Level, Subject};
use crate::domain::limits::{CLIENT_WORD_CHARS, NAMED_IN_CLIENT_FILE};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::{beginning, without_styles};
use crate::setup::known_client::SERVER;

/// The clients that are asked.
pub(super) const CODEX: &str = "codex";
pub(super) const CLAUDE_CODE: &str = "claude-code";

/// The checks of the findings.
const ENTRY: &str = "entry";
const FILE: &str = "file";
const SWITCHED_OFF: &str = "switched off";

/// The exit code of Codex for a command that it does not have: it is too old to be asked.
const UNKNOWN_COMMAND: i32 = 2;

/// What a client said in a directory.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) client: &'static str,
    pub(super) directory: PathBuf,
    pub(super) code: Option<i32>,
    pub(super) said: String,
    /// The files in one of which the error is, if there is one.
    pub(super) files: Vec<PathBuf>,
}

/// Adds what the clients said to what their files have shown. Of one cause there is one finding.
pub(super) fn add(findings: &mut Vec<Finding>, answers: &[Answer]) {
    of_codex(findings, answers);
    for answer in answers.iter().filter(|answer| answer.client == CLAUDE_CODE) {
        of_claude_code(findings, answer);
    }
}

/// Codex ends with an error if it does not take its configuration.
fn of_codex(findings: &mut Vec<Finding>, answers: &[Answer]) {
    let subject = Subject::Client(CODEX.to_owned());
    let is_answer =
        |one: &&Answer| one.client == CODEX && one.code.is_some_and(|code| code != UNKNOWN_COMMAND);
    let answers: Vec<_> = answers.iter().filter(is_answer).collect();
    if answers.is_empty() {
        return;
    }
    // It knows better than our list of its settings.
    findings
        .retain(|one| one.subject != subject || !matches!(one.cause, Some(Cause::UnusedFile(_))));
    let failed: Vec<_> = answers.iter().filter(|one| one.code != Some(0)).collect();
    let is_of_project = |finding: &Finding| match &finding.cause {
        Some(Cause::UnreadableFile(file)) => {
            let mut answers = answers.iter();
            finding.subject == subject && answers.any(|one| file.starts_with(&one.directory))
        }
        Some(Cause::UnusedFile(_) | Cause::Entry { .. }) | None => false,
    };
    if failed.is_empty() {
        // It starts, so it does not read the project's file, or takes it.
        for finding in findings.iter_mut().filter(|one| is_of_project(one)) {
            finding.level = Level::Note;
        }
    }
    let mut named: Vec<String> = Vec::new();
    for answer in failed {
        let words = error_in(&answer.said);
        let is_known = |one: &Finding| match &one.cause {
            Some(Cause::UnreadableFile(file)) => {
                one.subject == subject && answer.files.contains(file)
            }
            Some(Cause::UnusedFile(_) | Cause::Entry { .. }) | None => false,
        };
        if named.contains(&words) || findings.iter().any(is_known) {
            continue;
        }
        let place = answer.directory.shown();
        let files: Vec<_> = answer.files.iter().map(|file| file.shown().to_string()).collect();
        let remedy = match &files[..] {
            files if !files.is_empty() && words.to_lowercase().contains("config") => {
                format!("correct that in {}", files.join(" or "))
            }
            _ => format!("run `codex mcp list` in {place}, and mend what it names"),
        };
        let says = format!("Codex does not start in {place}: {words}");
        findings.push(Finding::problem(&subject, FILE, says, remedy));
        named.push(words);
    }
    if !named.is_empty() {
        findings
            .retain(|one| one.subject != subject || one.check != ENTRY || one.level != Level::Ok);
    }
}

/// Returns the words of an error: what follows the word itself, else the last line.
fn error_in(said: &str) -> String {
    let plain = without_styles(said);
    let lines: Vec<_> = plain.lines().filter(|line| !line.trim().is_empty()).collect();
    let at = lines.iter().rposition(|line| line.trim_start().to_lowercase().starts_with("error: "));
    let words = match at {
        Some(at) => lines[at..].join(" "),
        None => lines.last().copied().unwrap_or("it says nothing").to_owned(),
    };
    beginning(&words, CLIENT_WORD_CHARS)
}

/// Returns the items of a part about invalid settings, each with the file, and the key with what is wrong.
fn invalid_settings(plain: &str) -> impl Iterator<Item = (&str, &str)> {
    let part = plain.lines().skip_while(|line| line.trim() != "Invalid settings").skip(1);
    part.take_while(|line| line.starts_with(['-', ' ']))
        .filter_map(|line| line.strip_prefix("- ")?.split_once(" › "))
}

/// Says whether Claude Code goes on without such an item, and uses the rest of the file.
fn is_left_out(item: &str) -> bool {
    let words = ["was ignored", "was removed", "was skipped", ": Skipped —"];
    words.iter().any(|words| item.contains(words))
}

/// Returns the files of which Claude Code uses nothing, as it says itself.
pub(super) fn unused_files(answers: &[Answer]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for answer in answers.iter().filter(|answer| answer.client == CLAUDE_CODE) {
        let plain = without_styles(&answer.said);
        let unused = |(_, item): &(&str, &str)| server_in(item).is_none() && !is_left_out(item);
        files.extend(invalid_settings(&plain).filter(unused).map(|(file, _)| file.into()));
    }
    files
}

/// Claude Code has a part about invalid settings, an item each: the file, the key after a sign, and what is wrong.
fn of_claude_code(findings: &mut Vec<Finding>, answer: &Answer) {
    let subject = Subject::Client(CLAUDE_CODE.to_owned());
    let plain = without_styles(&answer.said);
    let mut files: Vec<&str> = Vec::new();
    for (file, rest) in invalid_settings(&plain) {
        // What it says of one server goes for that server alone, and the rest of the file counts.
        if let Some(server) = server_in(rest) {
            if server == SERVER {
                add_skipped(findings, &subject, file, rest);
            }
            continue;
        }
        if is_left_out(rest) || files.contains(&file) {
            continue;
        }
        files.push(file);
        let is_known = |one: &Finding| match &one.cause {
            Some(Cause::UnreadableFile(known) | Cause::UnusedFile(known)) => {
                one.subject == subject && known == Path::new(file)
            }
            Some(Cause::Entry { .. }) | None => false,
        };
        if findings.iter().any(is_known) || files.len() > NAMED_IN_CLIENT_FILE {
            continue;
        }
        let says = format!(
            "Claude Code uses nothing of {}, as it says itself: {}",
            beginning(file, CLIENT_WORD_CHARS),
            beginning(rest, CLIENT_WORD_CHARS)
        );
        let remedy = format!("correct that in {}", beginning(file, CLIENT_WORD_CHARS));
        let cause = Some(Cause::UnusedFile(file.into()));
        findings.push(
            Finding::note(&subject, SWITCHED_OFF, says).with_remedy(remedy).with_cause(cause),
        );
    }
}

/// Returns the server of which an item speaks: its key names one, or a field of one, also in the table of a project.
fn server_in(item: &str) -> Option<&str> {
    let (key, _) = item.split_once(": ")?;
    let (before, server) = key.split_once("mcpServers.")?;
    let is_whole = before.is_empty() || before.ends_with('.');
    is_whole.then(|| server.split('.').next().unwrap_or(server))
}

/// Adds that Claude Code starts no bridge from a file: a problem, unless it has one from elsewhere.
fn add_skipped(findings: &mut Vec<Finding>, subject: &Subject, file: &str, item: &str) {
    // An entry for one project alone has that project after its file.
    let of_project = file.split_once(" [project: ");
    let path = Path::new(of_project.map_or(file, |(path, _)| path));
    let entry = Some(Cause::Entry { file: path.into(), is_local: of_project.is_some() });
    let shown = path.shown().to_string();
    let says = format!(
        "Claude Code does not start the bridge from {}, as it says itself: {}",
        beginning(file, CLIENT_WORD_CHARS),
        beginning(item, CLIENT_WORD_CHARS)
    );
    // It is asked in several directories.
    if findings.iter().any(|one| one.subject == *subject && one.says == says) {
        return;
    }
    let is_ok_entry =
        |one: &Finding| one.subject == *subject && one.check == ENTRY && one.level == Level::Ok;
    let is_of_file = |one: &Finding| one.cause == entry;
    let is_found = findings.iter().any(|one| one.subject == *subject && is_of_file(one));
    let is_known = findings.iter().any(|one| {
        let is_problem = one.level == Level::Problem && [ENTRY, SWITCHED_OFF].contains(&one.check);
        let is_left_out = one.check == SWITCHED_OFF && is_of_file(one);
        one.subject == *subject && (is_problem && one.says.contains(&shown) || is_left_out)
    });
    // Of a file that it names otherwise than we do, the entry may be any.
    let is_kept = |one: &Finding| if is_found { !is_of_file(one) } else { is_known };
    findings.retain(|one| !is_ok_entry(one) || is_kept(one));
    if is_known {
        return;
    }
    let remedy = format!("correct that in {}", beginning(file, CLIENT_WORD_CHARS));
    let has_other = findings.iter().any(is_ok_entry);
    findings.push(if has_other {
        Finding::note(subject, SWITCHED_OFF, says).with_remedy(remedy)
    } else {
        Finding::problem(subject, SWITCHED_OFF, says, remedy)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(client: &'static str, code: i32, said: &str, files: &[&str]) -> Answer {
        let files = files.iter().map(PathBuf::from).collect();
        Answer { client, directory: "/p".into(), code: Some(code), said: said.to_owned(), files }
    }

    /// As Codex 0.166 says it.
    const WRONG_MODEL: &str = "WARNING: proceeding\nError: failed to load bootstrap configuration\n\nCaused by:\n    invalid type: integer `5`, expected a string\n    in `model`\n";

    #[test]
    fn what_codex_says_of_its_configuration_takes_the_place_of_what_we_know_of_it() {
        let subject = Subject::Client(CODEX.to_owned());
        let ours = || {
            let cause = Some(Cause::UnusedFile("/h/.codex/config.toml".into()));
            let wrong = Finding::problem(&subject, SWITCHED_OFF, "any words", "correct it");
            vec![Finding::ok(&subject, "entry", "it starts"), wrong.with_cause(cause)]
        };
        let file = "/h/.codex/config.toml";
        let wrong = || answer(CODEX, 1, WRONG_MODEL, &[file]);
        let mut findings = ours();
        add(&mut findings, &[wrong(), wrong()]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].check, findings[0].level), (FILE, Level::Problem));
        assert!(findings[0].says.ends_with("expected a string in `model`"), "{findings:?}");
        assert_eq!(findings[0].remedy.as_deref(), Some(&*format!("correct that in {file}")));
        let mut findings = ours();
        add(&mut findings, &[answer(CODEX, 0, "", &[])]);
        assert_eq!(findings.len(), 1, "it starts, whatever our list says: {findings:?}");
        let mut findings = ours();
        add(&mut findings, &[answer(CODEX, UNKNOWN_COMMAND, "error: no such command", &[])]);
        assert_eq!(findings.len(), 2, "an old Codex answers nothing: {findings:?}");
    }

    #[test]
    fn a_file_that_codex_does_not_take_is_named_once_and_one_that_it_does_not_read_is_no_problem() {
        let subject = Subject::Client(CODEX.to_owned());
        let file = "/p/.codex/config.toml";
        let cause = || Some(Cause::UnreadableFile(file.into()));
        let broken =
            || vec![Finding::problem(&subject, FILE, "any words", "x").with_cause(cause())];
        let mut findings = broken();
        add(&mut findings, &[answer(CODEX, 1, "Error: config", &[file])]);
        assert_eq!((findings.len(), findings[0].level), (1, Level::Problem), "{findings:?}");
        let mut findings = broken();
        add(&mut findings, &[answer(CODEX, 0, "", &[])]);
        assert_eq!((findings.len(), findings[0].level), (1, Level::Note), "{findings:?}");
    }

    /// As Claude Code 2.1.329 says it.
    #[test]
    fn the_files_that_claude_code_drops_are_named_and_not_those_of_which_it_leaves_an_item_out() {
        let said = "Claude Code doctor\n\nInvalid settings\n\
            - /h/settings.json › cleanupPeriodDays: Number must be greater than or equal to 0\n  Suggested fix: a › b\n\
            - /h/settings.json › env: Expected record\n\
            - /p/settings.json › hooks.Stop: Hook event \"Stop\" must be an array; received string. This entry was ignored.\n\
            - /q/settings.json › permissions.allow: Non-string value in allow array was removed\n\n\
            Remote Control\n- Not › signed in\n";
        let mut findings = Vec::new();
        add(&mut findings, &[answer(CLAUDE_CODE, 0, said, &[])]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        let expected = "uses nothing of /h/settings.json, as it says itself: cleanupPeriodDays: Number must be";
        assert!(findings[0].says.contains(expected), "{findings:?}");
        let unused = unused_files(&[answer(CLAUDE_CODE, 0, said, &[])]);
        assert!(unused.iter().all(|file| file == Path::new("/h/settings.json")), "{unused:?}");
        assert!(!unused.is_empty());
        add(&mut findings, &[answer(CLAUDE_CODE, 0, said, &[])]);
        assert_eq!(findings.len(), 1, "once: {findings:?}");
        let subject = Subject::Client(CLAUDE_CODE.to_owned());
        let file = || PathBuf::from("/h/settings.json");
        for cause in [Cause::UnusedFile(file()), Cause::UnreadableFile(file())] {
            let ours = Finding::note(&subject, SWITCHED_OFF, "any words").with_cause(Some(cause));
            let mut findings = vec![ours.clone()];
            add(&mut findings, &[answer(CLAUDE_CODE, 0, said, &[])]);
            assert_eq!(findings, [ours], "it is known");
        }
    }

    /// As Claude Code 2.1.329 says it, which then takes the bridge from elsewhere, if it can.
    #[test]
    fn what_claude_code_says_of_one_server_goes_for_that_server_alone() {
        let subject = Subject::Client(CLAUDE_CODE.to_owned());
        let entry = |file: &str, is_local| {
            let cause = Cause::Entry { file: file.into(), is_local };
            Finding::ok(&subject, ENTRY, "any words").with_cause(Some(cause))
        };
        let user = || entry("/h/.claude.json", false);
        let project = || entry("/p/.mcp.json", false);
        let local = || entry("/h/.claude.json", true);
        let check = |found: Vec<Finding>, items: &[&str], expected: &[(&str, Level)]| {
            let items = format!("- {}\n", items.join("\n- "));
            let said = format!("Invalid settings\n{items}\nRemote Control\n");
            let mut findings = found;
            add(&mut findings, &[answer(CLAUDE_CODE, 0, &said, &[])]);
            add(&mut findings, &[answer(CLAUDE_CODE, 0, &said, &[])]);
            let found: Vec<_> = findings.iter().map(|one| (one.check, one.level)).collect();
            assert_eq!(found, expected, "{items}: {findings:?}");
        };
        let (fine, off) = ([(ENTRY, Level::Ok)], [(SWITCHED_OFF, Level::Problem)]);
        let noted = [(ENTRY, Level::Ok), (SWITCHED_OFF, Level::Note)];
        let other = "mcpServers.other: Skipped — unknown MCP server type \"htp\"";
        check(vec![user()], &[&format!("/h/.claude.json › {other}")], &fine);
        check(vec![user()], &[&format!("/h/.claude.json [project: /p] › {other}")], &fine);
        check(vec![user()], &["/h/.claude.json › hooks.Stop: Skipped — any words"], &fine);
        check(vec![user()], &["/h/.claude.json › mcpServers: Expected record"], &noted);
        let ours = "mcpServers.bridge: Skipped — invalid MCP server config for \"bridge\": env: expected record";
        let of_user = format!("/h/.claude.json › {ours}");
        let of_project = format!("/p/.mcp.json › {ours}");
        let of_local = format!("/h/.claude.json [project: /p] › {ours}");
        check(vec![user()], &[&of_user], &off);
        check(vec![local()], &[&of_local], &off);
        check(vec![user(), project()], &[&of_project], &noted);
        check(vec![user(), project()], &[&of_user], &noted);
        check(vec![user(), local()], &[&of_local], &noted);
        check(vec![user()], &[&format!("/elsewhere/.claude.json › {ours}")], &off);
        let both = [(SWITCHED_OFF, Level::Note), (SWITCHED_OFF, Level::Problem)];
        check(vec![user(), project()], &[&of_project, &of_user], &both);
        // What is no server at all, such as `null`, has a note of its own.
        let odd = Finding::note(&subject, ENTRY, "any words");
        let odd = odd.with_cause(project().cause);
        let odd_noted = [(ENTRY, Level::Ok), (ENTRY, Level::Note), (SWITCHED_OFF, Level::Note)];
        check(vec![user(), odd], &[&of_project], &odd_noted);
        let left_out = Finding::note(&subject, SWITCHED_OFF, "any words");
        check(vec![user(), left_out.with_cause(local().cause)], &[&of_local], &noted);
        let known = Finding::problem(&subject, SWITCHED_OFF, "because of /h/.claude.json", "x");
        check(vec![known], &[&of_user], &off);
    }
}
