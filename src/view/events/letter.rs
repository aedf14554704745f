//! A message with its receipts: how far it has come with each recipient.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::letter_receipt::{Receipt, ReceiptStatus, shown_note};
use crate::bus::event::{Addressees, Body, MessageSent};
use crate::bus::state::{Crossed, Message};
use crate::domain::limits;
use crate::domain::messaging::{
    Acknowledgement, Attached, Attachment, Author, MessageKind, ReceiptElsewhere, Signal,
    SignalClass,
};
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, one_line, quoted};
use crate::view::{Moment, Texts, no_text};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Letter {
    pub message_id: String,
    /// The seq of its event.
    pub seq: u64,
    pub at: Moment,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line, `TAG:NAME` a member of another project.
    pub from: String,
    /// The member in whose name the bridge reminds its recipients, if it does.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub for_member: Option<String>,
    /// A name, `all`, a group as its sender wrote it (`@word` for a lane, a role or a capability, `#word` for a topic), or `TAG:NAME` in
    /// another project.
    pub to: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    pub kind: String,
    /// The beginning of its text as one line; missing if the text cannot be read, is lost, or nobody may read it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why its text is lost: another program has changed or removed its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The length of its text in bytes.
    pub bytes: u64,
    /// The first message of its thread.
    pub thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// How it stands with the answer of the user, if it asks the user for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks_you: Option<UserQuestion>,
    /// The message that has answered this question of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_in: Option<String>,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it has decided a disagreement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// What it is about, as its sender says.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What its sender sends beside the text, for programs; missing if it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// The length of a payload as JSON that is too long to be shown here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
    /// What is attached to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<LetterAttachment>,
    /// Whether it is worth an interruption.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// How the thread that it begins was resolved, until the next message in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<ThreadEnd>,
    /// Whether it was taken back, or has expired, before anybody was shown it. The API has no text of it then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub taken_back: bool,
    /// How far it has come, by recipient.
    pub receipts: Vec<Receipt>,
}

/// How it stands with a question to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UserQuestion {
    /// Nobody has answered it.
    Open,
    Answered,
    /// It is not open any more, and no answer is among the messages that were read; or the member that asks is not here to get one.
    Over,
}

/// How a thread was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadEnd {
    /// The recipient of its first message that has resolved it.
    pub by: String,
    pub at: Moment,
    /// The beginning of its summary, as one line.
    pub summary: String,
}

impl ThreadEnd {
    /// Says who has resolved the thread, and how.
    pub fn in_words(&self) -> String {
        let summary = quoted(&self.summary, limits::PROMPT_CHARS);
        format!("{} has resolved its thread: {summary}", self.by)
    }
}

