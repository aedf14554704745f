//! What comes of a turn besides its words: gathered while it runs, put together at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use super::git_query::{Before, Hold, Repository};
use crate::acp::{Cost, TokenUsage, ToolCall, ToolCalls, Update};
use crate::bus::event::TaskReport;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::task::result::{
    Change, ChangeSource, Context, Details, FailedCall, FileChange, GitLook, Money, Usage,
};
use crate::domain::text::redact::Secrets;
use crate::domain::timeouts;
use crate::sys::fs::real_path::resolve;
use crate::team::agent::actor::{Actor, stop_wanted};
use crate::team::permissions::look_at_paths::PathExaminer;
use crate::team::turn::transcript;

/// What was not allowed is listed up to this many.
const MOST_REFUSED: usize = 256;

/// What a call is listed with that was not allowed, where its agent says nothing of it.
const NOT_ALLOWED: &str = "it was not allowed";

/// What a turn has told of itself so far.
#[derive(Default)]
pub(crate) struct Gathered {
    /// What the conversation knew at the beginning.
    pub(crate) context: Option<Context>,
    /// git's look at the beginning.
    before: Option<Before>,
    /// The tokens of the requests so far, where each is told by itself.
    tokens: Option<TokenUsage>,
    /// The tokens of turns that were ended for a message, and whose task goes on.
    cut: Option<TokenUsage>,
    /// How full the model's context is, and how much fits.
    fill: Option<(u64, u64)>,
    /// What the session has cost so far.
    cost: Option<Money>,
    /// When a limit that is used up begins anew, in seconds since 1970.
    pub(crate) resets_at: Option<f64>,
    /// Where the words after the last call of a tool begin.
    last_words: usize,
    /// What was not allowed.
    refused: Vec<Refused>,
}

/// Something that an agent was not allowed to do.
pub(crate) struct Refused {
    /// The call of a tool, if it was one.
    pub(crate) call: Option<String>,
    /// What people are shown of it.
    pub(crate) title: String,
}

/// What an agent's session has cost, which agents tell as one growing sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spending {
    /// Nothing yet.
    Nothing,
    /// So much.
    Sum(Money),
    /// That is not known: an earlier process had the session.
    Unknown,
}

impl Gathered {
    /// Takes in an update; so much has been said before it.
    pub(crate) fn hear(&mut self, update: &Update, said: usize) {
        match update {
            Update::ToolCall(call) => {
                let is_over = matches!(call.status.as_deref(), Some("completed" | "failed"));
                if !is_over {
                    self.last_words = said;
                }
            }
            Update::Tokens(tokens) => {
                self.tokens = Some(self.tokens.unwrap_or_default().and(*tokens));
            }
            Update::Usage { used, size, cost, resets_at } => {
                self.fill = Some((*used, *size));
                self.resets_at = resets_at.or(self.resets_at);
                if let Some(Cost { amount, currency }) = cost {
                    self.cost = Money::of(*amount, currency).or(self.cost.take());
                }
            }
            _ => {}
        }
    }

    /// Returns what the prompt waits for, if anything.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.before.as_ref().map(Before::hold)
    }

    /// Takes in the end of a turn that was ended for a message: what follows is another turn of the same task.
    pub(crate) fn is_cut(&mut self, of_turn: Option<TokenUsage>) {
        self.cut = sum(self.cut, of_turn.or(self.tokens.take()));
    }

    /// Takes in that something was not allowed.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        // A model that asks on and on is told no as often; the transcript has all of it.
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(refused);
        }
    }

    /// Returns what was not allowed, as people are shown it.
    pub(crate) fn refused_titles(&self) -> Vec<&str> {
        let titles = self.refused.iter();
        titles.map(|refused| refused.title.as_str()).collect()
    }

    /// Returns what the session has cost so far, as told in this turn.
    pub(crate) fn spent(&mut self) -> Option<Money> {
        self.cost.take()
    }

    fn usage(&self, of_turn: Option<TokenUsage>, cost: Option<Money>) -> Option<Usage> {
        let tokens = sum(self.cut, of_turn.or(self.tokens));
        let usage = Usage {
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cached_tokens: tokens.and_then(|tokens| tokens.cached),
            total_tokens: tokens.map(|tokens| tokens.total),
            cost,
            context_used: self.fill.map(|(used, _)| used),
            context_size: self.fill.map(|(_, size)| size),
        };
        (!usage.is_empty()).then_some(usage)
    }

    /// Says where in the output the last words begin, if something was said before them.
    fn last_words(&self, output: &str) -> Option<u64> {
        let last = output.get(self.last_words..)?;
        let tells = self.last_words > 0 && !last.trim().is_empty();
        tells.then_some(self.last_words as u64)
    }
}

