//! Who is meant by a group at this moment, and which words for groups there are.

use std::collections::BTreeSet;

use crate::bus::event::Event;
use crate::bus::state::event_place::At;
use crate::bus::state::{Message, Session, State};
use crate::domain::member::Label;
use crate::domain::messaging::{Audience, Group, is_same_word};

/// The words by which live members can be addressed, each as it is written in an address, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupWords {
    pub lanes: Vec<String>,
    pub roles: Vec<String>,
    pub capabilities: Vec<String>,
    pub topics: Vec<String>,
}

impl GroupWords {
    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        let words = self.lanes.iter().chain(&self.roles);
        words.chain(&self.capabilities).chain(&self.topics)
    }

    /// Returns the lists, each with its name.
    pub fn lists_mut(&mut self) -> [(&'static str, &mut Vec<String>); 4] {
        [
            ("lanes", &mut self.lanes),
            ("roles", &mut self.roles),
            ("capabilities", &mut self.capabilities),
            ("topics", &mut self.topics),
        ]
    }
}

impl Session {
    /// Says whether it follows a topic.
    pub fn follows(&self, topic: &Label) -> bool {
        self.traits.topics.contains(topic)
    }

    /// Says whether it has a word as its lane, a role or a capability.
    pub fn has_word(&self, word: &str) -> bool {
        self.does_lane(word) || self.is_able(word)
    }

    /// Says whether it has a word as a capability.
    pub(in crate::bus) fn is_capable(&self, word: &str) -> bool {
        self.traits.capabilities.iter().any(|label| is_same_word(label.as_str(), word))
    }

    /// Says whether it has a word as a role or a capability.
    pub(in crate::bus) fn is_able(&self, word: &str) -> bool {
        let is_it = |label: &Label| is_same_word(label.as_str(), word);
        self.roles.iter().any(|role| is_same_word(role, word))
            || self.traits.capabilities.iter().any(is_it)
    }
}

impl State {
    /// Applies an event by which a session comes into a group or leaves it.
    pub(in crate::bus::state) fn group_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::TopicFollowed(followed) => self.topic_followed(followed),
            Event::TopicLeft(left) => self.topic_left(left),
            Event::LaneClaimed(claimed) => self.lane_claimed(claimed),
            Event::LaneReleased(released) => self.lane_released(released, at),
            Event::LeadTaken(taken) => self.lead_taken(taken),
            _ => {}
        }
    }

    /// Returns the live members of a group that read messages, those that are here longest first.
    ///
    /// `human` is whoever speaks with the user, and `@lead` the orchestrator that leads. Any other `@word` is the owner of that lane. Where
    /// it has none, it is all members with that role, and where nobody has that, all with that capability.
    pub fn in_group(&self, group: &Group) -> Vec<&Session> {
        let live = self.readers();
        let word = match group {
            Group::Topic(topic) => {
                return live.into_iter().filter(|session| session.follows(topic)).collect();
            }
            Group::Human => return self.speaks_with_user().into_iter().collect(),
            Group::Word(word) => word.as_str(),
        };
        if group.is_lead() {
            return self.lead().into_iter().collect();
        }
        let is_it = |label: &Label| is_same_word(label.as_str(), word);
        if let Some(owner) = self.lane_owner(word).filter(|owner| self.lane_counts(owner, word)) {
            return vec![owner];
        }
        let has_role =
            |session: &&Session| session.roles.iter().any(|role| is_same_word(role, word));
        let of_role: Vec<_> = live.iter().copied().filter(has_role).collect();
        if !of_role.is_empty() {
            return of_role;
        }
        live.into_iter().filter(|session| session.traits.capabilities.iter().any(is_it)).collect()
    }

    /// Says whether the address of a lane means its owner. Who has merely claimed it takes nothing from others who have the word by what
    /// they said when they joined.
    fn lane_counts(&self, owner: &Session, word: &str) -> bool {
        let says = owner.traits.lane.as_ref().is_some_and(|lane| is_same_word(lane.as_str(), word));
        let others = self.live_sessions().into_iter().filter(|other| other.id != owner.id);
        says || !others.into_iter().any(|other| other.is_able(word))
    }

    /// Returns the live members of a message's group that it did not reach, each with the reason: `hung` or `full`, which is their inbox.
    pub fn missed_by(&self, message: &Message) -> Vec<(&Session, &'static str)> {
        let meant = match &message.audience {
            Audience::One(_) | Audience::Elsewhere(_) => Vec::new(),
            Audience::All => self.readers(),
            Audience::Group(group) => self.in_group(group),
        };
        let missed = meant.into_iter().filter(|session| {
            session.since_seq < message.seq && !message.is_visible_to(&session.name)
        });
        let with_reason = |session: &Session| {
            if session.hung {
                return Some("hung");
            }
            (!self.has_room(&session.name, 1)).then_some("full")
        };
        missed.filter_map(|session| Some((session, with_reason(session)?))).collect()
    }

    /// Returns the words by which live members can be addressed.
    pub fn group_words(&self) -> GroupWords {
        let (mut lanes, mut roles) = (BTreeSet::new(), BTreeSet::new());
        let (mut capabilities, mut topics) = (BTreeSet::new(), BTreeSet::new());
        for session in self.sessions.values() {
            let at = |word: &str| format!("@{}", word.to_ascii_lowercase());
            let own = session.lanes.iter().chain(&session.traits.lane);
            lanes.extend(own.map(|lane| at(lane.as_str())));
            // A role of an older team may be a sentence, by which nobody can be addressed.
            let words = session.roles.iter().filter(|role| Label::parse(role).is_ok());
            roles.extend(words.map(|role| at(role)));
            capabilities.extend(session.traits.capabilities.iter().map(|word| at(word.as_str())));
            let followed = session.traits.topics.iter();
            topics.extend(followed.map(|word| format!("#{}", word.as_str().to_ascii_lowercase())));
        }
        let list = |words: BTreeSet<String>| words.into_iter().collect();
        GroupWords {
            lanes: list(lanes),
            roles: list(roles),
            capabilities: list(capabilities),
            topics: list(topics),
        }
    }
}