/// How many recipients have seen a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenBy {
    pub seen: usize,
    /// Those that have seen it, or still may.
    pub of: usize,
    /// Those from whose inbox it was taken before they had seen it, or whom it will not reach.
    pub withdrawn: usize,
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
    /// Reads its text, or why that is lost. Says whether there is one.
    pub(super) fn reads(&mut self, body: &Body, chars: usize, texts: &mut dyn Texts) -> bool {
        let (text, lost) = texts.text_or_loss(body);
        self.text = text.map(|text| beginning(&text, chars));
        self.lost = lost;
        self.text.is_some()
    }

    /// Notes that a recipient has resolved the thread that it begins, maybe with better words than before.
    pub(super) fn is_resolved(&mut self, end: ThreadEnd) {
        let by = self.receipts.iter_mut().find(|receipt| receipt.member == end.by);
        if let Some(receipt) = by.filter(|receipt| receipt.status == ReceiptStatus::Resolved) {
            receipt.acknowledged(Acknowledgement::Resolved, Some(end.summary.clone()), end.at);
        }
        self.resolved = Some(end);
    }

    /// Quotes its text, or says why there is none.
    pub fn quoted_text(&self, most: usize) -> String {
        self.text.as_ref().map_or_else(|| self.no_text(), |text| quoted(text, most))
    }

    /// Says in the place of its text why there is none.
    pub fn no_text(&self) -> String {
        no_text(self.lost.as_deref())
    }

    /// Says whether it is no talk: a notice of the bridge, or the farewell to an agent that is stopped.
    pub fn is_routine(&self) -> bool {
        matches!(self.kind.as_str(), "notice" | "shutdown")
    }

    /// Notes whether it is taken back, or has expired, everywhere: nobody was shown it, or will be. A request stays readable.
    pub(super) fn note_fate(&mut self) {
        let is_lost = |one: &Receipt| one.status.is_lost();
        // Whoever claims a request, or answers the user's mail, reads on.
        let is_read_on = self.kind == MessageKind::Request.as_str() || self.is_for_user();
        self.taken_back =
            !is_read_on && !self.receipts.is_empty() && self.receipts.iter().all(is_lost);
    }

    /// Says what becomes of it if no inbox has it.
    pub fn fate_without_recipient(&self) -> &'static str {
        match self.kind.as_str() {
            _ if self.taken_back => "nobody got it",
            _ if self.asks_you.is_some_and(|question| question != UserQuestion::Open) => {
                "was for you"
            }
            _ if self.is_for_user() => "waits for you",
            "request" => "nobody was there for it",
            _ => "waits for the first who fits",
        }
    }

    /// Returns the beginning of its payload, or says how long that is.
    pub fn payload_in_words(&self) -> Option<String> {
        let long = || Some(format!("{} of JSON", counted(self.payload_bytes?, "byte")));
        let json = self.payload.as_ref().map(|payload| json!(payload).to_string());
        json.map(|json| beginning(&json, limits::PROMPT_CHARS)).or_else(long)
    }

    /// Says whether it is to the user alone.
    pub fn is_for_user(&self) -> bool {
        self.to == Author::HUMAN
    }

    /// Says how a question to the user is answered, or what has answered it.
    pub fn question_in_words(&self) -> Option<String> {
        let (asker, id) = (&self.from, &self.message_id);
        match (self.asks_you?, &self.answered_in) {
            (UserQuestion::Open, _) => {
                Some(format!("open: cli-team-bridge send {asker} TEXT --reply-to {id}"))
            }
            (UserQuestion::Answered, Some(answer)) => Some(format!("answered in {answer}")),
            (UserQuestion::Answered | UserQuestion::Over, _) => None,
        }
    }

    /// Says whether it is a question to the user without an answer that is shown as open and is not, or the other way round.
    pub(super) fn is_open_otherwise(&self, is_open: bool) -> bool {
        let shown = self.asks_you.filter(|question| *question != UserQuestion::Answered);
        shown.is_some_and(|question| (question == UserQuestion::Open) != is_open)
    }

    /// Notes that a message answers it, if it is a question to the user which no other has answered. That is for the user, and for
    /// whoever has got the question, to say to the one who asked.
    pub(super) fn is_answered_by(&mut self, sent: &MessageSent) {
        let asks = self.asks_you.is_some_and(|question| question != UserQuestion::Answered);
        let by_asked = match &sent.from {
            Author::Human => true,
            Author::Member(from) => self.receipts.iter().any(|one| one.member == from.as_str()),
            Author::Bridge | Author::Elsewhere(_) => false,
        };
        let reaches = match &sent.to {
            Addressees::Named(names) => names.iter().any(|name| name.as_str() == self.from),
            Addressees::AllBut(names) => names.iter().all(|name| name.as_str() != self.from),
        };
        if asks && by_asked && reaches && sent.kind != MessageKind::Nudge && sent.class().answers()
        {
            self.asks_you = Some(UserQuestion::Answered);
            self.answered_in = Some(sent.id.to_string());
        }
    }

    /// Says whether it is from or to a member.
    pub fn concerns(&self, name: &str) -> bool {
        let senders = [Some(&self.from), self.for_member.as_ref()];
        let receivers = self.receipts.iter().map(|receipt| &receipt.member);
        let mut all = senders.into_iter().flatten().chain(receivers);
        all.any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Says who sends it.
    pub fn sender(&self) -> String {
        let whose = self.for_member.as_ref().map(|name| format!(" for {name}"));
        format!("{}{}", self.from, whose.unwrap_or_default())
    }

    /// Counts who has seen it.
    pub fn seen_by(&self) -> SeenBy {
        let withdrawn = self.receipts.iter().filter(|one| one.status.is_lost()).count();
        let seen = self.receipts.iter().filter(|one| one.status.is_seen()).count();
        SeenBy { seen, of: self.receipts.len() - withdrawn, withdrawn }
    }

    /// Says whether the person at the command line wrote it.
    pub fn is_from_human(&self) -> bool {
        self.from == Author::HUMAN
    }

    /// Returns what it is for. That the person at the command line says it, its sender shows.
    pub fn shown_signal(&self) -> Option<&str> {
        let signal = self.signal.as_deref().filter(|signal| *signal != Signal::RELAY);
        signal.or(self.decides.then_some("decision"))
    }

    /// Returns what it is for if it takes a side or decides, which changes what its text means.
    pub fn shown_stand(&self) -> Option<&str> {
        self.shown_signal().filter(|signal| {
            let class = Signal::from(Cow::from(*signal)).class();
            self.decides || matches!(class, SignalClass::Position | SignalClass::Decision)
        })
    }

    /// Returns the words that say what it is for, and how much it matters where that is not as usual.
    pub fn labels(&self) -> Vec<&str> {
        let urgent = self.urgent.then_some("urgent");
        let priority = self.priority.as_deref().or(urgent);
        self.shown_signal().into_iter().chain(priority).collect()
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

    /// Notes how far it is in another project.
    /// `chars` is how much of a note is shown.
    pub(super) fn crosses(&mut self, receipts: &[ReceiptElsewhere], chars: usize, at: Moment) {
        self.receipts.retain(|receipt| receipt.status != ReceiptStatus::Queued);
        let tag = self.to.split_once(':').map(|(tag, _)| tag.to_owned()).unwrap_or_default();
        for receipt in receipts {
            let note = receipt.note.as_ref().map(|note| shown_note(note, chars));
            self.receipt(&format!("{tag}:{}", receipt.name)).take_over(receipt.state, note, at);
        }
    }

    /// Notes that it waits no longer: for the way to another project, or for somebody who fits.
    pub(super) fn is_given_up(&mut self, at: Moment) {
        self.taken_back = self.receipts.is_empty() && !self.is_for_user();
        let waits = |receipt: &&mut Receipt| receipt.status == ReceiptStatus::Queued;
        let waiting = self.receipts.iter_mut().filter(waits);
        waiting.for_each(|receipt| receipt.ends(ReceiptStatus::Undelivered, at));
    }

    /// Says whether it is as far in another project as the state has it.
    pub(super) fn is_as_crossed(&self, crossed: Option<&Crossed>) -> bool {
        match crossed.filter(|crossed| crossed.there.is_some()) {
            None => true,
            Some(crossed) => {
                let of = |one: &ReceiptElsewhere| one.state.as_str();
                let there: Vec<_> = crossed.receipts.iter().map(of).collect();
                let here: Vec<_> = self.receipts.iter().map(|one| one.status.as_str()).collect();
                there == here
            }
        }
    }

    /// Takes over how far the state has it, which has the last word.
    pub fn correct(&mut self, known: &Message) {
        for (name, delivery) in known.deliveries.iter() {
            self.receipt(name.as_str()).correct(*delivery);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Body, Event, MessageSent, ThreadResolved};
    use crate::bus::state::State;
    use crate::domain::ids::MessageId;
    use crate::domain::messaging::{Audience, Author, MessageKind, Priority};
    use crate::domain::name::Name;
    use crate::view::tests::entry;
    use crate::view::{Conversation, NoTexts};

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn sent(number: u64, thread: Option<u64>, kind: MessageKind) -> Event {
        Event::MessageSent(MessageSent {
            id: MessageId::from_bits(number),
            kind,
            from: Author::Member(name("ann")),
            audience: Audience::All,
            to: vec![name("ben"), name("cay"), name("dan")].into(),
            request: None,
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: thread.map(MessageId::from_bits),
            ends: Vec::new(),
            priority: Priority::Normal,
            quiet: false,
            more: None,
            body: Body::Text("a plan".to_owned()),
        })
    }

    fn folded(events: Vec<Event>) -> Vec<Letter> {
        let mut conversation = Conversation::new(9, 50);
        for (number, event) in (1..).zip(events) {
            conversation.take(&entry(number, event), &State::default(), &mut NoTexts);
        }
        conversation.letters().cloned().collect()
    }

    #[test]
    fn a_reminder_is_of_the_bridge_in_the_name_of_the_one_who_asked() {
        let letter = &folded(vec![sent(1, None, MessageKind::Nudge)])[0];
        assert_eq!((&*letter.from, &*letter.sender()), ("bridge", "bridge for ann"));
        assert!(["ann", "BEN", "bridge"].iter().all(|name| letter.concerns(name)));
        let json = serde_json::to_value(letter).unwrap();
        assert_eq!((&json["from"], &json["for"]), (&"bridge".into(), &"ann".into()));
        let letter = &folded(vec![sent(1, None, MessageKind::Message)])[0];
        assert_eq!((&*letter.sender(), letter.concerns("eve")), ("ann", false));
    }

    #[test]
    fn who_will_not_see_a_message_does_not_count_as_one_who_has_not() {
        let id = MessageId::from_bits(1);
        let letter = &folded(vec![
            sent(1, None, MessageKind::Message),
            Event::MessageSuperseded { id: id.clone(), members: vec![name("ben")].into() },
            Event::MessageExpired { id, member: name("cay") },
        ])[0];
        assert_eq!(letter.seen_by(), SeenBy { seen: 0, of: 1, withdrawn: 2 });
    }

    #[test]
    fn a_thread_is_resolved_until_the_next_message_in_it() {
        let resolved = Event::ThreadResolved(ThreadResolved {
            threads: vec![MessageId::from_bits(1)],
            by: name("ben"),
            summary: "we take\nthe new parser".to_owned(),
        });
        let first = sent(1, None, MessageKind::Message);
        let letter = &folded(vec![first.clone(), resolved.clone()])[0];
        let end = letter.resolved.as_ref().unwrap();
        assert_eq!(end.in_words(), "ben has resolved its thread: \"we take the new parser\"");
        let next = sent(2, Some(1), MessageKind::Message);
        let letters = folded(vec![first, resolved, next]);
        assert!(letters.iter().all(|letter| letter.resolved.is_none()));
    }
}