/// Says what a process begins with, given whether there was an earlier session to take up, and whether that succeeded.
pub(crate) fn beginning(earlier: bool, resumed: bool) -> (Context, Spending) {
    match (earlier, resumed) {
        (_, true) => (Context::Resumed, Spending::Unknown),
        (true, false) => (Context::Lost, Spending::Nothing),
        (false, false) => (Context::New, Spending::Nothing),
    }
}

fn sum(one: Option<TokenUsage>, other: Option<TokenUsage>) -> Option<TokenUsage> {
    one.into_iter().chain(other).reduce(TokenUsage::and)
}

impl Spending {
    /// Takes in the newest sum; returns what has been added, if that can be told.
    pub(crate) fn grow(&mut self, sum: Option<Money>) -> Option<Money> {
        let sum = sum?;
        let added = match self {
            Self::Nothing => Some(sum.clone()),
            Self::Sum(earlier) => sum.since(earlier),
            Self::Unknown => None,
        };
        *self = Self::Sum(sum);
        added
    }
}

impl Actor {
    /// Begins to gather for a task's turn, whose prompt waits for what git is asked ([`Gathered::hold`]).
    pub(crate) fn gather(&self, task: &TaskId) -> Gathered {
        let repository = Repository::of(&self.identity.root, &self.launch.environment);
        let before = repository.map(|repository| {
            let (bus, task) = (self.membership.bus().clone(), task.clone());
            repository.look_before(move |told| {
                let line = transcript::of_git(bus.now().wall_ms, told);
                bus.transcript(&task, &line);
            })
        });
        Gathered { context: Some(self.context), before, ..Gathered::default() }
    }

    /// Puts together what came of a turn, with its details as a text of their own. Once the agent's end is asked for, git is not waited for any more.
    pub(crate) async fn report(
        &mut self,
        mut gathered: Gathered,
        of_turn: Option<TokenUsage>,
        output: &str,
        calls: &ToolCalls,
    ) -> (TaskReport, Option<String>) {
        let cost = self.spending.grow(gathered.spent());
        let (by_git, git) = match gathered.before.take() {
            Some(before) => tokio::select! {
                compared = before.compare() => compared,
                _ = stop_wanted(&self.membership, self.identity.session, &self.hurry, |_| true) => {
                    let why = "the agent was stopped before git looked again";
                    (BTreeMap::new(), GitLook::Partly(why.to_owned()))
                }
            },
            None => (BTreeMap::new(), GitLook::Absent),
        };
        let place = PathBase {
            project: self.identity.root.clone(),
            cwd: self.identity.cwd.clone(),
            bus: self.launch.bus_dir.clone(),
        };
        let all = calls.all();
        let by_calls = all.iter().copied().flat_map(changes).collect();
        let failed_calls = failed_calls(&all, &gathered.refused, &self.secrets);
        let by_calls = place.told_all(by_calls, self.questions.looks()).await;
        let details = Details {
            files: files(by_calls, by_git),
            failed_calls,
            calls_left_out: calls.forgotten(),
            git,
        };
        let report = TaskReport {
            context: gathered.context,
            usage: gathered.usage(of_turn, cost),
            last_words: gathered.last_words(output),
            details: None,
        };
        let details = (!details.is_empty()).then(|| {
            let text = serde_json::to_string(&details).expect("details are plain data");
            self.secrets.hidden(text).into()
        });
        (report, details)
    }
}

