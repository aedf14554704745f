//! Conditions of a plan, `steps.NAME.FIELD == VALUE`: parsed, and evaluated when the step that they name is over.

use serde_json::Value;

use super::placeholders;
use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::domain::workflow::{Field, Relation, StepReference, StepStatus, When};
use crate::workflow::run::step_output::{StepOutput, as_text};

/// The result of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionResult {
    Holds,
    /// It does not hold, for this reason.
    Not(String),
    /// The output cannot be read now: try again later.
    Later,
    /// It has no answer: its value is missing or not a number.
    Unclear(String),
}

/// Parses a condition. An error says what would be right.
pub(crate) fn parse(text: &str) -> Result<When, String> {
    const FORM: &str = "write `steps.NAME.FIELD == VALUE`, with `status`, `output` or `json.FIELD` and one of == != < <= > >= \
        contains";
    if text.chars().count() > limits::WHEN_CHARS {
        let most = limits::WHEN_CHARS;
        return Err(format!("it is longer than {most} characters"));
    }
    // A path contains no space and no operator, so it ends at the first of these.
    let text = text.trim();
    let end = text.find(|letter: char| letter.is_whitespace() || "=!<>".contains(letter));
    let (path, rest) = text.split_at(end.ok_or(FORM)?);
    let rest = rest.trim_start();
    let relation = Relation::ALL
        .into_iter()
        .find(|relation| rest.starts_with(relation.as_str()))
        .ok_or(FORM)?;
    let source =
        placeholders::source(path).map_err(|hint| hint.unwrap_or_else(|| FORM.to_owned()))?;
    let value = unquoted(rest[relation.as_str().len()..].trim());
    if value.is_empty() && !rest.ends_with(['"', '\'']) {
        return Err(format!("the value is missing: {FORM}"));
    }
    let when = When { source, relation, value };
    check(&when)?;
    Ok(when)
}

fn unquoted(text: &str) -> String {
    let single = || text.strip_prefix('\'')?.strip_suffix('\'');
    match serde_json::from_str::<String>(text) {
        Ok(inner) => inner,
        Err(_) => single().unwrap_or(text).to_owned(),
    }
}

/// Refuses conditions that can never hold.
fn check(when: &When) -> Result<(), String> {
    let needs_number = matches!(
        when.relation,
        Relation::Less | Relation::AtMost | Relation::More | Relation::AtLeast
    );
    if needs_number && number(&when.value).is_none() {
        let (relation, value) = (when.relation.as_str(), &when.value);
        return Err(format!("`{relation}` compares numbers, but `{value}` is not a number"));
    }
    match &when.source.field {
        Field::Files => {
            Err("files cannot be compared: use `status`, `output` or `json.FIELD`".to_owned())
        }
        Field::Status if !matches!(when.relation, Relation::Is | Relation::IsNot) => {
            Err("a status is compared with == or !=".to_owned())
        }
        Field::Status => {
            let words = StepStatus::ENDS.map(StepStatus::as_str);
            if words.contains(&when.value.as_str()) {
                return Ok(());
            }
            let hint = match nearest(&when.value, words).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of {}", words.join(", ")),
            };
            Err(format!("`{}` is not a final step status: {hint}", when.value))
        }
        Field::Output | Field::Json(_) => Ok(()),
    }
}

/// Evaluates a condition on a step that is over.
pub(crate) fn evaluate(when: &When, given: &StepOutput) -> ConditionResult {
    let StepReference { step, field } = &when.source;
    let value = match field {
        Field::Status => Value::from(given.status.as_str()),
        _ if given.status == StepStatus::Unneeded => {
            return ConditionResult::Not(format!("{step} {}", given.status.phrase()));
        }
        Field::Json(path) => match given.json(path) {
            Ok(value) => value,
            Err(why) => return ConditionResult::Unclear(why),
        },
        Field::Output | Field::Files => {
            let outputs: Vec<_> = given.pieces().map(|piece| piece.output.trim()).collect();
            Value::from(outputs.join("\n"))
        }
    };
    match holds(when, &value) {
        Ok(true) => ConditionResult::Holds,
        Ok(false) => {
            ConditionResult::Not(format!("{when} is false: the value is {}", shown(&value)))
        }
        Err(why) => ConditionResult::Unclear(format!("{when}: {why}")),
    }
}

