//! Why an address reaches nobody: which groups and which projects there are, the nearest first.

use std::fmt;

use crate::bus::state::{GroupWords, State};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::Group;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;

/// A group without a live member, and the words for groups that have some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NobodyFits {
    pub group: Group,
    /// The addresses and names like it, nearest first.
    pub nearest: Vec<String>,
    /// All words, those that are like it first in each list.
    pub words: GroupWords,
}

impl NobodyFits {
    /// Looks what there is instead.
    pub(super) fn of(state: &State, group: &Group) -> Self {
        let mut words = state.group_words();
        let written = group.to_string();
        let bare = written.trim_start_matches(['@', '#']).to_owned();
        let is_it = |word: &String| word.eq_ignore_ascii_case(&written);
        let mut near = nearest(&written, words.all().filter(|word| !is_it(word)));
        // A member's name stands alone in an address.
        near.extend(nearest(&bare, state.names().map(Name::as_str)));
        near.truncate(SUGGESTED);
        for (_, list) in words.lists_mut() {
            let like = nearest(&written, &*list);
            list.sort_by_key(|word| {
                like.iter().position(|near| near == word).unwrap_or(like.len())
            });
        }
        Self { group: group.clone(), nearest: near, words }
    }
}

/// More suggestions would not help.
const SUGGESTED: usize = 3;

impl fmt::Display for NobodyFits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_lead() {
            return write!(formatter, "`{}` reaches nobody: no orchestrator is here", self.group);
        }
        let what = match self.group {
            Group::Word(_) => "has that lane, role or capability",
            Group::Topic(_) => "follows that topic",
            Group::Human => "speaks with the user",
        };
        write!(formatter, "`{}` reaches nobody: no other live member {what}", self.group)?;
        if self.nearest.is_empty() {
            formatter.write_str(".")?;
        } else {
            write!(formatter, ". Did you mean {}?", quoted(&self.nearest))?;
        }
        let mut words = self.words.clone();
        let lists = words.lists_mut().map(|(what, list)| (what, std::mem::take(list)));
        let there: Vec<_> = lists.iter().filter(|(_, list)| !list.is_empty()).collect();
        if there.is_empty() {
            return formatter.write_str(" There are no groups here: list_agents shows the members");
        }
        formatter.write_str(" There are")?;
        for (index, (what, list)) in there.iter().enumerate() {
            let shown = &list[..list.len().min(limits::SHOWN_GROUP_WORDS)];
            let begin = if index == 0 { "" } else { ";" };
            write!(formatter, "{begin} {what} {}", quoted(shown))?;
            if let Some(more @ 1..) = list.len().checked_sub(shown.len()) {
                write!(formatter, " and {more} more")?;
            }
        }
        Ok(())
    }
}

fn quoted(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

impl std::error::Error for NobodyFits {}

/// A tag that no project has, and the tags that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProject {
    pub tag: Label,
    /// Nearest first.
    pub tags: Vec<Label>,
}

impl fmt::Display for UnknownProject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, tags } = self;
        if tags.is_empty() {
            return write!(
                formatter,
                "`{tag}:` would be another project, and none is listed: your user lists them under \
                 [projects] of their own configuration"
            );
        }
        let tags: Vec<_> = tags.iter().map(|tag| format!("`{tag}:`")).collect();
        write!(formatter, "no project has the tag `{tag}`: there are {}", tags.join(", "))
    }
}

impl std::error::Error for UnknownProject {}
