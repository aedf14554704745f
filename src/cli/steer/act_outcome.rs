//! What came of an act, for people and for programs.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::domain::member::Label;
use crate::domain::messaging::Audience;
use crate::domain::text::shell_word::shell_word;
use crate::domain::text::visible_letters::{seen, without_styles};

/// The version of the JSON form of an outcome.
const VERSION: u32 = 1;

/// How an act has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// It has happened.
    Done,
    /// The wish stands on the bus, and will be fulfilled later.
    Pending,
    /// The process that has to act has not done so in time.
    Silent,
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Outcome {
    version: u32,
    /// The act: the name of its command.
    act: &'static str,
    /// What it is about: the name of a member, or an id.
    subject: String,
    #[serde(rename = "outcome")]
    pub(crate) ended: Ended,
    /// The state of the subject now, in a word.
    status: String,
    /// How long it took.
    seconds: f64,
    /// The id of the message that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_id: Option<String>,
    /// The answer to the message, if it was waited for and came.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Reply>,
    /// The same in a sentence for people.
    pub(crate) words: String,
}

/// The answer of a member.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Reply {
    pub(super) message_id: String,
    pub(super) from: String,
    pub(super) text: String,
}

impl Reply {
    /// Returns it as lines for people.
    pub(super) fn in_words(&self) -> String {
        format!(
            "`{}` answers ({}):\n{}",
            self.from,
            self.message_id,
            seen(&without_styles(&self.text))
        )
    }
}

impl Outcome {
    /// Describes an act of this name about this subject.
    pub(super) fn new(act: &'static str, subject: &impl ToString, ended: Ended) -> Self {
        Self {
            version: VERSION,
            act,
            subject: subject.to_string(),
            ended,
            status: String::new(),
            seconds: 0.0,
            message_id: None,
            reply: None,
            words: String::new(),
        }
    }

    /// Adds the state of the subject, and the sentence.
    #[must_use]
    pub(super) fn saying(self, status: &str, words: impl Into<String>) -> Self {
        Self { status: status.to_owned(), words: words.into(), ..self }
    }

    /// Names the member by its address from here: it is one of another project. All of them are called as its sender has called them.
    #[must_use]
    pub(crate) fn in_project(self, tag: &Label, written: &str) -> Self {
        let is_all = self.subject == Audience::All.to_string();
        let subject = format!("{tag}:{}", if is_all { written } else { &self.subject });
        let words = self.words.replacen(&format!("`{}`", self.subject), &format!("`{subject}`"), 1);
        Self { subject, words, ..self }
    }

    /// Names the project in the commands of the sentence, which are run elsewhere. The words of a member stay as they are.
    #[must_use]
    pub(crate) fn naming_project(self, project: &Path) -> Self {
        if self.reply.is_some() {
            return self;
        }
        let project = shell_word(&project.to_string_lossy());
        let command = format!("cli-team-bridge messages --project {project} --thread");
        Self { words: self.words.replace("cli-team-bridge messages --thread", &command), ..self }
    }

    /// Adds to the sentence what else came of it.
    #[must_use]
    pub(super) fn adding(self, more: Option<String>) -> Self {
        let more = more.map(|more| format!("; {more}")).unwrap_or_default();
        Self { words: format!("{}{more}", self.words), ..self }
    }

    #[must_use]
    pub(super) fn ended(self, ended: Ended) -> Self {
        Self { ended, ..self }
    }

    #[must_use]
    pub(super) fn after(self, took: Duration) -> Self {
        Self { seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0, ..self }
    }

    #[must_use]
    pub(super) fn with_message(self, id: &impl ToString) -> Self {
        Self { message_id: Some(id.to_string()), ..self }
    }

    #[must_use]
    pub(super) fn with_reply(self, reply: Reply) -> Self {
        Self { reply: Some(reply), ..self }
    }
}

/// Writes how long something took, for people.
pub(super) fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
