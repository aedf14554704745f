//! Judges the files of a client. Pure.

mod call_limit;
mod lost_login;
mod plugin_entry;
#[cfg(test)]
mod tests;
mod untrusted_folder;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::call_limit::judge_limit;
use self::lost_login::judge_lost_logins;
use self::plugin_entry::judge_plugin;
use self::untrusted_folder::judge_trust;
use crate::doctor::finding::{Cause, Finding, Subject};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::setup::brought_entry::{EntryFault, judge_form};
use crate::setup::edits::config_edit::{
    are_kinds_alone, named_fields, names_bridge, program_of, remote_fields_for,
};
use crate::setup::edits::entry_arguments::{JudgeArguments, ServerRole, started_server};
use crate::setup::edits::entry_variables::{Expanded, Left};
use crate::setup::installed_agents::LostLogin;
use crate::setup::known_client::FolderTrust;
use crate::setup::switches::judges_partial_entry;
use crate::setup::written_entry::Written;

/// The end of a remedy that is work by hand.
const CHECK_AGAIN: &str = "run `cli-team-bridge doctor` again";

/// An installed client and its files.
pub(super) struct ExaminedClient {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Whether it has the bridge as a plugin.
    pub(super) has_plugin: bool,
    /// The directories that it does not trust, so that it starts no MCP servers there.
    pub(super) untrusted: Vec<(PathBuf, FolderTrust)>,
    /// The agents whose logins are in variables that it does not pass on to the bridge.
    pub(super) lost_logins: Vec<LostLogin>,
    pub(super) files: Vec<ExaminedFile>,
}

impl ExaminedClient {
    /// Says whether a project's entry only changes that of the user. What this switches off is a finding of its own.
    fn is_partial(&self, file: &ExaminedFile, entry: &Value) -> bool {
        let has_bridge = |file: &ExaminedFile| {
            let written = file.written.as_ref().ok();
            file.scope == Scope::User
                && written.and_then(|it| it.entry.as_ref()).is_some_and(names_bridge)
        };
        let starts = ["command", "url", "httpUrl", "tcp"];
        file.scope == Scope::Project
            && starts.iter().all(|key| entry.get(key).is_none())
            && judges_partial_entry(self.name)
            && self.files.iter().any(has_bridge)
    }
}

/// A file of a client.
pub(super) struct ExaminedFile {
    pub(super) path: PathBuf,
    pub(super) scope: Scope,
    /// Setup's edits in the file.
    pub(super) written: Result<Written, Unreadable>,
    /// What lets setup change the file, if it may not be changed now.
    pub(super) opening: Option<String>,
}

/// Why a file cannot be read, and what helps.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) why: String,
    pub(super) remedy: String,
    /// Whether the client cannot read it either, and goes on without it.
    pub(super) is_unused: bool,
}

/// Where the parts of a file that were examined apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In all of the user's projects.
    User,
    /// In the project of this directory alone, although the file is the user's own. The command removes the entry.
    Local { directory: PathBuf, removal: &'static str },
    /// In the project that has the file.
    Project,
}

impl ExaminedFile {
    /// Says whether setup would add something to it.
    fn is_incomplete(&self) -> bool {
        let lacks_entry = |it: &Written| it.expected.is_some() && it.entry.is_none();
        self.written.as_ref().is_ok_and(|it| lacks_entry(it) || !it.missing.is_empty())
    }

    /// Names the file, with its scope where the path alone would mislead.
    fn place(&self) -> String {
        match &self.scope {
            Scope::Local { directory, .. } => {
                let (path, directory) = (self.path.shown(), directory.shown());
                format!("{path} (scope \"local\", in {directory})")
            }
            Scope::User | Scope::Project => self.path.shown().to_string(),
        }
    }

    /// Names its entry, so that its owner finds it.
    fn key(&self, written: &Written) -> String {
        format!("`{}` in {}", written.key, self.path.shown())
    }

