//! The arguments with which an entry starts the bridge: whether the program takes them. Pure.

use serde_json::Value;

/// Says what is wrong with arguments for a program that a client starts as its server. The command line knows; setup does not.
pub type JudgeArguments = fn(&[String]) -> Result<(), String>;

/// Returns what is wrong with the arguments of an entry, if anything is.
pub fn wrong_arguments(entry: &Value, judge: JudgeArguments) -> Option<String> {
    let is_no_list = || Some("`args` is not a list of texts".to_owned());
    let arguments = match entry.get("args") {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            let texts: Option<Vec<_>> =
                items.iter().map(|item| Some(item.as_str()?.to_owned())).collect();
            match texts {
                Some(texts) => texts,
                None => return is_no_list(),
            }
        }
        Some(_) => return is_no_list(),
    };
    judge(&arguments).err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_list_of_texts_is_judged() {
        let judge = |arguments: &[String]| match arguments {
            [] => Err("no command".to_owned()),
            [one, ..] if one == "orchestrator" => Ok(()),
            [one, ..] => Err(format!("`{one}` is no command")),
        };
        let wrong = |entry: Value| wrong_arguments(&entry, judge);
        assert_eq!(wrong(json!({ "args": ["orchestrator", "--x"] })), None);
        assert_eq!(wrong(json!({})).as_deref(), Some("no command"));
        assert_eq!(wrong(json!({ "args": ["y"] })).as_deref(), Some("`y` is no command"));
        for args in [json!("orchestrator"), json!(["orchestrator", 1]), json!(null)] {
            let expected = "`args` is not a list of texts";
            assert_eq!(wrong(json!({ "args": args })).as_deref(), Some(expected));
        }
    }
}
