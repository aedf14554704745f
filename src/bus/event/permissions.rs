//! The fields of permission events: the question and its answer.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{PermissionId, SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision, known_kind};
use crate::domain::text::exactly::{exact_words, exactly};

/// The fewest bytes at both ends of a shortened command: by fewer, another path could pass for it.
const SHORTENED: usize = 40;

/// The action for which an agent needs permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub session: SessionId,
    pub agent: Name,
    /// The task in whose turn it asks; none in a wake turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The kind of the tool, in ACP's words.
    pub kind: String,
    /// The description for people, in the agent's words.
    pub title: String,
    /// The paths concerned, as the agent names them, and their targets if those differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl Question {
    /// Says exactly what it is about, with all its paths, for a person who decides or has decided: quoted, so that no word passes for
    /// another part and no line end or hidden letter is missed.
    pub fn exact_words(&self) -> String {
        let title = exactly(&self.title);
        let paths: Vec<_> = self.further_paths().cloned().collect();
        if paths.is_empty() {
            return title;
        }
        format!("{title}, at {}", exact_words(&paths))
    }

    /// Returns the paths that the title does not say: some agents name their command among the arguments that may be places.
    pub fn further_paths(&self) -> impl Iterator<Item = &String> {
        self.paths.iter().filter(|path| !self.title_says(path))
    }

    /// Says whether a path is only the title again. A command is no place, so it may also be quoted, shortened, or without a target.
    fn title_says(&self, path: &str) -> bool {
        if path == self.title {
            return true;
        }
        if self.kind != "execute" {
            return false;
        }
        let named = path.strip_suffix(" -> ?").unwrap_or(path);
        let unquoted = serde_json::from_str::<String>(named);
        let named = unquoted.as_deref().unwrap_or(named);
        // Some agents add what the command is for, in brackets.
        let is_explained =
            self.title.strip_prefix(named).is_some_and(|rest| rest.starts_with(" ("));
        named == self.title || is_explained || is_shortened(named, &self.title)
    }

    /// Returns the kind of the tool: a word of ACP, or quoted.
    pub fn exact_kind(&self) -> String {
        known_kind(&self.kind).map_or_else(|| exactly(&self.kind), str::to_owned)
    }

    /// Says exactly what it is about after the kind of the tool.
    pub fn in_full(&self) -> String {
        format!("{} {}", self.exact_kind(), self.exact_words())
    }
}

/// An agent asks for permission, and waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAsked {
    pub id: PermissionId,
    pub question: Question,
    /// The possible answers.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is rejected.
    pub timeout_ms: u64,
}

/// A permission question is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswered {
    pub id: PermissionId,
    pub decision: Decision,
    /// The source of the answer.
    pub by: Decider,
    /// The orchestrator that answered, or whose user did; none for the person at the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The question, if a policy answered it: no other event has it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The number of questions that this event stands for, if several. `question` is the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Whether a rejection also counts for later questions like this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
}

impl PermissionAnswered {
    /// Returns the decision as it was given.
    pub fn given(&self) -> Decision {
        self.decision.of_stored(self.lasts)
    }
}

/// Says whether a text is the beginning and the end of a longer one, with `…` between them.
fn is_shortened(short: &str, whole: &str) -> bool {
    let Some((head, tail)) = short.split_once('…') else { return false };
    let is_long = head.len() >= SHORTENED && tail.len() >= SHORTENED;
    is_long
        && whole.len() > head.len() + tail.len()
        && whole.starts_with(head)
        && whole.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_its_command_once_and_every_place() {
        let question = |paths: &[&str]| Question {
            session: SessionId(uuid::Uuid::nil()),
            agent: Name::parse("ann").unwrap(),
            task: None,
            kind: "execute".to_owned(),
            title: "git push".to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        };
        assert_eq!(question(&["git push"]).in_full(), "execute \"git push\"");
        assert_eq!(
            question(&["git push", "/p", "git push "]).exact_words(),
            r#""git push", at ["/p", "git push "]"#
        );
    }

    #[test]
    fn a_command_is_said_once_however_it_is_shown_among_the_paths() {
        let further = |kind: &str, title: &str, paths: &[&str]| {
            let question = Question {
                session: SessionId(uuid::Uuid::nil()),
                agent: Name::parse("ann").unwrap(),
                task: None,
                kind: kind.to_owned(),
                title: title.to_owned(),
                paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            };
            question.further_paths().cloned().collect::<Vec<_>>()
        };
        let long = format!("cat {} | tee out", "x".repeat(400));
        let short = format!("{}…{}", &long[..150], &long[long.len() - 150..]);
        let said = [long.as_str(), short.as_str(), &format!("{short} -> ?")];
        assert!(further("execute", &long, &said).is_empty());
        assert!(further("execute", "a\nb", &["\"a\\nb\"", "\"a\\nb\" -> ?"]).is_empty());
        // Where it leads, and a file of which only the title is known, are news.
        let places = ["rm x -> /etc/x", "…x", "other -> ?"];
        assert_eq!(further("execute", "rm x", &places), places);
        assert_eq!(further("edit", "link", &["link", "link -> ?"]), ["link -> ?"]);
    }
}
