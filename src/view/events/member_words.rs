//! Members in words: who comes and goes, and how they are.

use super::Topic;
use super::said::Said;
use super::speaker::{Speaker, after_colon, asker, quote};
use crate::bus::event::Event;
use crate::domain::access_key::scopes_in_words;
use crate::domain::ids::SessionId;
use crate::domain::member::{MemberKind, Tools};
use crate::view::by_whom;

/// Returns what an event says about members.
pub(super) fn said(event: &Event, speaker: &Speaker<'_>) -> Option<Said> {
    let of = |session: SessionId, words: &str| {
        let name = speaker.named(session);
        let said = Said::new(Topic::Member, format!("{name} {words}"));
        Some(said.about(speaker.name(session)))
    };
    match event {
        Event::MemberStarting(starting) => {
            let words = format!("{} is starting ({})", starting.name, starting.profile);
            Some(Said::new(Topic::Member, words).about([starting.name.to_string()]))
        }
        Event::MemberJoined(joined) => {
            let words = match joined.kind {
                MemberKind::Agent => format!("{} is ready", joined.name),
                kind => format!("{} joined as {}", joined.name, kind.as_str()),
            };
            Some(Said::new(Topic::Member, words).about([joined.name.to_string()]))
        }
        Event::MemberTools { session, tools: Tools::Missing } => {
            of(*session, "does not have the bridge's tools")
        }
        Event::MemberModel { session, model } => {
            of(*session, &format!("uses the model {}", quote(model)))
        }
        Event::TopicFollowed(followed) => {
            of(followed.session, &format!("follows #{}", followed.topic))
        }
        Event::TopicLeft(left) => of(left.session, &format!("no longer follows #{}", left.topic)),
        Event::LaneClaimed(claimed) => {
            of(claimed.session, &format!("owns the lane @{}", claimed.lane))
        }
        Event::LaneReleased(released) => {
            of(released.session, &format!("released the lane @{}", released.lane))
        }
        Event::LeadTaken(taken) => of(taken.session, "leads the team"),
        Event::MemberLeft { session, departure, detail, .. } => {
            let (word, detail) = departure.with_detail(detail.as_deref());
            of(*session, &format!("left ({word}){}", after_colon(detail)))
        }
        Event::AgentStalled { session } => of(*session, "shows no sign of life in its turn"),
        Event::AgentStirred { session } => of(*session, "shows signs of life again"),
        Event::AgentStuck { session, .. } => of(*session, "does not end a cancelled turn"),
        Event::AgentFree { session, .. } => of(*session, "has ended the cancelled turn"),
        Event::AgentCrashed { session, detail } => {
            let why = after_colon(Some(detail));
            of(*session, &format!("crashed and is started again{why}"))
        }
        Event::MemberHung { session } => of(*session, "does not respond"),
        Event::MemberBack { session } => of(*session, "responds again"),
        Event::StopAsked { session, by, kill, human } => {
            let by = asker(by, *human);
            let how = if *kill { "kills" } else { "stops" };
            let words = format!("{} {how} {}", by_whom(&by), speaker.named(*session));
            let members = [by].into_iter().chain(speaker.name(*session));
            Some(Said::new(Topic::Member, words).about(members))
        }
        Event::KeyMade { id, name, scopes, .. } => {
            let scopes = scopes_in_words(scopes);
            let words = format!("the user made the key {id} for {name} ({scopes})");
            Some(
                Said::new(Topic::Member, words)
                    .about([name.to_string()])
                    .with_ids([id.to_string()]),
            )
        }
        Event::KeyRevoked { id, .. } => {
            let said = Said::new(Topic::Member, format!("the user revoked the key {id}"));
            Some(said.with_ids([id.to_string()]))
        }
        _ => None,
    }
}
