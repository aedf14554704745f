//! The places and the kind of a tool call, as input of the permission rules: every place that any of its messages names, and the worst of
//! its kinds.

use serde_json::Value;

use crate::domain::limits;
use crate::domain::permission::is_worse;

use super::call_arguments::{self, Argument};
use super::json_fields::{present, string};

/// The longest path that is kept; the system accepts no longer one.
const PATH_BYTES: usize = 4096;

/// The longest kind that is kept: only known kinds matter.
const WORD_BYTES: usize = 128;

/// The places and the kind of one message, or of all messages of a call together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    paths: Vec<String>,
    suspects: Vec<String>,
    kind: Option<String>,
}

impl Touched {
    /// Returns a touched place.
    pub fn of_path(path: String) -> Self {
        let mut touched = Self::default();
        touched.see_path(path);
        touched
    }

    /// Reads the fields that all messages about a call share.
    pub(crate) fn parse(raw: &Value) -> Self {
        let mut touched = Self::default();
        if let Some(kind) = present(raw, "kind") {
            touched.see_kinds(kind);
        }
        for place in touched.parts(raw, "locations") {
            touched.see_path(string(place, "path").unwrap_or_default());
        }
        for part in touched.parts(raw, "content") {
            touched.see_part(part);
        }
        if let Some(input) = raw.get("rawInput") {
            touched.see_arguments(input);
        }
        touched
    }

    /// Returns every named place once, as the agent names it. An empty one stands for an unreadable name. The list holds one more than
    /// the number that is ever resolved, as that is enough to ask.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the texts in the arguments under unknown names that may be places, too: each once, within the same limit.
    pub fn suspects(&self) -> &[String] {
        &self.suspects
    }

    /// Returns the named paths and then the suspects.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.paths.iter().chain(&self.suspects)
    }

    /// Returns the worst kind of all messages, `other` by default. A call that shows a command runs it, whatever its kind.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("other")
    }

    /// Adds the places and the kind of another message.
    pub fn add(&mut self, other: Self) {
        other.paths.into_iter().for_each(|path| self.see_path(path));
        let suspects = other.suspects.into_iter();
        suspects.for_each(|suspect| self.see_suspect(suspect));
        if let Some(kind) = other.kind {
            self.see_kind(kind);
        }
    }

    /// Records that the call touches unknown places, too.
    pub(crate) fn miss(&mut self) {
        self.see_path(String::new());
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let paths = self.paths.iter().chain(&self.suspects);
        let paths: usize = paths.map(|path| path.len() + size_of::<String>()).sum();
        paths + self.kind.as_ref().map_or(0, String::len)
    }

    /// Returns the parts of a list. A field of another type may name any place.
    fn parts<'r>(&mut self, raw: &'r Value, field: &str) -> &'r [Value] {
        match raw.get(field) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(parts)) => parts,
            Some(_) => {
                self.miss();
                &[]
            }
        }
    }

    fn see_part(&mut self, part: &Value) {
        let is_block = matches!(string(part, "type").as_deref(), Some("content" | "terminal"));
        if !is_block || part.get("path").is_some() {
            // A diff, or content of an unknown kind: it concerns the path that it names, and without one an unknown path.
            self.see_path(string(part, "path").unwrap_or_default());
        }
        if let Some(block) = present(part, "content").filter(|_| is_block) {
            self.see_block(block);
        }
    }

    /// Records the places that a block of content leads to. Text, pictures and sounds lead to none by themselves.
    fn see_block(&mut self, block: &Value) {
        let resource = present(block, "resource").and_then(|resource| present(resource, "uri"));
        let named = [present(block, "path"), present(block, "uri"), resource];
        let leads_nowhere =
            matches!(string(block, "type").as_deref(), Some("text" | "image" | "audio"));
        if !leads_nowhere && named.iter().all(Option::is_none) {
            self.miss();
        }
        for place in named.into_iter().flatten() {
            self.see_path(place.as_str().unwrap_or_default().to_owned());
        }
    }

    /// Records a kind. A value that is not a word counts as `other`, and as the words in it.
    fn see_kinds(&mut self, kind: &Value) {
        if let Value::String(kind) = kind {
            return self.see_kind(kind.clone());
        }
        self.see_kind("other".to_owned());
        let words = kind.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.for_each(|word| self.see_kind(word.to_owned()));
    }

    fn see_kind(&mut self, kind: String) {
        // A longer kind is not a known one, and its words do not matter.
        let kind = if kind.len() > WORD_BYTES { "other".to_owned() } else { kind };
        let is_as_bad = |known: &String| !is_worse(known, &kind);
        if self.kind.as_ref().is_none_or(is_as_bad) {
            self.kind = Some(kind);
        }
    }

    fn see_path(&mut self, path: String) {
        // The beginning of a path would be another path.
        let path = if path.len() > PATH_BYTES { String::new() } else { path };
        self.suspects.retain(|suspect| *suspect != path);
        if self.paths.len() <= limits::LOOKED_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn see_suspect(&mut self, path: String) {
        if path.len() > PATH_BYTES {
            // It is too long for a place, but may contain one.
            return self.miss();
        }
        let is_known = self.paths.contains(&path) || self.suspects.contains(&path);
        if self.suspects.len() <= limits::LOOKED_PATHS && !is_known {
            self.suspects.push(path);
        }
    }

    fn see_arguments(&mut self, arguments: &Value) {
        for argument in call_arguments::read(arguments) {
            match argument {
                Argument::Path(path) => self.see_path(path),
                Argument::Suspect(text) => self.see_suspect(text),
                Argument::Command => self.see_kind("execute".to_owned()),
                Argument::Unread => self.miss(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
