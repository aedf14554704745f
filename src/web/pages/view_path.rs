//! The views, and the path of each below the base path of the pages.
//!
//! All pages stand at one depth, so that links, forms and streams are relative and no page has to know the base path.

use std::fmt::Write as _;

use crate::view::SpentBy;

/// Something that a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    Team,
    Member(String),
    Conversation,
    Thread(String),
    Sequence,
    Timeline,
    Tasks,
    Task(String),
    Requests,
    Workflows,
    Workflow(String),
    Usage(SpentBy),
    /// The words to search for; empty at first.
    Search(String),
}

impl View {
    /// Returns the path of its page, relative to every other page.
    pub fn path(&self) -> String {
        match self {
            Self::Team => "./".to_owned(),
            Self::Member(name) => format!("member-{}", escaped(name)),
            Self::Conversation => "conversation".to_owned(),
            Self::Thread(id) => format!("thread-{}", escaped(id)),
            Self::Sequence => "sequence".to_owned(),
            Self::Timeline => "timeline".to_owned(),
            Self::Tasks => "tasks".to_owned(),
            Self::Task(id) => format!("task-{}", escaped(id)),
            Self::Requests => "requests".to_owned(),
            Self::Workflows => "workflows".to_owned(),
            Self::Workflow(id) => format!("workflow-{}", escaped(id)),
            Self::Usage(by) => format!("usage?by={}", by_word(*by)),
            Self::Search(words) if words.is_empty() => "search".to_owned(),
            Self::Search(words) => format!("search?q={}", escaped(words)),
        }
    }

    /// Returns the view of a path below the base path, whose query was read before.
    pub fn of(path: &str, query: &[(String, String)]) -> Option<Self> {
        let asked =
            |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let view = match path {
            "" | "./" => Self::Team,
            "conversation" => Self::Conversation,
            "sequence" => Self::Sequence,
            "timeline" => Self::Timeline,
            "tasks" => Self::Tasks,
            "requests" => Self::Requests,
            "workflows" => Self::Workflows,
            "usage" => Self::Usage(match asked("by") {
                None | Some("agent") => SpentBy::Agent,
                Some("profile") => SpentBy::Profile,
                Some("day") => SpentBy::Day,
                Some(_) => return None,
            }),
            "search" => Self::Search(asked("q").unwrap_or_default().to_owned()),
            _ => {
                let (kind, name) = path.split_once('-')?;
                let name = Some(name).filter(|name| !name.contains('/')).and_then(unescaped);
                let name = name.filter(|name| !name.is_empty())?;
                match kind {
                    "member" => Self::Member(name),
                    "thread" => Self::Thread(name),
                    "task" => Self::Task(name),
                    "workflow" => Self::Workflow(name),
                    _ => return None,
                }
            }
        };
        Some(view)
    }
}

fn by_word(by: SpentBy) -> &'static str {
    match by {
        SpentBy::Agent => "agent",
        SpentBy::Profile => "profile",
        SpentBy::Day => "day",
    }
}

/// Escapes all but the letters that stand for themselves in every part of a URL (RFC 3986).
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Undoes escapes of one part of a path; none if they are wrong, or make no text.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_is_found_by_its_path() {
        let views = [
            View::Team,
            View::Member("codex-2".to_owned()),
            View::Conversation,
            View::Thread("msg-1".to_owned()),
            View::Sequence,
            View::Timeline,
            View::Tasks,
            View::Task("task-1".to_owned()),
            View::Requests,
            View::Workflows,
            View::Workflow("wf-1".to_owned()),
        ];
        for view in views {
            assert_eq!(View::of(&view.path(), &[]).as_ref(), Some(&view), "{}", view.path());
        }
        let by = |word: &str| vec![("by".to_owned(), word.to_owned())];
        assert_eq!(View::of("usage", &by("day")), Some(View::Usage(SpentBy::Day)));
        assert_eq!(View::of("usage", &by("moon")), None);
        assert_eq!(View::Search("a b&c/ü".to_owned()).path(), "search?q=a%20b%26c%2F%C3%BC");
    }

    #[test]
    fn a_path_that_is_none_has_no_view() {
        for path in
            ["/", "nothing", "member-", "member", "task-%zz", "task-%ff", "//", "x-y", "a/b"]
        {
            assert_eq!(View::of(path, &[]), None, "{path}");
        }
        assert_eq!(View::of("member-a%2Fb", &[]), Some(View::Member("a/b".to_owned())));
    }
}
