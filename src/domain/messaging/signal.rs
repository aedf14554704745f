//! Signals: what a message is for, as one word. Each word has a class, and rules know the class alone.
//!
//! The words come from several vocabularies that teams of agents use. Case does not count, and a team's own words begin with `x-`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::Priority;
use crate::domain::text::suggest::nearest;

/// The beginning of a team's own words.
const OWN: &str = "x-";

/// The longest word: it stands in a line of a prompt and of a table.
pub const MAX_SIGNAL_BYTES: usize = 64;

/// What a message with a signal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalClass {
    /// It says something.
    Say,
    /// It wants an answer.
    Ask,
    /// It answers another message.
    Answer,
    /// It gives work to the recipient, and so wants an answer.
    Work,
    /// It acknowledges another message.
    Receipt,
    /// It reports progress, and takes the place of the report before it.
    Progress,
    /// It warns.
    Alarm,
    /// It takes a side on what another member has said.
    Position,
    /// It decides.
    Decision,
    /// It passes on what the sender owns.
    HandOver,
}

/// Who alone sends a reserved word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserved {
    Human,
    Bus,
}

/// The words that members send, by class.
const WORDS: [(SignalClass, &[&str]); 10] = [
    (SignalClass::Say, &["msg", "sense", "share_finding", "propose_approach", "SpecStatusChanged"]),
    (
        SignalClass::Ask,
        &[
            "ReviewRequested",
            "question",
            "query",
            "proposal",
            "request_review",
            "request_guidance",
            "request_clarification",
            "request_approval",
            "request_decision",
        ],
    ),
    (
        SignalClass::Answer,
        &[
            "ReviewCompleted",
            "answer",
            "artifact",
            "provide_review",
            "provide_guidance",
            "provide_clarification",
            "approve",
            "reject",
            "task_completed",
        ],
    ),
    (SignalClass::Work, &["TaskAssigned", "task", "delegate_task"]),
    (SignalClass::Receipt, &["Acknowledgment", "ack"]),
    (SignalClass::Progress, &["StatusUpdate", "pulse", "report_progress"]),
    (SignalClass::Alarm, &["alert", "report_bug", "report_blocker"]),
    (SignalClass::Position, &["challenge_approach", "disagree_with", "agree_with"]),
    (SignalClass::Decision, &["announce_decision"]),
    (SignalClass::HandOver, &["handoff", "shift"]),
];

/// The words that no member sends.
const RESERVED: [(&str, Reserved); 4] = [
    (Signal::RELAY, Reserved::Human),
    ("MasterPreempted", Reserved::Bus),
    ("PeerJoined", Reserved::Bus),
    ("PeerLeft", Reserved::Bus),
];

/// The signal of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Cow<'_, str>", into = "String")]
pub struct Signal {
    word: Word,
    class: SignalClass,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Known(&'static str),
    Other(Arc<str>),
}

/// Why a text is no signal that a member may send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// No such word is known.
    #[error(
        "{word:?} is not a signal{} The signals are {}, and words of your own that begin with `x-`",
        meant(.nearest),
        .words.join(", ")
    )]
    Unknown {
        /// The beginning of the text.
        word: String,
        /// The words that it may be a typo of.
        nearest: Vec<String>,
        /// All words, nearest first.
        words: Vec<&'static str>,
    },
    /// A word of the team's own that is malformed.
    #[error("{0:?} is not a signal: after `x-` use 1 to 62 of the characters A-Z a-z 0-9 . _ -")]
    Malformed(String),
    /// The person at the command line alone sends it.
    #[error("the signal `{0}` is reserved for the person at the command line: leave it out")]
    ReservedForHuman(&'static str),
    /// The bus alone sends it.
    #[error("the signal `{0}` is reserved for the bus itself: leave it out")]
    ReservedForBus(&'static str),
}

impl SignalError {
    /// Leaves out the words of which nothing can be sent.
    #[must_use]
    pub fn among(mut self, can_send: impl Fn(SignalClass) -> bool) -> Self {
        if let Self::Unknown { nearest, words, .. } = &mut self {
            let fits = |word: &str| Signal::known(word).is_some_and(|known| can_send(known.class));
            words.retain(|word| fits(word));
            nearest.retain(|word| fits(word));
        }
        self
    }
}

fn meant(nearest: &[String]) -> String {
    let quoted: Vec<_> = nearest.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => ".".to_owned(),
        words => format!(": did you mean {}?", words.join(", ")),
    }
}

impl Signal {
    /// The word of what the person at the command line says.
    pub const RELAY: &'static str = "relay";
    /// A session has joined.
    pub const PEER_JOINED: Self = Self::of_bus("PeerJoined");
    /// A session has left.
    pub const PEER_LEFT: Self = Self::of_bus("PeerLeft");
    /// Another session leads in its reader's place.
    pub const MASTER_PREEMPTED: Self = Self::of_bus("MasterPreempted");

