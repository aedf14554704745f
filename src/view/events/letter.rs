//! A message with its receipts: how far it has come with each recipient.

use schemars::JsonSchema;
use serde::Serialize;

use super::letter_receipt::Receipt;
use crate::bus::state::Message;
use crate::domain::messaging::{Attached, Attachment};
use crate::domain::text::visible_letters::one_line;
use crate::view::Moment;

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Letter {
    pub message_id: String,
    /// The seq of its event.
    pub seq: u64,
    pub at: Moment,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line.
    pub from: String,
    /// A name, `all`, or a group as its sender wrote it: `@word` for a lane, a role or a capability, `#word` for a topic.
    pub to: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    pub kind: String,
    /// The beginning of its text as one line; missing if the text cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The length of its text in bytes.
    pub bytes: u64,
    /// The first message of its thread.
    pub thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// What it is about, as its sender says.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What is attached to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<LetterAttachment>,
    /// Whether it is worth an interruption.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// How far it has come, by recipient.
    pub receipts: Vec<Receipt>,
}

/// An attachment of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LetterAttachment {
    pub name: String,
    /// Its type, its media type and its length, as far as they are known, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The length of its text, or of its file when the message was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its file: relative to the project, or absolute in another worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl LetterAttachment {
    /// Returns its name with what it is.
    pub fn in_words(&self) -> String {
        let name = one_line(&self.name);
        if self.what.is_empty() { name } else { format!("{name} ({})", one_line(&self.what)) }
    }
}

impl From<&Attachment> for LetterAttachment {
    fn from(attachment: &Attachment) -> Self {
        let path = match &attachment.holds {
            Attached::File(file) => Some(file.path.clone()),
            Attached::Name | Attached::Text(_) => None,
        };
        Self {
            name: attachment.name.clone(),
            what: attachment.in_words(),
            bytes: attachment.bytes(),
            path,
        }
    }
}

impl Letter {
    /// Says whether it is no talk: a notice of the bridge, or the farewell to an agent that is stopped.
    pub fn is_routine(&self) -> bool {
        matches!(self.kind.as_str(), "notice" | "shutdown")
    }

    /// Returns the words that say what it is for, and how much it matters where that is not as usual.
    pub fn labels(&self) -> Vec<&str> {
        let urgent = self.urgent.then_some("urgent");
        let priority = self.priority.as_deref().or(urgent);
        self.signal.as_deref().into_iter().chain(priority).collect()
    }

    /// Returns these words in brackets behind a space, if there are any.
    pub fn labels_in_brackets(&self) -> String {
        let labels = self.labels().join(", ");
        if labels.is_empty() { labels } else { format!(" ({labels})") }
    }

    /// Returns the receipt of a member, which may be new.
    pub(super) fn receipt(&mut self, member: &str) -> &mut Receipt {
        let known = self.receipts.iter().position(|receipt| receipt.member == member);
        let index = known.unwrap_or_else(|| {
            self.receipts.push(Receipt::unread(member.to_owned()));
            self.receipts.len() - 1
        });
        &mut self.receipts[index]
    }

    /// Takes over how far the state has it, which has the last word.
    pub fn correct(&mut self, known: &Message) {
        for (name, delivery) in known.deliveries.iter() {
            self.receipt(name.as_str()).correct(*delivery);
        }
    }
}
