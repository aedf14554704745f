//! What a tool call is about, for who has to judge it: every place that any of its messages names, and the worst of its kinds.
//!
//! Agents tell a call in several messages, and a later one may say less than an earlier one, or something else. People are shown
//! the newest. What is judged is all that was ever said: in locations, in diffs, and in the arguments of the tool.

use serde_json::Value;

use crate::domain::limits;
use crate::domain::permission::is_worse;

use super::update::{list, string};

/// The longest path that is kept; the system takes none that is longer.
const PATH_BYTES: usize = 4096;

/// The longest kind that is kept: it decides by being one that is known.
const WORD_BYTES: usize = 128;

/// What the names of arguments that hold paths end with, without their case and their `_`.
const HOLDS_PATHS: [&str; 10] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "folder",
    "root",
    "uri",
];

/// What arguments are called that hold a command.
const HOLDS_A_COMMAND: [&str; 3] = ["command", "cmd", "commandline"];

/// The lines of a patch that name a file.
const FILES_OF_A_PATCH: [&str; 4] = [
    "*** Add File:",
    "*** Update File:",
    "*** Delete File:",
    "*** Move to:",
];

/// The places and the kind of one message, or of all messages of a call together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    paths: Vec<String>,
    kind: Option<String>,
}

impl Touched {
    /// Reads the fields that all messages about a call share.
    pub(super) fn parse(raw: &Value) -> Self {
        let mut touched = Self::default();
        if let Some(kind) = string(raw, "kind") {
            touched.see_kind(kind);
        }
        for place in list(raw, "locations").into_iter().flatten() {
            touched.see_path(string(place, "path").unwrap_or_default());
        }
        for part in list(raw, "content").into_iter().flatten() {
            match string(part, "type").as_deref() {
                Some("content" | "terminal") if part.get("path").is_none() => {}
                // A diff, or something that we do not know: it is about what it says, and what says nothing is not known.
                _ => touched.see_path(string(part, "path").unwrap_or_default()),
            }
        }
        if let Some(input) = raw.get("rawInput") {
            touched.see_arguments(input);
        }
        touched
    }

