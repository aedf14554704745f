//! The paths of a question as the user or orchestrator sees them: as the agent writes them, and where they really lead.

use super::look_at_paths::PathsFound;
use crate::acp::Touched;
use crate::domain::limits;
use crate::domain::permission::{Policy, Verdict, judge};
use crate::domain::text::redact::Hidden;
use crate::team::agent::context::AgentContext;

/// How much of a path is shown if it leads elsewhere: so little that its target is surely seen, too.
const NAMED_CHARS: usize = 100;

/// The note on an edit that is asked about wherever it is.
const TOO_MANY_LINKS: &str = "… asked because a guarded directory has too many entries to check \
    every link in it";

/// Returns the paths of a question as they are shown: `path -> place` if a path leads elsewhere, and `path -> ?` if its target is
/// unknown. Those that cause the question come first; those above [`limits::QUESTION_PATHS`] are only counted. A word that only may
/// be a path is shown if it causes the question, or if no paths are named.
pub(crate) fn shown_paths(
    agent: &AgentContext,
    kind: &str,
    touched: &Touched,
    found: Option<&PathsFound>,
) -> Vec<String> {
    let paths: Vec<_> = touched.all().collect();
    let named = touched.paths().len();
    let place_of = |at: usize| found.and_then(|found| found.places.get(at)?.clone());
    let is_free = |at: &usize| {
        let verdict =
            found.map(|found| judge(Policy::Rules, kind, &[place_of(*at)], &found.ground));
        verdict == Some(Verdict::Allow)
    };
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.retain(|at| *at < named || named == 0 || !is_free(at));
    order.sort_by_cached_key(is_free);
    let mut shown: Vec<_> = order
        .iter()
        .take(limits::QUESTION_PATHS)
        .map(|at| shown_path(agent, paths[*at], *at, found))
        .collect();
    let more = order.len().saturating_sub(limits::QUESTION_PATHS);
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    // No path looks like this note: one that begins with `…` is quoted.
    if kind == "edit" && found.is_some_and(|found| !found.ground.knows_all_guarded) {
        shown.push(TOO_MANY_LINKS.to_owned());
    }
    shown
}

fn shown_path(agent: &AgentContext, path: &str, at: usize, found: Option<&PathsFound>) -> String {
    let leads = found.and_then(|found| found.leads.get(at)?.as_deref());
    let named = agent.secrets.hidden(path);
    let as_named = agent.identity.cwd.join(path);
    let Some(place) = leads else {
        return format!("{} -> ?", quoted(&in_short(&named, NAMED_CHARS)));
    };
    if as_named == place {
        return quoted(&in_short(&named, limits::QUESTION_CHARS));
    }
    let inner = place.strip_prefix(&agent.identity.root).unwrap_or(place);
    let inner = match inner.to_string_lossy() {
        here if here.is_empty() => ".".into(),
        inner => inner,
    };
    let place = in_short(&agent.secrets.hidden(inner), limits::QUESTION_CHARS);
    format!("{} -> {}", quoted(&in_short(&named, NAMED_CHARS)), quoted(&place))
}

/// Returns the beginning and the end of a long text.
fn in_short(text: &Hidden, most: usize) -> String {
    let (head, is_cut) = text.head(most);
    if !is_cut {
        return head.to_owned();
    }
    let (head, _) = text.head(most / 2);
    let (tail, _) = text.tail(most / 2);
    format!("{head}…{tail}")
}

/// Returns a path in quotes if it could be taken for two, or for more than a path.
fn quoted(path: &str) -> String {
    let is_plain = !path.is_empty()
        && !path.contains("->")
        && !path.starts_with(['"', '…', ' '])
        && !path.ends_with(' ')
        && !path.contains(char::is_control);
    if is_plain { path.to_owned() } else { serde_json::Value::from(path).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::redact::Secrets;

    #[test]
    fn a_path_that_could_be_taken_for_more_is_quoted() {
        for plain in ["a", "src/main rs", "/p/ä"] {
            assert_eq!(quoted(plain), plain);
        }
        for (path, expected) in [
            ("a -> b", r#""a -> b""#),
            ("", r#""""#),
            ("a\nb", r#""a\nb""#),
            ("\"a\"", r#""\"a\"""#),
            ("… and 3 more", r#""… and 3 more""#),
        ] {
            assert_eq!(quoted(path), expected);
        }
    }

    #[test]
    fn both_ends_of_a_long_path_are_shown() {
        let path = Secrets::default().hidden(format!("src/{}/hooks", "x/".repeat(200)));
        let short = in_short(&path, 20);
        assert!(short.starts_with("src/x/") && short.ends_with("x//hooks"), "{short}");
        assert_eq!(short.chars().count(), 21);
        assert_eq!(in_short(&Secrets::default().hidden("src"), 3), "src");
    }
}
