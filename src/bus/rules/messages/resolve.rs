//! Whom an address means: the one member that it names, or all that a group has now.
//!
//! A group never means its sender. A message leaves out members that do not respond, as a broadcast does, unless nobody else is meant.

use super::addressing::{known_reader, recipient};
use crate::bus::event::{Event, Followed};
use crate::bus::rules::elsewhere::{self, Meant};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::nobody_fits::NobodyFits;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Address, Audience, Group};
use crate::domain::name::Name;

/// The recipients of a message, and how its readers are shown them.
pub(in crate::bus::rules) struct Recipients {
    pub(in crate::bus::rules) audience: Audience,
    /// At least one, unless it is for the user or for another project.
    pub(in crate::bus::rules) to: Vec<Name>,
}

/// Finds the members to whom `me` sends a message: here, or in another project.
pub(super) fn resolve_anywhere(
    writer: &Writer<'_>,
    me: &Session,
    text: &str,
) -> Result<Recipients, Refusal> {
    let Address::Elsewhere { tag, rest } = Address::parse(text)? else {
        return resolve(writer, me, text);
    };
    match elsewhere::find(writer.state, &tag, &rest)? {
        Meant::Here => resolve(writer, me, &rest),
        // It waits in the queue for a courier.
        Meant::There(address) => {
            Ok(Recipients { audience: Audience::Elsewhere(Box::new(address)), to: Vec::new() })
        }
    }
}

/// Finds the members to whom `me` sends.
pub(in crate::bus::rules) fn resolve(
    writer: &Writer<'_>,
    me: &Session,
    text: &str,
) -> Result<Recipients, Refusal> {
    let state = writer.state;
    match Address::parse(text)? {
        Address::Member(_) | Address::Session(_) => {
            let name = recipient(state, &me.name, text.trim())?.clone();
            Ok(Recipients { audience: Audience::One(name.clone()), to: vec![name] })
        }
        Address::All => {
            let everyone = writer.everyone_but(&me.name);
            if everyone.is_empty() {
                return Err(Refusal::NobodyElse);
            }
            Ok(Recipients { audience: Audience::All, to: everyone })
        }
        // It waits in the queue for whoever speaks with the user, even if somebody does: so it passes to the next one.
        Address::Group(Group::Human) => {
            Ok(Recipients { audience: Audience::Group(Group::Human), to: Vec::new() })
        }
        Address::Group(group) => of_group(state, me, group),
        Address::Elsewhere { tag, .. } => Err(Refusal::OtherProject { tag }),
    }
}

/// Finds the members to whom the person at the command line writes. Whatever is no group is one member, or nobody.
pub(super) fn resolve_for_human(writer: &Writer<'_>, text: &str) -> Result<Recipients, Refusal> {
    let state = writer.state;
    let names = |members: Vec<&Session>| members.iter().map(|one| one.name.clone()).collect();
    let (audience, to): (_, Vec<Name>) = match Address::parse(text)? {
        Address::Elsewhere { tag, .. } => return Err(Refusal::PersonElsewhere { tag }),
        Address::All => (Audience::All, names(state.readers())),
        Address::Group(group) if group != Group::Human => {
            let to: Vec<Name> = names(state.in_group(&group));
            if to.is_empty() {
                return Err(Refusal::NobodyFits(Box::new(NobodyFits::of(state, &group))));
            }
            (Audience::Group(group), to)
        }
        _ => {
            let name = known_reader(state, text.trim().trim_start_matches('@'))?.clone();
            (Audience::One(name.clone()), vec![name])
        }
    };
    if to.is_empty() {
        return Err(Refusal::NobodyElse);
    }
    Ok(Recipients { audience, to })
}

fn of_group(state: &State, me: &Session, group: Group) -> Result<Recipients, Refusal> {
    let members = state.in_group(&group);
    if let [only] = members.as_slice()
        && only.id == me.id
        && matches!(group, Group::Word(_))
    {
        return Err(Refusal::ToYourself { name: me.name.clone() });
    }
    let others = members.into_iter().filter(|member| member.id != me.id);
    let to: Vec<_> = others.map(|member| member.name.clone()).collect();
    if to.is_empty() {
        return Err(Refusal::NobodyFits(Box::new(NobodyFits::of(state, &group))));
    }
    Ok(Recipients { audience: Audience::Group(group), to })
}

/// Leaves out the members that do not respond, which would read too late; unless that are all of them.
pub(super) fn responsive(state: &State, all: Vec<Name>) -> Vec<Name> {
    let responds = |name: &&Name| !state.live(name).is_some_and(|live| live.hung);
    let responding: Vec<_> = all.iter().filter(responds).cloned().collect();
    if responding.is_empty() { all } else { responding }
}

/// Notes that a session follows a topic from now on, unless it does already.
pub(in crate::bus::rules) fn follow(
    writer: &mut Writer<'_>,
    me: &Session,
    topic: &Label,
) -> Result<(), Refusal> {
    if me.follows(topic) {
        return Ok(());
    }
    if me.traits.topics.len() >= limits::FOLLOWED_TOPICS {
        return Err(Refusal::TooManyTopics { limit: limits::FOLLOWED_TOPICS });
    }
    let (session, topic) = (me.id, topic.clone());
    writer.push(Event::TopicFollowed(Followed { session, topic }));
    Ok(())
}

/// A session follows a topic because it reads it.
pub(in crate::bus::rules) fn follow_topic(
    writer: &mut Writer<'_>,
    me: SessionId,
    topic: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    follow(writer, me, topic)
}

/// Notes that a session no longer follows a topic.
pub(in crate::bus::rules) fn leave_topic(
    writer: &mut Writer<'_>,
    me: SessionId,
    topic: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    if !me.follows(topic) {
        return Err(Refusal::NotFollowed { topic: topic.clone() });
    }
    let (session, topic) = (me.id, topic.clone());
    writer.push(Event::TopicLeft(Followed { session, topic }));
    Ok(())
}
