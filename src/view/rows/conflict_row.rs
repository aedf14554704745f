//! A disagreement between two members, as windows show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{Conflict, State};
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictStep};
use crate::domain::text::visible_letters::quoted;
use crate::view::{Moment, Texts, by_whom};

/// A disagreement in a thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConflictRow {
    /// The first message of the thread.
    pub thread: String,
    /// What the thread is about, if its first message says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The beginning of the first message of the thread, as one line; missing if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_words: Option<String>,
    /// Who disagrees, and with whom.
    pub parties: Vec<PartyRow>,
    /// negotiation, arbitration or human: who has to speak; agreed, decided or lapsed once it is over.
    pub status: &'static str,
    /// The round of the negotiation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The member that is asked to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// Who agreed or decided; `human` is the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The message that holds from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The beginning of that message, as one line; missing if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_words: Option<String>,
    /// When it began.
    pub since: Moment,
}

/// A party of a disagreement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartyRow {
    pub name: String,
    /// The message that says what it stands for.
    pub position: String,
    /// The beginning of that message, as one line; missing if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl ConflictRow {
    pub fn of(state: &State, conflict: &Conflict, texts: &mut dyn Texts) -> Self {
        let end = conflict.end.as_ref();
        let most = limits::NEED_CHARS / conflict.parties.len().max(1);
        let first = state.message(&conflict.thread);
        let first_words = first.and_then(|first| texts.first_words(first.body, limits::NEED_CHARS));
        let parties = conflict.parties.iter().map(|party| PartyRow {
            name: party.name.to_string(),
            position: party.position.to_string(),
            words: state
                .message(&party.position)
                .and_then(|message| texts.first_words(message.body, most)),
        });
        let decision = end.and_then(|end| end.message.as_ref());
        let (round, arbiter) = match &conflict.step {
            _ if end.is_some() => (None, None),
            ConflictStep::Round(round) => (Some(*round), None),
            ConflictStep::Arbiter(name) => (None, Some(name.to_string())),
            ConflictStep::Human => (None, None),
        };
        Self {
            thread: conflict.thread.to_string(),
            about: conflict.about.clone(),
            first_words,
            parties: parties.collect(),
            status: end.map_or(conflict.step.as_str(), |end| end.how.as_str()),
            round,
            arbiter,
            by: end.filter(|end| end.by != Author::Bridge).map(|end| end.by.to_string()),
            decision: decision.map(ToString::to_string),
            decision_words: decision
                .and_then(|id| state.message(id))
                .and_then(|message| texts.first_words(message.body, limits::NEED_CHARS)),
            since: Moment(conflict.opened_ms),
        }
    }

    /// Returns those that are not over, oldest first, and then the last that are, newest first.
    pub(in crate::view) fn all(
        state: &State,
        most_ended: usize,
        texts: &mut dyn Texts,
    ) -> Vec<Self> {
        let mut row = |conflict| Self::of(state, conflict, texts);
        let mut open: Vec<_> = state.open_conflicts().map(&mut row).collect();
        open.sort_by_key(|row| row.since);
        open.extend(state.last_ended_conflicts().take(most_ended).map(row));
        open
    }

    /// Returns the names of the parties in one phrase.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.parties.iter().map(|party| party.name.as_str()).collect();
        names.join(" and ")
    }

    /// Says whether its parties, or the arbiter, still settle it.
    pub(in crate::view) fn is_among_members(&self) -> bool {
        self.round.is_some() || self.arbiter.is_some()
    }

    /// Says how it stands; once it is decided or agreed, with the first words that hold from then on.
    pub fn words(&self) -> String {
        let stands = match (self.round, &self.arbiter, &self.by) {
            (Some(round), ..) => format!("round {round} of {}", limits::CONFLICT_ROUNDS),
            (None, Some(arbiter), _) => format!("{arbiter} is asked to decide"),
            (None, None, Some(by)) => {
                let with = self.decision.as_ref().map(|id| format!(" with {id}"));
                format!("{} by {}{}", self.status, by_whom(by), with.unwrap_or_default())
            }
            (None, None, None) if self.status == "lapsed" => "lapsed".to_owned(),
            (None, None, None) => "you are asked to decide".to_owned(),
        };
        let about = self.about.as_ref().map(|about| format!(", about {}", quoted(about, 80)));
        let words = self.decision_words.as_ref().map(|words| format!(": {}", quoted(words, 80)));
        format!("{stands}{}{}", about.unwrap_or_default(), words.unwrap_or_default())
    }

    /// Says how it stands, and then what it is about and who stands for what.
    pub fn in_full(&self) -> String {
        let stands = Self { about: None, ..self.clone() }.words();
        format!("{stands}; {}", self.for_user())
    }

    /// Says what the user has to decide, and where it stands.
    pub(in crate::view) fn for_user(&self) -> String {
        let stand = |party: &PartyRow| match &party.words {
            Some(words) => format!("{}: {}", party.name, quoted(words, limits::NEED_CHARS)),
            None => format!("{} for {}", party.name, party.position),
        };
        let positions: Vec<_> = self.parties.iter().map(stand).collect();
        let about: Vec<_> = self.topic().into_iter().map(|about| quoted(about, 80)).collect();
        let about = about.join(": ");
        let about = if about.is_empty() { about } else { format!(" about {about}") };
        format!("they disagree{about}; {}", positions.join("; "))
    }

    /// Returns what it is about: what its thread says of itself, and the first message, unless that is a position.
    pub fn topic(&self) -> impl IntoIterator<Item = &String> {
        let is_position = self.parties.iter().any(|party| party.position == self.thread);
        let first = self.first_words.as_ref().filter(|_| !is_position);
        self.about.iter().chain(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ConflictRow {
        ConflictRow {
            thread: "msg-1".to_owned(),
            about: Some("the log".to_owned()),
            first_words: Some("How many?".to_owned()),
            parties: Vec::new(),
            status: "negotiation",
            round: Some(2),
            arbiter: None,
            by: None,
            decision: None,
            decision_words: None,
            since: Moment(0),
        }
    }

    #[test]
    fn the_user_is_told_what_a_disagreement_is_about_and_who_stands_for_what() {
        let party = |name: &str, position: &str, words: &str| PartyRow {
            name: name.to_owned(),
            position: position.to_owned(),
            words: Some(words.to_owned()),
        };
        let parties = vec![party("ben", "msg-3", "Two."), party("ann", "msg-2", "One.")];
        let mut row = ConflictRow { parties, ..row() };
        assert_eq!(row.in_full(), format!("round 2 of 3; {}", row.for_user()));
        let positions = r#"ben: "Two."; ann: "One.""#;
        assert_eq!(
            row.for_user(),
            format!(r#"they disagree about "the log": "How many?"; {positions}"#)
        );
        row.about = None;
        assert_eq!(row.for_user(), format!(r#"they disagree about "How many?"; {positions}"#));
        // A first message that is a position is not said twice.
        row.thread = "msg-2".to_owned();
        assert_eq!(row.for_user(), format!("they disagree; {positions}"));
    }

    #[test]
    fn a_disagreement_says_how_it_stands_and_what_was_decided() {
        assert_eq!(row().words(), "round 2 of 3, about \"the log\"");
        assert!(row().is_among_members());
        let asks_user = ConflictRow { status: "human", round: None, ..row() };
        assert_eq!(asks_user.words(), "you are asked to decide, about \"the log\"");
        assert!(!asks_user.is_among_members());
        let decided = ConflictRow {
            status: "decided",
            round: None,
            about: None,
            by: Some("human".to_owned()),
            decision: Some("msg-9".to_owned()),
            decision_words: Some("One log.".to_owned()),
            ..row()
        };
        assert_eq!(decided.words(), "decided by the user with msg-9: \"One log.\"");
    }
}
