//! The error type of commands, and the form in which all of them report one: what happened, its causes, and a hint.

use std::error::Error;

use super::find_project::ProjectError;

/// Why a command failed, for the person at the terminal.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// A failure, and what the user can do about it.
#[derive(Debug, thiserror::Error)]
#[error("{what}; {hint}")]
struct Hinted {
    what: String,
    hint: String,
}

/// Makes a failure whose hint has a line of its own.
pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Failure {
    Hinted { what: what.into(), hint: hint.into() }.into()
}

/// Returns what happened, and the hint if there is one.
pub(crate) fn words_and_hint(
    failure: &(dyn Error + Send + Sync + 'static),
) -> (String, Option<String>) {
    match failure.downcast_ref::<Hinted>() {
        Some(hinted) => (hinted.what.clone(), Some(hinted.hint.clone())),
        None => match failure.downcast_ref::<ProjectError>() {
            Some(error) => (error.to_string(), error.hint().map(str::to_owned)),
            None => (failure.to_string(), None),
        },
    }
}

/// Returns the lines that report a failure: `error:`, then `cause:` for each cause that they do not yet contain, then `hint:`. No
/// line of a foreign text in it begins like one of these.
pub(super) fn report(failure: &(dyn Error + Send + Sync + 'static)) -> String {
    let (what, hint) = words_and_hint(failure);
    let mut lines = format!("error: {}\n", indented(&what));
    let mut cause = failure.source();
    while let Some(error) = cause {
        let text = indented(&error.to_string());
        if !lines.contains(&text) {
            lines.push_str("cause: ");
            lines.push_str(&text);
            lines.push('\n');
        }
        cause = error.source();
    }
    if let Some(hint) = hint {
        lines.push_str("hint: ");
        lines.push_str(&indented(&hint));
        lines.push('\n');
    }
    lines
}

/// Gives what the reader of arguments says of an error this form: its tips are hints, below the error.
pub(super) fn with_tips_as_hints(said: &str) -> String {
    said.replace("\n\n  tip: ", "\nhint: ").replace("\n  tip: ", "\nhint: ")
}

/// Indents all lines of a text but the first, if they are not.
fn indented(text: &str) -> String {
    let mut lines = text.trim_end().lines();
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        shown.push_str(if line.is_empty() || line.starts_with(' ') { "\n" } else { "\n  " });
        shown.push_str(line);
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot play {name}")]
    struct Outer {
        name: &'static str,
        source: io::Error,
    }

    #[test]
    fn a_report_has_the_failure_its_causes_and_a_hint_each_once() {
        let failure = with_hint("there is no terminal", "run this in one");
        assert_eq!(report(&*failure), "error: there is no terminal\nhint: run this in one\n");
        assert_eq!(failure.to_string(), "there is no terminal; run this in one");

        let failure = Outer { name: "x", source: io::Error::other("no sound") };
        assert_eq!(report(&failure), "error: cannot play x\ncause: no sound\n");
        let said = Outer { name: "x: no sound", source: io::Error::other("no sound") };
        assert_eq!(report(&said), "error: cannot play x: no sound\n");
    }

    #[test]
    fn tips_about_arguments_are_hints() {
        let said = "error: no 'x'\n\n  tip: one\n  tip: two\n\nUsage: program\n";
        let form = "error: no 'x'\nhint: one\nhint: two\n\nUsage: program\n";
        assert_eq!(with_tips_as_hints(said), form);
    }

    #[test]
    fn no_foreign_line_passes_for_one_of_ours() {
        let failure: Failure = "a is wrong\nhint: run this\r\n  b\n".into();
        assert_eq!(report(&*failure), "error: a is wrong\n  hint: run this\n  b\n");
    }
}
