//! A request to a model, in one form for all vendors.

use serde_json::Value;

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions, which other vendors copy.
    Chat,
    /// Gemini generateContent.
    Gemini,
}

/// The kind of the newest part of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newest {
    /// A user's text.
    User,
    /// The result of a tool.
    ToolResult,
}

/// A parsed request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) api: Api,
    pub(super) model: String,
    pub(super) stream: bool,
    /// The schema of the JSON that the agent demands instead of text.
    pub(super) schema: Option<Value>,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) items: Vec<Item>,
    /// The whole body, to search it for names of tools.
    pub(super) raw: String,
}

/// A tool that the model may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolDefinition {
    /// Its full name.
    pub(super) name: String,
    /// Its name in a call.
    pub(super) wire: String,
    /// The namespace beside the name in a call.
    pub(super) namespace: Option<String>,
    /// The kind of the tool, where the API has several.
    pub(super) kind: String,
}

/// A part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) speaker: Speaker,
    pub(super) text: String,
    /// The tool that is called, or has returned.
    pub(super) tool: Option<String>,
}

/// The speaker of a part of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
    Tool,
    /// The agent itself.
    System,
}

impl ToolDefinition {
    pub(super) fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), wire: name.to_owned(), ..Self::default() }
    }
}

impl Item {
    pub(super) fn new(speaker: Speaker, text: impl Into<String>) -> Self {
        Self { speaker, text: text.into(), tool: None }
    }

    pub(super) fn of_tool(speaker: Speaker, text: impl Into<String>, tool: Option<String>) -> Self {
        Self { tool, ..Self::new(speaker, text) }
    }

    pub(super) fn speaker(role: Option<&str>) -> Speaker {
        match role {
            Some("user") => Speaker::User,
            Some("assistant" | "model") => Speaker::Model,
            _ => Speaker::System,
        }
    }
}

/// The newest part of a conversation: everything after the model's last answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) newest: Newest,
    /// The texts that a rule may fit, newest first: agents put text of their own before the real prompt, and a cancelled prompt stays
    /// before the next one. The last entry is all texts together.
    pub(super) texts: Vec<String>,
    /// The tool that returned last.
    pub(super) tool: Option<String>,
}

impl Request {
    pub(super) fn tail(&self) -> Tail {
        let spoken = self.items.iter().rposition(|item| item.speaker == Speaker::Model);
        let tail = &self.items[spoken.map_or(0, |at| at + 1)..];
        let returned = tail.iter().rposition(|item| item.speaker == Speaker::Tool);
        let is_user = |item: &&Item| item.speaker == Speaker::User;
        // A user's text after a tool's result is newer.
        let users: Vec<_> = match returned {
            Some(at) => {
                tail[at + 1..].iter().filter(is_user).filter(|item| !is_noise(&item.text)).collect()
            }
            None => tail.iter().filter(is_user).collect(),
        };
        if let (Some(at), true) = (returned, users.is_empty()) {
            let results = tail.iter().filter(|item| item.speaker == Speaker::Tool);
            return Tail {
                newest: Newest::ToolResult,
                texts: vec![joined(results)],
                tool: tail[at].tool.clone(),
            };
        }
        let mut texts: Vec<_> = users.iter().rev().map(|item| item.text.clone()).collect();
        texts.push(joined(users.into_iter()));
        Tail { newest: Newest::User, texts, tool: None }
    }

    /// Returns the newest text of a user, whatever follows it.
    pub(super) fn last_user_text(&self) -> String {
        let mut users =
            self.items.iter().filter(|item| item.speaker == Speaker::User && !is_noise(&item.text));
        users.next_back().map(|item| item.text.clone()).unwrap_or_default()
    }
}

/// Returns whether an agent added this text in the user's name after a result.
fn is_noise(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>") || text.trim() == "Tool loaded."
}

fn joined<'a>(items: impl Iterator<Item = &'a Item>) -> String {
    items.map(|item| item.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Returns the text of content in any API's form.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(text_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => ["text", "content", "output", "parts", "response"]
            .iter()
            .find_map(|key| fields.get(*key).filter(|value| !value.is_null()))
            .map(text_of)
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| content.to_string()),
        other => other.to_string(),
    }
}
