//! The arguments with which an entry starts the bridge: whether the program takes them, and what it is then. Pure.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The server that a client starts with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedServer {
    pub role: ServerRole,
    /// The project that the arguments name.
    pub project: Option<PathBuf>,
}

/// What a client's session is in its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRole {
    Orchestrator,
    Peer,
}

/// Returns the server that a client starts with some arguments, or what is wrong with them. The command line knows; setup does not.
pub type JudgeArguments = fn(&[String]) -> Result<StartedServer, String>;

/// Returns what is wrong with the arguments of an entry, if anything is.
pub fn wrong_arguments(entry: &Value, judge: JudgeArguments) -> Option<String> {
    started_server(entry, judge).err()
}

/// Returns the server that an entry starts, or what is wrong with its arguments.
pub fn started_server(entry: &Value, judge: JudgeArguments) -> Result<StartedServer, String> {
    let is_no_list = || Err("`args` is not a list of texts".to_owned());
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
    judge(&arguments)
}

impl StartedServer {
    /// Returns the project that it cannot find: the server ends at once. `is_directory` looks from where the client is started.
    pub fn missing_project(&self, is_directory: impl Fn(&Path) -> bool) -> Option<&Path> {
        self.project.as_deref().filter(|project| !is_directory(project))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_list_of_texts_is_judged() {
        let judge = |arguments: &[String]| match arguments {
            [] => Err("no command".to_owned()),
            [one, ..] if one == "orchestrator" => {
                Ok(StartedServer { role: ServerRole::Orchestrator, project: None })
            }
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
