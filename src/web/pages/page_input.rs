//! What pages are made of: a snapshot of the team, what a view needs besides, and who looks.

use std::sync::Arc;

use crate::reader::{UnlistedTurn, WholeTask};
use crate::search::SearchHit;
use crate::team::FileDiff;
use crate::view::{Letter, LiveLine, Moment, UsageRow};
use crate::web::Snapshot;

/// Who looks, and what is allowed.
#[derive(Clone, Copy, Debug)]
pub struct PageContext<'a> {
    /// The name of the project.
    pub project: &'a str,
    /// Whether messages, stops and cancels are allowed here (`--write`).
    pub can_write: bool,
    /// Whether questions may be answered here (`--answer`).
    pub can_answer: bool,
    pub now: Moment,
    /// What every form has to send back in the field `form_token`.
    pub form_token: &'a str,
    /// The path of the page, to which its forms lead back.
    pub back: &'a str,
    /// What came of the act that led to this page, as a sentence.
    pub notice: Option<&'a str>,
}

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    pub snapshot: &'a Snapshot,
    pub extra: &'a Extra,
}

/// What a view needs besides the snapshot. The rest is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// The task of `View::Task`; none if there is no such task, or it ended too long ago.
    pub task: Option<WholeTask>,
    /// The turn of `View::Task`, if no known task has it.
    pub turn: Option<UnlistedTurn>,
    /// The live words of the task of `View::Task`, or of the running task of `View::Member`.
    pub live: Arc<Vec<LiveLine>>,
    /// What git says of the files that the task has changed, for `View::Task` and `View::Member`.
    pub diffs: Vec<FileDiff>,
    /// Where those files are, if not here, so that git here says nothing of them.
    pub elsewhere: Option<FilesElsewhere>,
    /// The prompts of the steps that wait for approval, for `View::Team` and `View::Workflow`.
    pub prompts: Vec<StepPrompt>,
    /// The calls behind the permission questions that wait, as lines, by the id of the question.
    pub calls: Vec<(String, Vec<String>)>,
    /// The messages of `View::Thread`, oldest first.
    pub thread: Vec<Letter>,
    /// The page of older messages that `?before=SEQ` asks for, instead of the last ones.
    pub older: Option<OlderLetters>,
    /// The rows of `View::Usage`.
    pub usage: Vec<UsageRow>,
    /// What `View::Search` has found; none while nothing is searched for.
    pub found: Option<SearchResult>,
}

/// Where the files of a task are that ran on another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesElsewhere {
    /// The name of the machine.
    pub machine: String,
    /// Whether this machine has the same name.
    pub is_namesake: bool,
}

/// A page of older messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OlderLetters {
    /// Messages before this seq.
    pub before: u64,
    /// Oldest first.
    pub letters: Vec<Letter>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// The prompt that a step would get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPrompt {
    pub workflow: String,
    pub step: String,
    pub lines: Vec<String>,
}

/// What a search has found, or why it could not be done.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The newest first.
    pub hits: Vec<SearchHit>,
    /// Whether there are more.
    pub has_more: bool,
    /// Why nothing could be searched, in words for people.
    pub trouble: Option<String>,
}