    /// Returns every place that was named, each once, as the agent names it. An empty one stands for what could not be read. One
    /// more than are ever looked at is as good as all.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the worst kind that was told, `other` when none was. A call that shows a command runs it, whatever it is called.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("other")
    }

    /// Adds what another message says.
    pub(super) fn add(&mut self, told: Self) {
        told.paths.into_iter().for_each(|path| self.see_path(path));
        if let Some(kind) = told.kind {
            self.see_kind(kind);
        }
    }

    /// Notes that there was more than is known.
    pub(super) fn miss(&mut self) {
        self.see_path(String::new());
    }

    /// Returns the bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let paths = self.paths.iter();
        let paths: usize = paths.map(|path| path.len() + size_of::<String>()).sum();
        paths + self.kind.as_ref().map_or(0, String::len)
    }

    fn see_kind(&mut self, kind: String) {
        // A kind that is longer is none that is known, and needs no words.
        let kind = if kind.len() > WORD_BYTES {
            "other".to_owned()
        } else {
            kind
        };
        let is_as_bad = |known: &String| !is_worse(known, &kind);
        if self.kind.as_ref().is_none_or(is_as_bad) {
            self.kind = Some(kind);
        }
    }

    fn see_path(&mut self, path: String) {
        // A beginning of a path would be another path.
        let path = if path.len() > PATH_BYTES {
            String::new()
        } else {
            path
        };
        if self.paths.len() <= limits::LOOKED_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn see_arguments(&mut self, arguments: &Value) {
        let fields = match arguments {
            Value::String(text) => return self.see_patch(text),
            Value::Array(parts) => return parts.iter().for_each(|part| self.see_arguments(part)),
            Value::Object(fields) => fields,
            _ => return,
        };
        for (name, value) in fields {
            let name = name.replace(['_', '-'], "").to_lowercase();
            if HOLDS_A_COMMAND.contains(&name.as_str()) && !value.is_null() {
                self.see_kind("execute".to_owned());
            }
            if HOLDS_PATHS.iter().any(|end| name.ends_with(end)) {
                let (one, several) = (value.as_str(), value.as_array());
                let several = several.into_iter().flatten().filter_map(Value::as_str);
                for path in one
                    .into_iter()
                    .chain(several)
                    .filter(|path| !path.is_empty())
                {
                    self.see_path(path.to_owned());
                }
            }
            // codex: the changes of files by their paths.
            if name == "changes" {
                let paths = value
                    .as_object()
                    .into_iter()
                    .flat_map(|by_path| by_path.keys());
                paths.for_each(|path| self.see_path(path.clone()));
            }
            self.see_arguments(value);
        }
    }

    /// Reads the files of a patch, in the form in which codex and droid have models write one.
    fn see_patch(&mut self, text: &str) {
        if !text.trim_start().starts_with("*** Begin Patch") {
            return;
        }
        for line in text.lines() {
            let path = FILES_OF_A_PATCH
                .iter()
                .find_map(|of| line.trim_start().strip_prefix(of));
            if let Some(path) = path {
                self.see_path(path.trim().to_owned());
            }
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the literals read better without a reference at every call"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(message: Value, kind: &str, paths: &[&str]) {
        let touched = Touched::parse(&message);
        assert_eq!(
            (touched.kind(), touched.paths()),
            (
                kind,
                &paths
                    .iter()
                    .map(|path| (*path).to_owned())
                    .collect::<Vec<_>>()[..]
            ),
            "{message}"
        );
    }

    #[test]
    fn locations_diffs_and_arguments_are_all_told() {
        check(json!({}), "other", &[]);
        check(
            json!({
                "kind": "edit", "locations": [{"path": "a", "line": 1}, {"path": "b"}],
                "content": [
                    {"type": "diff", "path": "c", "newText": "x"},
                    {"type": "content", "content": {"type": "text", "text": "x"}},
                    {"type": "terminal", "terminalId": "t"},
                ],
                "rawInput": {
                    "file_path": "d", "content": "no path", "absolutePath": "a", "replace": true,
                    "edits": [{"notebook-path": "e"}], "files": ["f", "g"], "path": "",
                    "changes": {"h": {"type": "update", "move_path": "i"}},
                },
            }),
            "edit",
            &["a", "b", "c", "d", "e", "f", "g", "h", "i"],
        );
    }

    #[test]
    fn the_files_of_a_patch_are_told() {
        let patch = "\n*** Begin Patch\n*** Update File: a b\n*** Move to: c\n@@\n-x\n+*** Add File: no\n\
            *** Add File: d\r\n+x\n*** Delete File: e\n*** End Patch";
        let paths = ["a b", "c", "d", "e"];
        check(json!({"rawInput": {"input": patch}}), "other", &paths);
        check(json!({"rawInput": patch}), "other", &paths);
        let about = format!("How to write one:\n{patch}");
        check(json!({"rawInput": {"content": about}}), "other", &[]);
    }

    #[test]
    fn what_is_not_understood_is_a_place_that_is_not_known() {
        for place in [
            json!({"line": 4}),
            json!({"path": 5}),
            json!("a"),
            json!({"path": ""}),
        ] {
            check(json!({"kind": "read", "locations": [place]}), "read", &[""]);
        }
        for part in [
            json!({"type": "diff"}),
            json!({"type": "patch", "files": ["a"]}),
            json!({"text": "x"}),
            json!(42),
        ] {
            check(json!({"kind": "edit", "content": [part]}), "edit", &[""]);
        }
        check(
            json!({"content": [{"type": "patch", "path": "a"}]}),
            "other",
            &["a"],
        );
        let long = "x".repeat(PATH_BYTES + 1);
        check(json!({"locations": [{"path": long}]}), "other", &[""]);
    }

    #[test]
    fn a_call_that_shows_a_command_runs_it() {
        for input in [
            json!({"command": ["rg", "--pre", "./x", "y"], "parsed_cmd": []}),
            json!({"cmd": "cat x"}),
            json!([{"more": {"command_line": "x"}}]),
        ] {
            check(json!({"kind": "search", "rawInput": input}), "execute", &[]);
        }
        check(
            json!({"kind": "read", "rawInput": {"command": null}}),
            "read",
            &[],
        );
    }

    #[test]
    fn the_worst_of_several_kinds_counts_whenever_it_was_told() {
        let merged = |kinds: [&str; 3]| {
            let mut all = Touched::default();
            for kind in kinds {
                all.add(Touched::parse(&json!({"kind": kind})));
            }
            all.kind().to_owned()
        };
        assert_eq!(merged(["read", "execute", "edit"]), "execute");
        assert_eq!(merged(["edit", "read", "search"]), "edit");
        assert_eq!(merged(["search", "comet", "edit"]), "comet");
        assert_eq!(
            merged(["read", "read", &"x".repeat(WORD_BYTES + 1)]),
            "other"
        );
    }

    #[test]
    fn of_very_many_places_one_more_is_kept_than_are_looked_at() {
        let places: Vec<_> = (0..1000)
            .map(|number| json!({"path": number.to_string()}))
            .collect();
        let mut touched = Touched::parse(&json!({"locations": places}));
        assert_eq!(touched.paths().len(), limits::LOOKED_PATHS + 1);
        touched.add(Touched::parse(&json!({"locations": [{"path": "another"}]})));
        assert_eq!(touched.paths().len(), limits::LOOKED_PATHS + 1);
    }
}
