//! Copies of a message for those whom its text mentions.

use super::addressing::known_member;
use super::resolve::responsive;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::Session;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::Group;
use crate::domain::name::Name;

/// Adds those whom the words of a message mention to its recipients. A word is a member, else a group. Words that mean nobody are text
/// like other words, and whose inbox is full gets no copy.
pub(super) fn add_copies(
    writer: &Writer<'_>,
    me: &Session,
    post: &mut Post,
) -> Result<(), Refusal> {
    let Some(words) = post.more.as_ref().map(|more| more.mentions.clone()) else {
        return Ok(());
    };
    if words.len() > limits::MENTIONS {
        return Err(Refusal::TooManyMentions { count: words.len() });
    }
    let mut copies: Vec<Name> = Vec::new();
    for word in words {
        for name in meant(writer, &word) {
            if name != me.name && !post.to.contains(&name) && !copies.contains(&name) {
                copies.push(name);
            }
        }
    }
    let copies = writer.with_room(copies);
    post.to.extend(copies.iter().cloned());
    if let Some(more) = &mut post.more {
        more.mentions = copies;
    }
    post.more.take_if(|more| more.is_empty());
    Ok(())
}

fn meant(writer: &Writer<'_>, word: &Name) -> Vec<Name> {
    if let Ok(name) = known_member(writer.state, word.as_str()) {
        return vec![name.clone()];
    }
    let Ok(word) = Label::parse(word.as_str()) else {
        return Vec::new();
    };
    let members = writer.state.in_group(&Group::Word(word)).into_iter();
    responsive(writer.state, members.map(|member| member.name.clone()).collect())
}
