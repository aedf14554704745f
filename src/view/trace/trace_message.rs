//! A message of a trace, its texts, and what proves them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::trace_receipt::TraceReceipt;
use crate::bus::event::{Body, MessageSent, RequestOpened};
use crate::bus::state::State;
use crate::domain::limits;
use crate::domain::messaging::{Author, MessageKind, Signal};
use crate::domain::text::content_hash::ContentHash;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, one_line};
use crate::view::shown::WithdrawnMessage;
use crate::view::{LetterAttachment, LongText, Moment, Texts};

/// A message of an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceMessage {
    pub id: String,
    /// The seq of its event.
    pub seq: u64,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line.
    pub agent: String,
    /// The roles that its sender has now, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The member in whose name the bridge reminds its recipients, if it does.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub for_member: Option<String>,
    /// Its address as its sender wrote it.
    pub to: String,
    /// Its signal, else its kind.
    pub action: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    pub kind: String,
    pub timestamp: Moment,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The first message of its thread.
    pub thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The request that it opens, or is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What it is about, as its sender says.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// It expires where it is not seen after these seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Its sender wants an answer within these seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_seconds: Option<u64>,
    /// The message of the same sender whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The beginning of its text as one line; missing if the text cannot be read, or is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why its text is lost: another program has changed or removed its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Its text; of a request the description, and then the context if there is one.
    pub texts: Vec<TraceText>,
    /// What its sender sends beside the text, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<LetterAttachment>,
    /// How far it has come, by recipient.
    pub receipts: Vec<TraceReceipt>,
    /// Its id in the other project, once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub there: Option<String>,
    /// Whether it waits for the first who fits its address, or for the way to another project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Whether it has waited so, and nobody got it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undelivered: bool,
    /// Whether further recipients are not known any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more_recipients: bool,
}

/// A stored text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceText {
    /// Its length in bytes, as the log has it.
    pub bytes: u64,
    pub place: TextPlace,
    /// The file below the directory of the bus, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its SHA-256: of a text in a file, that which the log has stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether the file has this text; missing for a text in the log, whose line has a checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_is: Option<TextProof>,
}

/// Where a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextPlace {
    /// In its line of the log.
    Log,
    /// In a file beside the log.
    File,
}

/// What the file of a text is, against what the log says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextProof {
    Matches,
    DoesNotMatch,
    Missing,
    Unreadable,
    /// It is as long as stored; an older version has stored no hash.
    Unproven,
}

impl TextProof {
    /// Returns its words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::DoesNotMatch => "does not match",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Unproven => "as long as stored; an older version stored no hash",
        }
    }
}

/// What is shown of a text.
struct Shown {
    /// Its beginning as one line, unless it cannot be read.
    text: Option<String>,
    /// Why it is lost, if it is.
    lost: Option<String>,
}

impl TraceText {
    /// Reads a text that is checked against the log.
    fn read(body: &Body, texts: &mut dyn Texts) -> (Self, Shown) {
        let shown =
            |text: &str| Shown { text: Some(beginning(text, limits::PROMPT_CHARS)), lost: None };
        let (id, bytes, sha256) = match body {
            Body::Text(text) => {
                let sha256 = Some(ContentHash::of(text).into());
                let bytes = text.len() as u64;
                let read = Self { bytes, place: TextPlace::Log, file: None, sha256, file_is: None };
                return (read, shown(text));
            }
            Body::Blob { id, bytes, sha256 } => (*id, *bytes, sha256.clone()),
        };
        let lost = |why| Shown { text: None, lost: Some(why) };
        let (file_is, shown) = match texts.long_text(body) {
            LongText::Missing(why) => (TextProof::Missing, lost(why)),
            LongText::Changed(why) => (TextProof::DoesNotMatch, lost(why)),
            LongText::Unreadable => (TextProof::Unreadable, Shown { text: None, lost: None }),
            LongText::Whole(text) if sha256.is_some() => (TextProof::Matches, shown(&text)),
            LongText::Whole(text) => (TextProof::Unproven, shown(&text)),
        };
        let file = Some(format!("blobs/{id}"));
        let sha256 = sha256.map(String::from);
        (Self { bytes, place: TextPlace::File, file, sha256, file_is: Some(file_is) }, shown)
    }