    const fn of_bus(word: &'static str) -> Self {
        Self { word: Word::Known(word), class: SignalClass::Say }
    }

    /// Says whether it reports that a session has joined or left.
    pub fn is_presence(&self) -> bool {
        [Self::PEER_JOINED, Self::PEER_LEFT].contains(self)
    }

    /// Parses the word of a member.
    pub fn parse(text: &str) -> Result<Self, SignalError> {
        if let Some(known) = Self::known(text) {
            return Ok(known);
        }
        let is_same = |word: &&str| word.eq_ignore_ascii_case(text);
        if let Some((word, by)) = RESERVED.iter().find(|(word, _)| is_same(word)) {
            return Err(match by {
                Reserved::Human => SignalError::ReservedForHuman(word),
                Reserved::Bus => SignalError::ReservedForBus(word),
            });
        }
        let shown: String = text.chars().take(MAX_SIGNAL_BYTES).collect();
        let begins = text.get(..OWN.len());
        if begins.is_some_and(|begins| begins.eq_ignore_ascii_case(OWN)) {
            let rest = &text[OWN.len()..];
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            if rest.is_empty() || text.len() > MAX_SIGNAL_BYTES || !rest.bytes().all(fits) {
                return Err(SignalError::Malformed(shown));
            }
            return Ok(Self::other(&text.to_ascii_lowercase()));
        }
        let nearest = nearest(&shown, words());
        let is_near = |word: &&str| nearest.iter().any(|near| near == word);
        let (mut all, rest): (Vec<_>, Vec<_>) = words().partition(is_near);
        all.sort_by_key(|word| nearest.iter().position(|near| near == word));
        all.extend(rest);
        Err(SignalError::Unknown { word: shown, nearest, words: all })
    }

    /// Parses the word of the person at the command line, who may also say that it is theirs. What is none is told the words that a
    /// person sends.
    pub fn parse_of_person(text: &str) -> Result<Self, SignalError> {
        if text.eq_ignore_ascii_case(Self::RELAY) {
            return Ok(Self::relay());
        }
        Self::parse(text).map_err(|error| error.among(|class| class.is_for_person(true)))
    }

    /// Returns the known word, if it is one that members send.
    fn known(text: &str) -> Option<Self> {
        WORDS.iter().find_map(|(class, words)| {
            let word = words.iter().find(|word| word.eq_ignore_ascii_case(text))?;
            Some(Self { word: Word::Known(word), class: *class })
        })
    }

    fn other(text: &str) -> Self {
        Self { word: Word::Other(text.into()), class: SignalClass::Say }
    }

    /// Returns the signal of what the person at the command line says, which no member sends.
    pub fn relay() -> Self {
        Self::other(Self::RELAY)
    }

    /// Returns the word as it is stored and shown.
    pub fn as_str(&self) -> &str {
        match &self.word {
            Word::Known(word) => word,
            Word::Other(word) => word,
        }
    }

    pub fn class(&self) -> SignalClass {
        self.class
    }

    /// Returns how much a message with this signal matters if its sender does not say.
    pub fn priority(&self) -> Priority {
        if self.class == SignalClass::Alarm { Priority::High } else { Priority::Normal }
    }
}

impl SignalClass {
    /// Says whether a message of this class is nothing without the message that it replies to.
    pub fn needs_reply_to(self) -> bool {
        matches!(self, Self::Answer | Self::Receipt)
    }

    /// Says whether its sender wants an answer.
    pub fn wants_answer(self) -> bool {
        matches!(self, Self::Ask | Self::Work)
    }

    /// Says whether a reply of this class answers a message that wants an answer. What somebody asks back, and what they report on the
    /// way, does not.
    pub fn answers(self) -> bool {
        !matches!(self, Self::Ask | Self::Work | Self::Receipt | Self::Progress)
    }

    /// Says whether the person at the command line sends messages of this class, to one member or to a group: those that need nothing
    /// of a member, such as an inbox, a claim or a part in a disagreement. Work for a group is a request, and those are of members.
    pub fn is_for_person(self, to_one: bool) -> bool {
        match self {
            Self::Say | Self::Ask | Self::Answer | Self::Alarm | Self::Decision => true,
            Self::Work => to_one,
            Self::Receipt | Self::Progress | Self::Position | Self::HandOver => false,
        }
    }

    /// Says whether a message of this class may be worth a turn of an idle agent's model.
    pub fn wakes(self) -> bool {
        self != Self::Progress
    }
}

/// Returns all words that members send.
fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().flat_map(|(_, words)| *words).copied()
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word in the log that this version does not know says something.
impl From<Cow<'_, str>> for Signal {
    fn from(text: Cow<'_, str>) -> Self {
        let of_bus = || {
            let all = [Self::PEER_JOINED, Self::PEER_LEFT, Self::MASTER_PREEMPTED];
            all.into_iter().find(|signal| signal.as_str() == text)
        };
        Self::known(&text).or_else(of_bus).unwrap_or_else(|| Self::other(&text))
    }
}