    /// Judges its entry. In a file of the user only those fields count with which no process of the command would run.
    fn judge(
        &self,
        client: &str,
        written: &Written,
        entry: &Value,
        judge_program: impl Fn(&str) -> Result<(), EntryFault>,
    ) -> Result<(), EntryFault> {
        match (&self.scope, &written.expected) {
            (Scope::Project, Some(expected)) => {
                judge_form(entry, expected)?;
                judge_program(entry["command"].as_str().unwrap_or_default())
            }
            (Scope::Project | Scope::User | Scope::Local { .. }, _) => {
                let fields = remote_fields_for(client, entry);
                if fields.is_empty() { Ok(()) } else { Err(EntryFault::Fields(fields)) }
            }
        }
    }

    /// Says how its entry gets arguments that the program takes.
    fn correction_of_arguments(&self, written: &Written, set_up: &str) -> String {
        let key = self.key(written);
        let expected = written.expected.as_ref().map(|expected| expected["args"].to_string());
        let right = expected.unwrap_or_default();
        match &self.scope {
            Scope::Local { directory, removal } => format!(
                "set `args` of {key} to `{right}`, or remove the entry (`{removal}` in {}) and {set_up}",
                directory.shown()
            ),
            Scope::User | Scope::Project => format!("{set_up}, which sets them to `{right}`"),
        }
    }

    /// Says how its entry, whose program is missing, gets the right one.
    fn correction(
        &self,
        written: &Written,
        (entry, role): (&Value, ServerRole),
        set_up: &str,
        own: &str,
    ) -> String {
        let key = self.key(written);
        let expected = written.expected.as_ref();
        let has_our_arguments = expected.is_some_and(|ours| ours.get("args") == entry.get("args"));
        match &self.scope {
            Scope::Local { directory, removal } => format!(
                "set `command` of {key} to `{own}`, or remove the entry (`{removal}` in {}) and {set_up}",
                directory.shown()
            ),
            Scope::User if role == ServerRole::Orchestrator => {
                format!("{set_up}, which sets its program to `{own}`")
            }
            Scope::Project if has_our_arguments => {
                format!("{set_up}, which sets its program to `{own}`")
            }
            Scope::User | Scope::Project => format!("set `command` of {key} to `{own}`"),
        }
    }
}

/// Returns the step that runs setup to complete a client's files, or to correct one of them, after what lets it change these.
fn set_up(client: &ExaminedClient, corrected: Option<&ExaminedFile>) -> String {
    let is_of_project = corrected.is_some_and(|file| file.scope == Scope::Project);
    let incomplete = client
        .files
        .iter()
        .filter(|file| (file.scope == Scope::Project) == is_of_project && file.is_incomplete());
    let opening = corrected.into_iter().chain(incomplete).find_map(|file| file.opening.as_ref());
    let before = opening.map_or_else(String::new, |opening| format!("{opening}, then "));
    let project = if is_of_project { " --project ." } else { "" };
    format!("{before}run `cli-team-bridge setup --client {}{project}`", client.name)
}

/// The programs that the entries of clients start.
pub(super) struct Programs<'a> {
    /// Says whether one can be started.
    pub(super) is_executable: &'a dyn Fn(&str) -> bool,
    /// Judges a command in a file of the project.
    pub(super) judge_brought: &'a dyn Fn(&str) -> Result<(), EntryFault>,
    /// Says what arguments of the bridge start, or what is wrong with them.
    pub(super) judge_arguments: JudgeArguments,
    /// Puts values in the places of variables, as the client does.
    pub(super) expand: &'a dyn Fn(&str) -> Expanded,
    /// Says whether there is a directory, from where the client may be started.
    pub(super) is_directory: &'a dyn Fn(&Path) -> bool,
    /// The path of this program, as setup writes it.
    pub(super) own: &'a str,
}

