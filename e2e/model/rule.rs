//! A rule of the script: when it fits, and what the model then says.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::request::{Api, Newest};

/// Requests with fewer tools are an agent's own: for a title, a memory, a review. They show the user's words too, and must
/// not use up the script.
const FEWEST_TOOLS: usize = 7;

/// When a model says what.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(super) newest: Newest,
    pub(super) contains: String,
    pub(super) api: Option<Api>,
    pub(super) fewest_tools: usize,
    pub(super) reply: Reply,
}

/// What a model says.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// Until the test opens the gate of this name, there is no answer.
    pub(super) gate: Option<String>,
    /// How long the model thinks.
    pub(super) delay: Duration,
    /// The answer is this status of HTTP, with these words.
    pub(super) error: Option<(u16, String)>,
}

/// A call of the tool whose name ends so: agents put prefixes of their own before the names of an MCP server's tools.
#[derive(Clone)]
pub(crate) struct Call {
    pub(super) suffix: String,
    pub(super) arguments: Arguments,
    /// Whether it is a tool of the agent itself, and this its whole name.
    pub(super) is_own: bool,
}

/// The arguments of a call, made of the text that the rule fitted.
pub(super) type Arguments = Arc<dyn Fn(&str) -> Value + Send + Sync>;

impl Rule {
    /// Fits when the newest the model is shown is a user's text that contains this.
    pub(crate) fn user(contains: &str) -> Self {
        Self::new(Newest::User, contains)
    }

    /// Fits when the newest the model is shown is the result of a tool that contains this.
    pub(crate) fn result(contains: &str) -> Self {
        Self::new(Newest::ToolResult, contains)
    }

    fn new(newest: Newest, contains: &str) -> Self {
        Self {
            newest,
            contains: contains.to_owned(),
            api: None,
            fewest_tools: FEWEST_TOOLS,
            reply: Reply::default(),
        }
    }

    /// Fits only models of this vendor.
    pub(crate) fn of(mut self, api: Api) -> Self {
        self.api = Some(api);
        self
    }

    /// Fits requests with so few tools too.
    pub(crate) fn with_tools(mut self, fewest: usize) -> Self {
        self.fewest_tools = fewest;
        self
    }

    /// Says a text.
    pub(crate) fn says(mut self, text: &str) -> Self {
        text.clone_into(&mut self.reply.text);
        self
    }

    /// Calls the tool whose name ends so.
    pub(crate) fn calls(self, suffix: &str, arguments: Value) -> Self {
        self.calls_with(suffix, move |_| arguments.clone())
    }

    /// Calls a tool with arguments that depend on the text.
    pub(crate) fn calls_with(
        mut self,
        suffix: &str,
        arguments: impl Fn(&str) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.reply.calls.push(Call {
            suffix: suffix.to_owned(),
            arguments: Arc::new(arguments),
            is_own: false,
        });
        self
    }

    /// Calls a tool of the agent itself.
    pub(crate) fn calls_own(self, name: &str, arguments: Value) -> Self {
        self.calls_own_with(name, move |_| arguments.clone())
    }

    /// Calls a tool of the agent itself with arguments that depend on the text.
    pub(crate) fn calls_own_with(
        mut self,
        name: &str,
        arguments: impl Fn(&str) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.reply.calls.push(Call {
            suffix: name.to_owned(),
            arguments: Arc::new(arguments),
            is_own: true,
        });
        self
    }

    /// Waits, before it answers, until the gate is open.
    pub(crate) fn behind(mut self, gate: &str) -> Self {
        self.reply.gate = Some(gate.to_owned());
        self
    }

    /// Thinks for a while before it answers.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.reply.delay = delay;
        self
    }

    /// Answers with an error of HTTP.
    pub(crate) fn fails(mut self, status: u16, words: &str) -> Self {
        self.reply.error = Some((status, words.to_owned()));
        self
    }
}
