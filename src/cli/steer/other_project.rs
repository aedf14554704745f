//! Another project of the user, by its tag: a message of the person to one of its members is written there, on its own bus.

use std::path::{Path, PathBuf};

use super::Steering;
use crate::cli::commands::look::open_project;
use crate::cli::{Failure, load_config, with_hint};
use crate::config::ProjectTag;
use crate::domain::ids::MessageId;
use crate::domain::member::Label;
use crate::domain::messaging::Address;
use crate::domain::text::suggest::nearest;

/// A message to a member of another project, as it is written there.
pub(crate) struct LetterThere {
    pub(crate) directory: PathBuf,
    pub(crate) tag: Label,
    pub(crate) to: String,
    pub(crate) reply_to: Option<MessageId>,
}

/// Finds where a message to another project is written; none for any other address, of which the bus says what is wrong. What came from
/// there is answered by the id that it has there.
pub(crate) fn letter_there(
    project: Option<&Path>,
    to: &str,
    reply_to: Option<MessageId>,
) -> Result<Option<LetterThere>, Failure> {
    let Ok(Address::Elsewhere { tag, rest }) = Address::parse(to) else { return Ok(None) };
    let directory = directory_of(&tag)?;
    let there = reply_to.as_ref().and_then(|id| id_there(project, &tag, id));
    Ok(Some(LetterThere { directory, tag, to: rest, reply_to: there.or(reply_to) }))
}

/// Returns the id that a message of this project has in the one with this tag, if it came from there.
fn id_there(project: Option<&Path>, tag: &Label, id: &MessageId) -> Option<MessageId> {
    let bus = open_project(project, None).ok()?.bus?;
    let message = bus.state().message(id)?;
    let origin = message.more.as_ref()?.origin.as_ref();
    Some(origin.filter(|origin| origin.tag == *tag)?.id.clone())
}

/// Returns the directory that the user's own configuration has for a tag. An agent does not learn which projects there are.
fn directory_of(tag: &Label) -> Result<PathBuf, Failure> {
    Steering::refuse_agents()?;
    let config = load_config::load_without_project()?;
    let listed = config.projects();
    let Some(project) = listed.iter().find(|project| project.tag == *tag) else {
        return Err(unknown(tag, listed));
    };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let directory = project.directory(home.as_deref());
    directory.ok_or_else(|| {
        let what = format!("the directory of `{tag}` is in your home directory, which is unknown");
        with_hint(what, "set HOME, or name the directory with --project")
    })
}

/// Says that no project has a tag, and which tags there are, those that are like it first.
fn unknown(tag: &Label, listed: &[ProjectTag]) -> Failure {
    let near = nearest(tag.as_str(), listed.iter().map(|project| project.tag.as_str()));
    let mut tags: Vec<_> = listed.iter().map(|project| project.tag.as_str()).collect();
    tags.sort_by_key(|tag| near.iter().position(|near| near == tag).unwrap_or(near.len()));
    let tags: Vec<_> = tags.iter().map(|tag| format!("`{tag}:`")).collect();
    let hint = if tags.is_empty() {
        "list your projects under [projects] of your own configuration, or name one with --project"
            .to_owned()
    } else {
        format!("there are {}", tags.join(", "))
    };
    with_hint(format!("no project of yours has the tag `{tag}`"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::words_and_hint;

    #[test]
    fn an_unknown_tag_is_refused_with_those_there_are_and_the_nearest_first() {
        let label = |text: &str| Label::parse(text).unwrap();
        let listed = ["po", "wiki", "web"].map(|tag| ProjectTag::new(label(tag), "/p".to_owned()));
        let said = |listed: &[ProjectTag]| words_and_hint(&*unknown(&label("wep"), listed));
        let (what, hint) = said(&listed);
        assert_eq!(what, "no project of yours has the tag `wep`");
        assert_eq!(hint.as_deref(), Some("there are `web:`, `po:`, `wiki:`"));
        assert!(said(&[]).1.unwrap().contains("under [projects]"));
    }
}
