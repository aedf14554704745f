//! Copies of a message for those whom its text mentions.

use std::mem::take;

use super::addressing::known_reader;
use super::resolve::responsive;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::Session;
use crate::domain::limits;
use crate::domain::member::{Label, SessionNumber};
use crate::domain::messaging::Group;
use crate::domain::name::Name;

/// Adds those whom the words of a message mention to its recipients. A word is a member, else a group; a
/// number is the member whose session has it. Words that mean nobody are text
/// like other words, and whose inbox is full gets no copy.
pub(super) fn add_copies(
    writer: &Writer<'_>,
    me: &Session,
    post: &mut Post,
) -> Result<(), Refusal> {
    let Some(more) = &mut post.more else {
        return Ok(());
    };
    let (words, numbers) = (take(&mut more.mentions), take(&mut more.mentioned_sessions));
    let count = words.len() + numbers.len();
    if count > limits::MENTIONS {
        return Err(Refusal::TooManyMentions { count });
    }
    let of_session = |number: &SessionNumber| known_reader(writer.state, &number.to_string()).ok();
    let numbered = numbers.iter().filter_map(of_session).cloned();
    let mut copies: Vec<Name> = Vec::new();
    for name in words.iter().flat_map(|word| meant(writer, word)).chain(numbered) {
        if name != me.name && !post.to.contains(&name) && !copies.contains(&name) {
            copies.push(name);
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
    match known_reader(writer.state, word.as_str()) {
        Ok(name) => return vec![name.clone()],
        // It reads nothing, and the word means nobody else.
        Err(Refusal::Placement(_)) => return Vec::new(),
        Err(_) => {}
    }
    let Ok(word) = Label::parse(word.as_str()) else {
        return Vec::new();
    };
    let members = writer.state.in_group(&Group::Word(word)).into_iter();
    responsive(writer.state, members.map(|member| member.name.clone()).collect())
}
