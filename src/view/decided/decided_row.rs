//! Something that has been decided, as windows show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::ids::WorkflowId;
use crate::domain::messaging::Author;
use crate::domain::text::listed::listed;
use crate::domain::text::visible_letters::quoted;
use crate::view::Moment;
use crate::view::shown::{by_whom, human_in};

/// The most characters of what it was about, beside what holds.
const ABOUT: usize = 80;

/// Something that has been decided.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decided {
    /// When.
    pub at: Moment,
    /// How.
    pub how: DecidedHow,
    /// Who agreed, decided, answered or allowed it; `human` is the user, and `bridge` stands where nobody answered in time.
    pub by: String,
    /// The orchestrator in whose client the user answered a question for permission; missing if it was answered elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Whom it binds or concerns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub whom: Vec<String>,
    /// What was asked or disputed: the beginning of the question, or of the first message of the thread; missing if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What holds from then on, as one line; missing if it cannot be read. Of what is allowed or approved `about` says all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Why it was denied, if nobody said no, or the reason that was given for the refusal of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to open: the message that holds, the question for permission, or the workflow.
    pub id: String,
    /// The first message of its thread, if it was decided in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The task at which the agent asked for permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// How something was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedHow {
    /// A party of a disagreement took the position of the other.
    Agreed,
    /// Whoever was asked decided a disagreement, or the user did.
    Decided,
    /// Somebody announced a decision.
    Announced,
    /// A question to the user was answered.
    Answered,
    /// A recipient resolved a thread with a summary.
    Resolved,
    /// A question for permission was answered with yes.
    Allowed,
    /// A question for permission was answered with no, or a step of a workflow was refused.
    Denied,
    /// A step of a workflow was approved.
    Approved,
}

impl DecidedHow {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agreed => "agreed",
            Self::Decided => "decided",
            Self::Announced => "announced",
            Self::Answered => "answered",
            Self::Resolved => "resolved",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Approved => "approved",
        }
    }
}

impl Decided {
    /// Says who decided it, and how: `ben agreed with ann`.
    pub fn who(&self) -> String {
        let whom = listed(&self.whom.iter().map(String::as_str).collect::<Vec<_>>(), "and");
        let by = self.whoever();
        match self.how {
            _ if whom.is_empty() => format!("{by} {}", self.how.as_str()),
            DecidedHow::Agreed => format!("{by} agreed with {whom}"),
            DecidedHow::Decided => format!("{by} decided between {whom}"),
            DecidedHow::Announced => format!("{by} announced to {whom}"),
            DecidedHow::Resolved => format!("{by} resolved with {whom}"),
            DecidedHow::Answered
            | DecidedHow::Allowed
            | DecidedHow::Denied
            | DecidedHow::Approved => format!("{by} {} {whom}", self.how.as_str()),
        }
    }

    /// Names who decided it: a member, the bridge, or the user, and where.
    fn whoever(&self) -> String {
        match &self.through {
            Some(name) => human_in(name),
            None => by_whom(&self.by).to_owned(),
        }
    }

    /// Says what holds, and what it was about.
    pub fn what(&self, most: usize) -> String {
        match (&self.words, &self.about) {
            (Some(words), Some(about)) => {
                format!("{} (about {})", quoted(words, most), quoted(about, ABOUT))
            }
            (Some(words), None) => quoted(words, most),
            // What is allowed or approved is quoted already.
            (None, Some(about)) if self.is_permitted() => match &self.why {
                Some(why) => format!("{about} ({why})"),
                None => about.clone(),
            },
            (None, Some(about)) => format!("about {}", quoted(about, ABOUT)),
            (None, None) => "(its text cannot be read)".to_owned(),
        }
    }

    /// Says whether it lets an agent or a step begin, or does not, and is no word of anybody.
    pub fn is_permitted(&self) -> bool {
        matches!(self.how, DecidedHow::Allowed | DecidedHow::Denied | DecidedHow::Approved)
    }

    /// Says whether it is about a step of a workflow, whose id it then has.
    pub fn is_of_workflow(&self) -> bool {
        WorkflowId::parse(&self.id).is_ok()
    }

    /// Says whether a member decided it, or is concerned.
    pub fn concerns(&self, name: &str) -> bool {
        let mut all = std::iter::once(&self.by).chain(&self.whom);
        all.any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Says whether the user decided it.
    pub fn is_from_human(&self) -> bool {
        self.by == Author::HUMAN
    }

    /// Returns the command that shows the rest of it.
    pub fn command(&self) -> String {
        match (&self.thread_id, &self.task_id) {
            (Some(thread), _) => format!("cli-team-bridge messages --thread {thread}"),
            (None, Some(task)) => format!("cli-team-bridge task {task}"),
            (None, None) if self.is_of_workflow() => "cli-team-bridge workflows".to_owned(),
            (None, None) => "cli-team-bridge log --kind permission".to_owned(),
        }
    }
}