/// An entry as the client uses it.
struct UsedEntry {
    /// With values in its command in the places of variables.
    value: Value,
    /// The first variable that stayed there.
    left: Option<Left>,
}

impl Programs<'_> {
    /// Returns an entry as the client uses it.
    fn used(&self, entry: &Value) -> UsedEntry {
        let (mut value, mut left) = (entry.clone(), None);
        if let Some(command) = entry["command"].as_str() {
            let expanded = (self.expand)(command);
            (value["command"], left) = (expanded.text.into(), expanded.left);
        }
        UsedEntry { value, left }
    }
}

/// Judges a client.
pub(super) fn judge(client: &ExaminedClient, programs: &Programs<'_>) -> Vec<Finding> {
    let subject = Subject::Client(client.name.to_owned());
    let set_up = set_up(client, None);
    let mut findings = judge_unusable(client, &subject);
    let read = client.files.iter().filter_map(|file| Some((file, file.written.as_ref().ok()?)));
    let read: Vec<_> = read.collect();
    let (mut is_set_up, mut leads_nowhere, mut is_taken) = (false, false, false);
    for (file, written) in &read {
        let Some(entry) = &written.entry else {
            continue;
        };
        if client.is_partial(file, entry) {
            continue;
        }
        let used = programs.used(entry);
        is_set_up = true;
        let place = file.place();
        let key = file.key(written);
        let is_local = matches!(file.scope, Scope::Local { .. });
        let cause = Some(Cause::Entry { file: file.path.clone(), is_local });
        if let Some(finding) = judge_other((client, &subject), (&place, &key), (entry, &used)) {
            findings.push(finding.with_cause(cause));
            is_taken = true;
            continue;
        }
        let is_executable =
            (programs.is_executable)(used.value["command"].as_str().unwrap_or_default());
        // Where nothing is found because of a variable, that is the finding.
        let judge_brought = |command: &str| match used.left {
            Some(_) if !is_executable => Ok(()),
            _ => (programs.judge_brought)(command),
        };
        if let Err(fault) = file.judge(client.name, written, &used.value, judge_brought) {
            let (says, remedy) = words_of(&fault, entry, &key);
            let says = format!("the entry `bridge` in {place} {says}");
            let remedy = remedy.unwrap_or_else(|| format!("remove {key}, then {set_up}"));
            findings.push(Finding::problem(&subject, "entry", says, remedy).with_cause(cause));
        } else {
            leads_nowhere |= !is_executable;
            let judged = judge_command_line((client, &subject), file, (written, &used), programs);
            findings.push(judged.with_cause(cause));
        }
        findings.extend(judge_limit((client.name, &subject), &key, written, entry));
    }
    if is_set_up {
        findings.extend(judge_lost_logins(client, &subject));
    }
    if is_set_up || client.has_plugin {
        findings.extend(client.untrusted.iter().map(|(directory, trust)| {
            judge_trust((client.title, client.name), &subject, directory, trust)
        }));
    }
    if client.has_plugin {
        let entry = read.iter().find(|(_, written)| written.entry.is_some());
        let key = entry.map(|(file, written)| file.key(written));
        findings.push(judge_plugin((client.title, client.name), &subject, key.as_deref()));
        return findings;
    }
    if !is_set_up {
        // Setup would refuse a client one of whose files it cannot read. The entry may be in there.
        let is_unreadable =
            |file: &ExaminedFile| file.scope != Scope::Project && file.written.is_err();
        if client.files.iter().any(is_unreadable) {
            return findings;
        }
        let says = format!("{} is installed and does not know the bridge", client.title);
        findings.push(Finding::note(&subject, "entry", says).with_remedy(set_up));
        return findings;
    }
    // Permissions and hooks are compared with what would be written for the program of the entry. Setup corrects them with it. Beside
    // an entry of another author it changes nothing.
    if leads_nowhere || is_taken {
        return findings;
    }
    findings.extend(judge_lists(&subject, &read, &set_up));
    findings
}