fn holds(when: &When, value: &Value) -> Result<bool, String> {
    let expected = when.value.as_str();
    let text = as_text(value);
    let is = |value: &Value| {
        let text = as_text(value);
        let numbers = number(&text).zip(number(expected));
        text == expected || numbers.is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
    };
    let compared = || {
        let numbers = number(&text).zip(number(expected));
        let (one, other) = numbers.ok_or_else(|| format!("{} is not a number", shown(value)))?;
        Ok::<_, String>(one.total_cmp(&other))
    };
    Ok(match when.relation {
        Relation::Is => is(value),
        Relation::IsNot => !is(value),
        Relation::Less => compared()?.is_lt(),
        Relation::AtMost => compared()?.is_le(),
        Relation::More => compared()?.is_gt(),
        Relation::AtLeast => compared()?.is_ge(),
        Relation::Contains => match value {
            Value::Array(items) => items.iter().any(is),
            _ => text.contains(expected),
        },
    })
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn shown(value: &Value) -> String {
    let text = as_text(value);
    let head: String = text.chars().take(limits::SHOWN_NAME_CHARS).collect();
    let more = if head.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", head.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::run::step_output::tests::given;

    #[track_caller]
    fn evaluated(condition: &str, output: &str) -> ConditionResult {
        evaluate(&parse(condition).unwrap(), &given("a", output))
    }

    #[test]
    fn conditions_compare_texts_numbers_and_members_of_lists() {
        let output = r#"{"ok": false, "n": 3, "list": ["x", 2], "s": "a b", "none": null}"#;
        for (condition, expected) in [
            ("steps.a.json.ok == false", true),
            ("steps.a.json.ok==true", false),
            ("steps.a.json.ok != true", true),
            ("steps.a.json.n == 3.0", true),
            ("steps.a.json.n > 2", true),
            ("steps.a.json.n >= 3", true),
            ("steps.a.json.n < 3", false),
            ("steps.a.json.n<=3", true),
            ("steps.a.json.list contains x", true),
            ("steps.a.json.list contains 2", true),
            ("steps.a.json.list contains y", false),
            ("steps.a.json.s == \"a b\"", true),
            ("steps.a.json.s == 'a b'", true),
            ("steps.a.json.s contains b", true),
            ("steps.a.json.s == ''", false),
            ("steps.a.json.none == null", true),
            ("steps.a.output contains false", true),
            ("steps.a.status == done", true),
            ("steps.a.status != done", false),
        ] {
            let holds = evaluated(condition, output) == ConditionResult::Holds;
            assert_eq!(holds, expected, "{condition}");
        }
    }

    #[test]
    fn a_false_condition_reports_the_actual_value() {
        let reason = |condition: &str| match evaluated(condition, "[\"x\"]") {
            ConditionResult::Holds | ConditionResult::Later => "holds".to_owned(),
            ConditionResult::Not(why) | ConditionResult::Unclear(why) => why,
        };
        assert_eq!(reason("steps.a.json.0 == y"), "steps.a.json.0 == y is false: the value is `x`");
        assert_eq!(reason("steps.a.json.0 > 1"), "steps.a.json.0 > 1: `x` is not a number");
        assert_eq!(
            reason("steps.a.json.b == 1"),
            "the JSON in the output of step `a` has no field `b`"
        );
        let unneeded = StepOutput { status: StepStatus::Unneeded, ..given("a", "") };
        let when = parse("steps.a.json.ok == true").unwrap();
        assert_eq!(evaluate(&when, &unneeded), ConditionResult::Not("a is not needed".into()));
    }

    #[test]
    fn an_impossible_condition_is_refused_with_a_correction() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("").starts_with("write `steps.NAME.FIELD == VALUE`"));
        assert!(error("steps.a.status").starts_with("write `steps"));
        assert!(error("steps.a.status = done").starts_with("write `steps"));
        assert!(error("steps.a.status ==").starts_with("the value is missing"));
        assert_eq!(error("steps.a.statsu == done"), "did you mean `.status`?");
        assert_eq!(
            error("steps.a.status == fialed"),
            "`fialed` is not a final step status: did you mean `failed`?"
        );
        assert_eq!(
            error("steps.a.status > done"),
            "`>` compares numbers, but `done` is not a \
            number"
        );
        assert_eq!(error("steps.a.status contains done"), "a status is compared with == or !=");
        assert!(error("steps.a.files == x").starts_with("files cannot be compared"));
        assert!(
            error(&format!("steps.a.output == {}", "x".repeat(500))).starts_with("it is longer")
        );
    }

    #[test]
    fn a_condition_is_shown_as_it_was_parsed() {
        for text in ["steps.a.json.b.0 >= 3", "steps.a.status != done"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }
}