    /// Says how long it is, and what proves it.
    pub fn in_words(&self) -> String {
        let hash = self.sha256.as_ref().map(|hash| format!("sha256 {hash}"));
        let file = self.file.as_ref().zip(self.file_is);
        let file = file.map(|(file, is)| format!("{file}: {}", is.as_str()));
        let parts = [Some(counted(self.bytes, "byte")), hash, file];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl TraceMessage {
    pub(super) fn as_withdrawn(&self) -> WithdrawnMessage<'_> {
        WithdrawnMessage {
            id: &self.id,
            from: &self.agent,
            thread: &self.thread_id,
            request: self.request_id.as_deref(),
        }
    }

    pub(super) fn sent(
        sent: &MessageSent,
        (seq, at): (u64, Moment),
        state: &State,
        texts: &mut dyn Texts,
    ) -> Self {
        let more = sent.more.as_deref();
        // The bridge writes a reminder in the name of the one who asked.
        let asker = sent.from.member().filter(|_| sent.kind == MessageKind::Nudge);
        let signal = more.and_then(|more| more.signal.as_ref());
        let (text, shown) = TraceText::read(&sent.body, texts);
        Self {
            id: sent.id.to_string(),
            seq,
            agent: asker.map_or_else(|| sent.from.to_string(), |_| Author::Bridge.to_string()),
            role: if asker.is_some() { None } else { role(&sent.from, state) },
            for_member: asker.map(ToString::to_string),
            to: sent.audience.to_string(),
            action: signal.map_or_else(|| sent.kind.as_str().to_owned(), ToString::to_string),
            kind: sent.kind.as_str().to_owned(),
            timestamp: at,
            priority: (!sent.priority.is_normal()).then(|| sent.priority.as_str().to_owned()),
            thread_id: sent.thread.as_ref().unwrap_or(&sent.id).to_string(),
            reply_to: sent.reply_to.as_ref().map(ToString::to_string),
            request_id: sent.request.as_ref().map(ToString::to_string),
            task_id: sent.task.as_ref().map(ToString::to_string),
            reference: more.and_then(|more| more.reference.as_deref()).map(one_line),
            ttl_seconds: more.and_then(|more| more.ttl_seconds),
            response_seconds: more.and_then(|more| more.response_seconds),
            supersedes: more.and_then(|more| more.supersedes.as_ref()).map(ToString::to_string),
            text: shown.text,
            lost: shown.lost,
            texts: vec![text],
            payload: more.and_then(|more| more.payload.clone()),
            attachments: more
                .into_iter()
                .flat_map(|more| &more.attachments)
                .map(Into::into)
                .collect(),
            receipts: Vec::new(),
            there: None,
            waits: more.is_some_and(|more| more.queue),
            undelivered: false,
            more_recipients: false,
        }
    }

    pub(super) fn opened(
        opened: &RequestOpened,
        (seq, at): (u64, Moment),
        state: &State,
        texts: &mut dyn Texts,
    ) -> Self {
        let (description, shown) = TraceText::read(&opened.description, texts);
        let context = opened.context.as_ref().map(|context| TraceText::read(context, texts).0);
        let author = Author::Member(opened.from.clone());
        Self {
            id: opened.message.to_string(),
            seq,
            agent: opened.from.to_string(),
            role: role(&author, state),
            for_member: None,
            to: opened.audience().to_string(),
            action: MessageKind::Request.as_str().to_owned(),
            kind: MessageKind::Request.as_str().to_owned(),
            timestamp: at,
            priority: (!opened.priority().is_normal())
                .then(|| opened.priority().as_str().to_owned()),
            thread_id: opened.message.to_string(),
            reply_to: None,
            request_id: Some(opened.id.to_string()),
            task_id: None,
            reference: None,
            ttl_seconds: Some(opened.ttl_ms / 1000),
            response_seconds: None,
            supersedes: None,
            text: shown.text,
            lost: shown.lost,
            texts: [description].into_iter().chain(context).collect(),
            payload: None,
            attachments: Vec::new(),
            receipts: Vec::new(),
            there: None,
            waits: false,
            undelivered: false,
            more_recipients: false,
        }
    }

    /// Says whether the bridge speaks in it: a notice, or a reminder in the name of a member.
    pub fn is_of_bridge(&self) -> bool {
        self.agent == Author::Bridge.to_string()
    }

    /// Says who sends it.
    pub fn sender(&self) -> String {
        let whose = self.for_member.as_ref().map(|name| format!(" for {name}"));
        format!("{}{}", self.agent, whose.unwrap_or_default())
    }

    /// Returns the words that say what it is for, and how much it matters where that is not as usual.
    pub fn labels(&self) -> Vec<&str> {
        // That the person at the command line says it, its sender shows.
        let says_nothing = [MessageKind::Message.as_str(), Signal::RELAY];
        let action = (!says_nothing.contains(&&*self.action)).then_some(&*self.action);
        action.into_iter().chain(self.priority.as_deref()).collect()
    }
}

fn role(author: &Author, state: &State) -> Option<String> {
    let roles = &state.live(author.member()?)?.roles;
    (!roles.is_empty()).then(|| one_line(&roles.join(", ")))
}