/// Judges an entry that does not start the bridge, if this is one.
fn judge_other(
    (client, subject): (&ExaminedClient, &Subject),
    (place, key): (&str, &str),
    (entry, used): (&Value, &UsedEntry),
) -> Option<Finding> {
    if names_bridge(&used.value) {
        return None;
    }
    let set_up = set_up(client, None);
    // What a variable stands for may be a key.
    let command = program_of(entry["command"].as_str().unwrap_or_default());
    Some(match &used.left {
        _ if command.is_empty() => {
            let says = format!("the entry `bridge` in {place} starts no program");
            let remedy = format!("if it should start the bridge, remove {key}, then {set_up}");
            Finding::note(subject, "entry", says).with_remedy(remedy)
        }
        Some(left) if !left.is_as_written() => {
            let says = format!("the entry `bridge` in {place} starts `{command}`");
            Finding::unknown(subject, "entry", format!("{says}, {}", left.why(client.title)))
        }
        _ => {
            let says = format!("the entry `bridge` in {place} starts another program: `{command}`");
            let remedy = format!("rename {key}, or remove it if you do not need it, then {set_up}");
            Finding::problem(subject, "entry", says, remedy)
        }
    })
}

/// Judges the permissions and hooks beside an entry.
fn judge_lists(
    subject: &Subject,
    read: &[(&ExaminedFile, &Written)],
    set_up: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A list that is incomplete in the user's own settings may be complete in the project's.
    let complete = |list: &str| {
        let has = |lists: &[String]| lists.iter().any(|one| one == list);
        read.iter().any(|(_, written)| has(&written.lists) && !has(&written.missing))
    };
    let of_user = read.iter().filter(|(file, _)| file.scope == Scope::User);
    for (file, written) in of_user {
        let lacks = |beginning: &str| {
            let mut missing = written.missing.iter().filter(|list| !complete(list));
            missing.any(|list| list.starts_with(beginning))
        };
        let place = file.path.shown();
        for (beginning, check, says) in [
            ("permissions", "permission", "not all of the bridge's tools and `watch` are allowed"),
            ("hooks", "hooks", "not all hooks that bring messages are set"),
        ] {
            if lacks(beginning) {
                let note = Finding::note(subject, check, format!("{says} in {place}"));
                findings.push(note.with_remedy(set_up));
            }
        }
    }
    findings
}

/// Judges what starts the bridge: its arguments, the project that they name, and its program.
fn judge_command_line(
    (client, subject): (&ExaminedClient, &Subject),
    file: &ExaminedFile,
    (written, used): (&Written, &UsedEntry),
    programs: &Programs<'_>,
) -> Finding {
    let (place, key) = (file.place(), file.key(written));
    let problem = |says: String, remedy: String| Finding::problem(subject, "entry", says, remedy);
    let entry = &used.value;
    let server = match started_server(entry, programs.judge_arguments) {
        Ok(server) => server,
        Err(wrong) => {
            let says = format!("the entry `bridge` in {place} has wrong arguments: {wrong}");
            return problem(
                says,
                file.correction_of_arguments(written, &set_up(client, Some(file))),
            );
        }
    };
    let command = entry["command"].as_str().unwrap_or_default();
    if !(programs.is_executable)(command) {
        let as_written = written.entry.as_ref().and_then(|entry| entry["command"].as_str());
        let why = used.left.as_ref().map(|left| left.why(client.title));
        let why = why.as_deref().unwrap_or("which does not exist or is not executable");
        let says = format!("{place} starts `{}`, {why}", program_of(as_written.unwrap_or(command)));
        let set_up = set_up(client, Some(file));
        let correction = file.correction(written, (entry, server.role), &set_up, programs.own);
        return if used.left.as_ref().is_some_and(|left| !left.is_as_written()) {
            let remedy = format!("if the bridge does not start, {correction}");
            Finding::unknown(subject, "entry", says).with_remedy(remedy)
        } else {
            problem(says, correction)
        };
    }
    let is_directory = |named: &Path| {
        let expanded = (programs.expand)(&named.to_string_lossy());
        let is_unknown = expanded.left.is_some_and(|left| !left.is_as_written());
        is_unknown || (programs.is_directory)(Path::new(&expanded.text))
    };
    if let Some(missing) = server.missing_project(is_directory) {
        let missing = beginning(&missing.to_string_lossy(), CLIENT_WORD_CHARS);
        let says =
            format!("{place} starts the bridge in a project that is no directory: `{missing}`");
        let remedy = format!(
            "correct `--project` in `args` of {key}, or remove it there: without it, the bridge leads in the directory in which {} is started",
            client.title
        );
        return problem(says, remedy);
    }
    match server.role {
        ServerRole::Orchestrator => {
            let says = format!("{place} starts `{command}`");
            Finding::ok(subject, "entry", says).with_fact("command", command)
        }
        ServerRole::Peer => {
            let says =
                format!("{place} starts `{command}` as a peer, which joins a team and leads none");
            let remedy = format!(
                "if {} should lead a team, set `args` of {key} to `[\"orchestrator\"]`",
                client.title
            );
            let note = Finding::note(subject, "entry", says).with_fact("command", command);
            note.with_remedy(remedy)
        }
    }
}