/// Where paths are told from.
#[derive(Clone)]
struct PathBase {
    project: PathBuf,
    cwd: PathBuf,
    /// The bus: no tool tells a path of it.
    bus: PathBuf,
}

impl PathBase {
    /// Tells all paths as people know them. Where the disk does not answer in time, they are told as their agent wrote them.
    async fn told_all(
        self,
        changes: Vec<(String, Change)>,
        looks: PathExaminer,
    ) -> Vec<(String, Change)> {
        let paths: BTreeSet<String> = changes.iter().map(|(path, _)| path.clone()).collect();
        let place = self.clone();
        let looking = looks.within(timeouts::LOOK_AT_PATHS, move |until| {
            let told = paths.into_iter().map(|path| {
                let is_late = Instant::now() > until;
                let real = if is_late { None } else { resolve(&place.cwd, path.as_ref()) };
                (place.told(&path, real), path)
            });
            Some(told.map(|(told, path)| (path, told)).collect())
        });
        let told: BTreeMap<String, Option<String>> = looking.await.unwrap_or_default();
        let tell = |(path, change): (String, Change)| {
            let told = told.get(&path).cloned();
            let told = told.unwrap_or_else(|| self.told(&path, None));
            told.map(|told| (told, change))
        };
        changes.into_iter().filter_map(tell).collect()
    }

    fn told(&self, path: &str, real: Option<PathBuf>) -> Option<String> {
        let place = real.unwrap_or_else(|| self.cwd.join(path));
        if place.starts_with(&self.bus) {
            return None;
        }
        let inner = place.strip_prefix(&self.project).unwrap_or(&place);
        Some(inner.to_string_lossy().into_owned())
    }
}

/// Joins what calls say with what git says. Where both do, git knows better what became of the file.
fn files(by_calls: Vec<(String, Change)>, by_git: BTreeMap<String, Change>) -> Vec<FileChange> {
    let mut files: BTreeMap<String, FileChange> = BTreeMap::new();
    for (path, change) in by_calls {
        let file = files.entry(path.clone()).or_insert_with(|| FileChange {
            path,
            change,
            sources: vec![ChangeSource::ToolCall],
        });
        // What is created and then edited is new all the same.
        file.change = match (file.change, change) {
            (Change::Created, Change::Edited) => Change::Created,
            (_, later) => later,
        };
    }
    for (path, change) in by_git {
        let file = files.entry(path.clone()).or_insert_with(|| FileChange {
            path,
            change,
            sources: Vec::new(),
        });
        file.change = change;
        file.sources.push(ChangeSource::Git);
    }
    files.into_values().collect()
}

/// Returns what a call that did not fail changed: the files of its diffs, else the places it names if its kind changes files.
fn changes(call: &ToolCall) -> Vec<(String, Change)> {
    if call.status() == "failed" {
        return Vec::new();
    }
    let known = call.known();
    if let Some(diffs) = &known.diffs {
        let change = |is_new| {
            if is_new { Change::Created } else { Change::Edited }
        };
        return diffs.iter().map(|diff| (diff.path.clone(), change(diff.is_new))).collect();
    }
    let change = match call.kind() {
        "edit" => Change::Edited,
        "delete" => Change::Deleted,
        "move" => Change::Moved,
        _ => return Vec::new(),
    };
    // A call that was not allowed never gets as far as that.
    if call.status() != "completed" {
        return Vec::new();
    }
    let places = known.locations.iter().flatten();
    places.map(|path| (path.clone(), change)).collect()
}

/// Returns the calls that failed, as their agent says, or were not allowed, of which some agents say nothing more.
fn failed_calls(calls: &[&ToolCall], refused: &[Refused], secrets: &Secrets) -> Vec<FailedCall> {
    let is_of = |refused: &Refused, call: &ToolCall| refused.call.as_deref() == Some(call.id());
    let mut all = Vec::new();
    for call in calls {
        let refused = refused.iter().any(|refused| is_of(refused, call));
        if refused || call.status() == "failed" {
            all.push(failed(call, refused, secrets));
        }
    }
    let known = |refused: &&Refused| calls.iter().any(|call| is_of(refused, call));
    all.extend(refused.iter().filter(|refused| !known(refused)).map(|refused| FailedCall {
        title: cut(&refused.title, limits::QUESTION_CHARS, secrets),
        kind: "other".to_owned(),
        why: NOT_ALLOWED.to_owned(),
    }));
    all
}

