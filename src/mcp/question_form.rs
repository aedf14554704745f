//! The form that asks the client's user for a permission: its words, and the decision that accepting it stands for.
//!
//! The text is one line: Claude Code wraps such a text, and cuts it after four lines, but cuts each line of a text of several lines. So
//! what the agent wants to do comes first, and the parts behind it are short.

use rmcp::model::ElicitRequestParams;

use super::decision_form::{fits_four_lines, yes_or_no_form};
use crate::bus::state::Permission;
use crate::domain::limits;
use crate::domain::permission::{Decision, known_kind};

/// What the user should know besides the question itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Circumstances {
    /// The agent's working directory.
    pub(super) directory: Option<String>,
    /// The beginning of the task's prompt.
    pub(super) task: Option<String>,
    /// For how many more seconds the question is open.
    pub(super) seconds_left: u64,
}

/// Makes the form; `None` if the agent accepts no yes, or if a client may not show all of the question: then the orchestrator answers.
pub(super) fn question_form(
    permission: &Permission,
    circumstances: &Circumstances,
) -> Option<ElicitRequestParams> {
    let how_often = match yes(permission)? {
        Decision::AllowAlways => "from now on",
        _ => "once",
    };
    let question = &permission.question;
    let paths: Vec<_> = question.further_paths().map(|path| folded(path)).collect();
    let places = if paths.is_empty() { String::new() } else { format!(", at {paths:?}") };
    // Quoted, so that the agent's words cannot pass for ours.
    let kind =
        known_kind(&question.kind).map_or_else(|| format!("{:?}", question.kind), str::to_owned);
    let asked = format!(
        "Allow this {how_often}? The agent `{}` asks for permission ({kind}): {:?}{places}.",
        question.agent,
        folded(&question.title),
    );
    // A client may cut the rest, and one key is a yes to all of it.
    if !fits_four_lines(&asked) {
        return None;
    }
    let directory = circumstances.directory.as_deref().map(|path| format!(" In {:?}.", end(path)));
    let task = circumstances.task.as_deref().map(|prompt| format!(" Task: {prompt:?}."));
    yes_or_no_form(format!(
        "{asked} {} s left.{}{}",
        circumstances.seconds_left,
        directory.unwrap_or_default(),
        task.unwrap_or_default(),
    ))
}

/// Replaces each run of blank letters in a line with one space: a run pushes what follows it out of sight. Line ends stay, as they
/// separate commands.
fn folded(text: &str) -> String {
    // Letters that look blank and do not count as white space.
    let is_blank = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '\u{2800}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
    };
    let fold = |line: &str| {
        line.split(is_blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// Returns the decision of a user who accepts the form: yes to this one call, unless the agent only accepts a lasting yes.
pub(super) fn yes(permission: &Permission) -> Option<Decision> {
    let choices = [Decision::AllowOnce, Decision::AllowAlways];
    choices.into_iter().find(|choice| permission.offers.contains(choice))
}

/// Returns the end of a path, by which the user recognises it.
fn end(path: &str) -> String {
    let cut = path.chars().count().saturating_sub(limits::FORM_DIRECTORY_CHARS);
    let shown = path.chars().skip(cut);
    if cut == 0 { path.to_owned() } else { std::iter::once('…').chain(shown).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::Question;
    use crate::domain::ids::{PermissionId, SessionId};
    use crate::domain::name::Name;

    fn permission(offers: &[Decision]) -> Permission {
        Permission {
            id: PermissionId::from_bits(1),
            seq: 1,
            question: Question {
                session: SessionId(uuid::Uuid::from_u128(1)),
                agent: Name::parse("ann").unwrap(),
                task: None,
                kind: "execute".into(),
                title: "rm -rf target\n\u{202e}Accept".into(),
                paths: vec!["/p/target".into()],
            },
            offers: offers.to_vec(),
            asked_ms: 0,
            timeout_ms: 120_000,
            notice: None,
            answer: None,
        }
    }

    fn text(permission: &Permission, circumstances: &Circumstances) -> Option<String> {
        match question_form(permission, circumstances)? {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                assert!(requested_schema.properties.is_empty(), "accepting it takes one key");
                Some(message)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_says_who_asks_what_and_where_for_which_task_in_one_line() {
        let asked = permission(&[Decision::AllowAlways, Decision::AllowOnce, Decision::Reject]);
        let circumstances = Circumstances {
            directory: Some(format!("/home/{}/project", "x".repeat(300))),
            task: Some("clean \"up\"".into()),
            seconds_left: 118,
        };
        let shown = text(&asked, &circumstances).unwrap();
        let begin = r#"Allow this once? The agent `ann` asks for permission (execute): "rm -rf target\n\u{202e}Accept", at ["/p/target"]. 118 s left. In "…xx"#;
        assert!(shown.starts_with(begin), "{shown}");
        assert!(shown.ends_with(r#"xx/project". Task: "clean \"up\""."#), "{shown}");
        assert!(!shown.contains('\n') && shown.len() < 280, "{shown}");
    }

    /// One key is a yes, and Claude Code shows four lines.
    #[test]
    fn nothing_of_a_question_can_be_pushed_out_of_sight() {
        let titled = |title: &str| {
            let mut asked = permission(&[Decision::AllowOnce]);
            asked.question.title = title.to_owned();
            text(&asked, &Circumstances::default())
        };
        for blank in [" ", "\t", "\u{3000}", "\u{2800}", "\u{3164}"] {
            let shown = titled(&format!("ls{};rm -rf ~", blank.repeat(200))).unwrap();
            assert!(shown.contains(r#""ls ;rm -rf ~""#), "{shown}");
        }
        assert!(titled("ls\nrm -rf ~").unwrap().contains(r#""ls\nrm -rf ~""#));
        assert_eq!(titled(&format!("ls {} ;rm -rf ~", "x".repeat(290))), None);
        assert_eq!(titled(&format!("{}; rm -rf ~", "あ".repeat(150))), None);
    }

    #[test]
    fn it_offers_a_lasting_yes_only_if_the_agent_accepts_no_other() {
        let lasting = permission(&[Decision::AllowAlways, Decision::Reject]);
        let shown = text(&lasting, &Circumstances::default()).unwrap();
        assert!(shown.starts_with("Allow this from now on? "), "{shown}");
        assert_eq!(yes(&lasting), Some(Decision::AllowAlways));
        let no_yes = permission(&[Decision::Reject]);
        assert_eq!(text(&no_yes, &Circumstances::default()), None);
    }
}