/// Returns what an entry does that is not believed, and the remedy if it is not to remove the entry.
fn words_of(fault: &EntryFault, entry: &Value, key: &str) -> (String, Option<String>) {
    let command = || beginning(entry["command"].as_str().unwrap_or_default(), CLIENT_WORD_CHARS);
    match fault {
        EntryFault::Fields(fields) if are_kinds_alone(fields) => {
            let fields = named_fields(fields);
            let says = format!(
                "names a kind of server that is not `stdio`, so that a client may not start it: {fields}"
            );
            (says, Some(format!("remove {fields} from {key}")))
        }
        EntryFault::Fields(fields) => {
            let fields = named_fields(fields);
            let says = format!("has fields with which another program may run: {fields}");
            (says, Some(format!("remove these fields from {key}, or remove that whole entry")))
        }
        EntryFault::Arguments => {
            let arguments = beginning(&entry["args"].to_string(), CLIENT_WORD_CHARS);
            let says = format!(
                "has arguments that setup does not write, with which another program may run: {arguments}"
            );
            (says, None)
        }
        EntryFault::ProjectsProgram => {
            (format!("starts a program of the project: `{}`", command()), None)
        }
        EntryFault::OthersProgram => {
            (format!("starts a program that another user may replace: `{}`", command()), None)
        }
    }
}

/// Judges the files that cannot be used.
fn judge_unusable(client: &ExaminedClient, subject: &Subject) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut named = BTreeSet::new();
    // Otherwise the entry may be in there.
    let has_entry = |file: &ExaminedFile| {
        let written = file.written.as_ref().ok();
        written.and_then(|it| it.entry.as_ref()).is_some_and(names_bridge)
    };
    let has_bridge = client.has_plugin || client.files.iter().any(has_entry);
    for file in &client.files {
        // One file may have entries of two scopes.
        if let Err(Unreadable { why, remedy, is_unused }) = &file.written
            && named.insert(&file.path)
        {
            let (path, remedy) = (file.path.shown(), format!("{remedy}, then {CHECK_AGAIN}"));
            let finding = if *is_unused && has_bridge {
                let says = format!("{} uses nothing of {path}: {why}", client.title);
                Finding::note(subject, "file", says).with_remedy(remedy)
            } else {
                Finding::problem(subject, "file", format!("cannot use {path}: {why}"), remedy)
            };
            findings.push(finding.with_cause(Some(Cause::UnreadableFile(file.path.clone()))));
        }
    }
    findings
}