fn failed(call: &ToolCall, refused: bool, secrets: &Secrets) -> FailedCall {
    // gemini tells of a call that it refuses itself nothing but its id, in which the tool's name stands.
    let kind = Some(call.kind()).filter(|kind| *kind != "other");
    let titles = [call.title(), call.name(), kind.unwrap_or_default(), call.id()];
    let title = titles.into_iter().find(|title| !title.trim().is_empty());
    let why = call.known().content.as_deref().unwrap_or_default();
    FailedCall {
        title: cut(title.unwrap_or_default(), limits::QUESTION_CHARS, secrets),
        kind: call.kind().to_owned(),
        why: if refused && why.trim().is_empty() {
            NOT_ALLOWED.to_owned()
        } else {
            cut(why, limits::FAILED_CALL_CHARS, secrets)
        },
    }
}

/// Returns the beginning of a text, saying that more is left out.
fn cut(text: &str, most: usize, secrets: &Secrets) -> String {
    let text = secrets.hidden(text.trim());
    let (head, is_cut) = text.head(most);
    if is_cut { format!("{head} … [more in the transcript]") } else { head.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{Diff, ToolCallUpdate};

    fn call(id: &str, kind: &str, status: &str, locations: &[&str]) -> ToolCallUpdate {
        ToolCallUpdate {
            id: id.into(),
            title: Some(format!("{kind} {id}")),
            kind: Some(kind.into()),
            status: Some(status.into()),
            locations: Some(locations.iter().map(|path| (*path).to_owned()).collect()),
            ..ToolCallUpdate::default()
        }
    }

    fn seen(updates: Vec<ToolCallUpdate>) -> ToolCalls {
        let mut calls = ToolCalls::default();
        for update in updates {
            calls.see(update);
        }
        calls
    }

    #[tokio::test]
    async fn files_come_from_calls_that_change_them_and_from_git() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path().canonicalize().unwrap();
        let place = PathBase {
            project: project.clone(),
            cwd: project.join("src"),
            bus: project.join(".claude/bridge"),
        };
        std::fs::create_dir(project.join("src")).unwrap();
        let whole = project.join("src/whole.rs");
        let mut new = call("1", "edit", "completed", &["new.rs"]);
        new.diffs = Some(vec![Diff { path: "new.rs".into(), is_new: true }]);
        let calls = seen(vec![
            new,
            call("2", "edit", "completed", &["new.rs", whole.to_str().unwrap()]),
            call("3", "read", "completed", &["read.rs"]),
            call("4", "edit", "failed", &["failed.rs"]),
            call("5", "delete", "completed", &["../gone.rs"]),
            call("6", "edit", "pending", &["not-allowed.rs"]),
            call("7", "edit", "completed", &["../.claude/bridge/log/1.jsonl"]),
            call("8", "move", "completed", &["/elsewhere/to.rs"]),
        ]);
        let by_git = BTreeMap::from([
            ("src/whole.rs".to_owned(), Change::Created),
            ("shell.txt".to_owned(), Change::Edited),
        ]);
        let by_calls = calls.all().into_iter().flat_map(changes).collect();
        let by_calls = place.told_all(by_calls, PathExaminer::default()).await;
        let files = files(by_calls, by_git);
        let files: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str(), file.change, file.sources.as_slice()))
            .collect();
        let (call, git) = (ChangeSource::ToolCall, ChangeSource::Git);
        let expected: [(&str, Change, &[ChangeSource]); 5] = [
            ("/elsewhere/to.rs", Change::Moved, &[call]),
            ("gone.rs", Change::Deleted, &[call]),
            ("shell.txt", Change::Edited, &[git]),
            ("src/new.rs", Change::Created, &[call]),
            ("src/whole.rs", Change::Created, &[call, git]),
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn calls_that_failed_are_told_with_their_reason() {
        let mut update = call("1", "execute", "failed", &[]);
        let key = "sk-1234567890abcdefghijk";
        let secrets = Secrets::of([("API_KEY", key)].into_iter());
        // The cut goes through the key.
        update.content =
            Some(format!("{}{key} and so on", "x".repeat(limits::FAILED_CALL_CHARS - 10)));
        let calls = seen(vec![update, call("2", "edit", "completed", &[])]);
        let told = failed_calls(&calls.all(), &[], &secrets);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].title.as_str(), told[0].kind.as_str()), ("execute 1", "execute"));
        let why = &told[0].why;
        assert!(why.ends_with(" … [more in the transcript]"), "{why}");
        assert!(!why.contains("sk-1"), "{why}");
    }

    #[test]
    fn what_was_not_allowed_is_told_and_every_call_has_a_title() {
        let bare = |id: &str, status: Option<&str>| ToolCallUpdate {
            id: id.into(),
            status: status.map(str::to_owned),
            ..ToolCallUpdate::default()
        };
        let mut silent = call("2", "edit", "in_progress", &[]);
        silent.title = Some(String::new());
        let calls = seen(vec![bare("write_file-1", Some("failed")), silent, bare("3", None)]);
        let refused = |call: Option<&str>, title: &str| Refused {
            call: call.map(str::to_owned),
            title: title.to_owned(),
        };
        let refused = [refused(Some("2"), "x"), refused(None, "write notes.txt")];
        let told = failed_calls(&calls.all(), &refused, &Secrets::default());
        let told: Vec<_> =
            told.iter().map(|call| (call.title.as_str(), call.why.as_str())).collect();
        let expected = [
            ("write_file-1", ""),
            ("edit", "it was not allowed"),
            ("write notes.txt", "it was not allowed"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_last_words_are_those_after_the_last_call() {
        let mut gathered = Gathered::default();
        let begins = |status: &str| Update::ToolCall(Box::new(call("1", "read", status, &[])));
        assert_eq!(gathered.last_words("all of it"), None);
        gathered.hear(&begins("in_progress"), 8);
        gathered.hear(&begins("completed"), 12);
        assert_eq!(gathered.last_words("I look. Found it."), Some(8));
        assert_eq!(gathered.last_words("I look. \n"), None, "nothing was said");
    }

    #[test]
    fn tokens_are_those_of_the_turn_else_the_sum_of_its_requests() {
        let one = TokenUsage { input: 10, output: 1, cached: Some(4), total: 11 };
        let mut gathered = Gathered::default();
        assert_eq!(gathered.usage(None, None), None);
        gathered.hear(&Update::Tokens(one), 0);
        gathered.hear(&Update::Tokens(one), 0);
        let usage = gathered.usage(None, None).unwrap();
        assert_eq!((usage.input_tokens, usage.cached_tokens), (Some(20), Some(8)));
        let usage = gathered.usage(Some(one), None).unwrap();
        assert_eq!(usage.total_tokens, Some(11));
        gathered.is_cut(None);
        let usage = gathered.usage(Some(one), None).unwrap();
        assert_eq!(usage.total_tokens, Some(33), "two requests, then a turn");
    }

    #[test]
    fn a_task_costs_what_the_sum_of_its_session_grew_by() {
        let dollars = |amount| Money::of(amount, "USD");
        let mut spending = Spending::Nothing;
        assert_eq!(spending.grow(dollars(0.5)), dollars(0.5));
        assert_eq!(spending.grow(None), None);
        assert_eq!(spending.grow(dollars(0.75)), dollars(0.25));
        assert_eq!(spending.grow(dollars(0.1)), None, "the agent began anew");
        let mut taken_up = Spending::Unknown;
        assert_eq!(taken_up.grow(dollars(3.0)), None);
        assert_eq!(taken_up.grow(dollars(4.0)), dollars(1.0));
    }
}
