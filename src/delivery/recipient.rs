//! The reader of a text: its name, and its agent's names for our tools.

use crate::domain::name::Name;

/// The reader of a text.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    name: &'a Name,
    tool_prefix: &'a str,
}

impl<'a> Reader<'a> {
    /// Makes a reader whose model sees our tools with a prefix. An agent may have tools of its own with the same names (qwen has a
    /// `send_message`).
    pub fn new(name: &'a Name, tool_prefix: &'a str) -> Self {
        Self { name, tool_prefix }
    }

    /// Returns the member's name.
    pub fn name(&self) -> &'a Name {
        self.name
    }

    /// Returns the name under which its model sees one of our tools.
    pub fn tool(&self, name: &str) -> String {
        format!("{}{name}", self.tool_prefix)
    }
}

/// A reader whose model sees our tools without a prefix.
impl<'a> From<&'a Name> for Reader<'a> {
    fn from(name: &'a Name) -> Self {
        Self::new(name, "")
    }
}