impl From<Signal> for String {
    fn from(signal: Signal) -> Self {
        signal.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each word is a signal of the class, in any case, and is stored as it stands here.
    #[track_caller]
    fn check(class: SignalClass, words: &str) {
        for word in words.split_whitespace() {
            for written in [word.to_owned(), word.to_uppercase(), word.to_lowercase()] {
                let signal = Signal::parse(&written).unwrap();
                assert_eq!((signal.as_str(), signal.class()), (word, class), "{written}");
                let stored = serde_json::to_value(&signal).unwrap();
                assert_eq!(stored, word);
                assert_eq!(serde_json::from_value::<Signal>(stored).unwrap(), signal);
            }
        }
    }

    #[test]
    fn a_person_is_told_only_words_that_a_person_sends() {
        let error = Signal::parse_of_person("shft").unwrap_err();
        let SignalError::Unknown { nearest, words, .. } = error else { panic!("{error}") };
        assert!(nearest.is_empty(), "{nearest:?}");
        assert!(words.contains(&"question") && !words.contains(&"shift"), "{words:?}");
    }

    #[test]
    fn every_word_of_the_vocabularies_has_its_class() {
        check(SignalClass::Say, "msg sense share_finding propose_approach SpecStatusChanged");
        check(
            SignalClass::Ask,
            "ReviewRequested question query proposal request_review request_guidance \
             request_clarification request_approval request_decision",
        );
        check(
            SignalClass::Answer,
            "ReviewCompleted answer artifact provide_review provide_guidance \
             provide_clarification approve reject task_completed",
        );
        check(SignalClass::Work, "TaskAssigned task delegate_task");
        check(SignalClass::Receipt, "Acknowledgment ack");
        check(SignalClass::Progress, "StatusUpdate pulse report_progress");
        check(SignalClass::Alarm, "alert report_bug report_blocker");
        check(SignalClass::Position, "challenge_approach disagree_with agree_with");
        check(SignalClass::Decision, "announce_decision");
        check(SignalClass::HandOver, "handoff shift");
        check(SignalClass::Say, "x-standup x-a.b_c-1");
    }

    #[test]
    fn an_unknown_word_gets_the_list_with_the_nearest_first() {
        let error = Signal::parse("request_reviw").unwrap_err();
        let SignalError::Unknown { words: listed, .. } = &error else { panic!("{error}") };
        assert_eq!(listed[0], "request_review");
        assert_eq!(listed.len(), words().count());
        let text = error.to_string();
        assert!(
            text.starts_with(
                "\"request_reviw\" is not a signal: did you mean `request_review`? The signals \
                 are request_review, msg, sense, "
            ),
            "{text}"
        );
        let text = Signal::parse("zebra").unwrap_err().to_string();
        assert!(text.starts_with("\"zebra\" is not a signal. The signals are msg, "), "{text}");
        let text = Signal::parse("").unwrap_err().to_string();
        assert!(text.starts_with("\"\" is not a signal. "), "{text}");
        let endless = Signal::parse(&"é".repeat(1_000_000)).unwrap_err().to_string();
        assert!(endless.len() < 2_000);
    }

    #[test]
    fn the_words_of_the_bus_read_back() {
        for signal in [Signal::PEER_JOINED, Signal::PEER_LEFT, Signal::MASTER_PREEMPTED] {
            let stored = serde_json::to_value(&signal).unwrap();
            assert_eq!(serde_json::from_value::<Signal>(stored).unwrap(), signal);
            assert_eq!(signal.is_presence(), signal != Signal::MASTER_PREEMPTED);
        }
        assert!(!Signal::parse("x-PeerLeft").unwrap().is_presence());
    }

    #[test]
    fn reserved_words_are_refused_in_any_case() {
        let refused = |word: &str| Signal::parse(word).unwrap_err();
        assert_eq!(refused("Relay"), SignalError::ReservedForHuman("relay"));
        for word in ["MasterPreempted", "PeerJoined", "PeerLeft"] {
            assert_eq!(refused(&word.to_lowercase()), SignalError::ReservedForBus(word));
            assert!(Signal::parse_of_person(word).is_err(), "{word}");
        }
        assert_eq!(Signal::parse_of_person("Relay"), Ok(Signal::relay()));
    }

    #[test]
    fn words_of_the_team_are_plain() {
        assert_eq!(Signal::parse("X-Standup").unwrap().as_str(), "x-standup");
        for word in ["x-", "x-a b", "x-é", "x-a\n", &format!("x-{}", "a".repeat(63))] {
            assert!(matches!(Signal::parse(word), Err(SignalError::Malformed(_))), "{word}");
        }
    }

    #[test]
    fn a_word_of_a_later_version_in_the_log_says_something() {
        let read: Signal = serde_json::from_str("\"from_the_future\"").unwrap();
        assert_eq!((read.as_str(), read.class()), ("from_the_future", SignalClass::Say));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"from_the_future\"");
    }
}
