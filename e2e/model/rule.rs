//! A rule of the script: when it fits, and what the model then answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::request::{Api, Newest};

/// Requests with fewer tools serve an agent's own purposes: a title, a memory, a review. They contain the user's text as well, and no
/// rule may answer them.
const FEWEST_TOOLS: usize = 7;

/// A condition, and the answer of the model to requests that meet it.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(super) newest: Newest,
    pub(super) contains: String,
    pub(super) api: Option<Api>,
    pub(super) fewest_tools: usize,
    pub(super) reply: Reply,
}

/// An answer of a model.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// The answer waits until the test opens the gate of this name.
    pub(super) gate: Option<String>,
    /// How long the model thinks.
    pub(super) delay: Duration,
    /// The answer is this HTTP status with this message.
    pub(super) error: Option<(u16, String)>,
}

/// A call of a tool, named by a suffix: agents put their own prefixes before the names of an MCP server's tools.
#[derive(Clone)]
pub(crate) struct Call {
    pub(super) suffix: String,
    pub(super) arguments: Arguments,
    /// Whether it is a tool of the agent itself. The suffix is then the full name.
    pub(super) is_own: bool,
}

/// Makes the arguments of a call from what the model reads.
pub(super) type Arguments = Arc<dyn Fn(Reading<'_>) -> Value + Send + Sync>;

/// What a model reads before it calls a tool.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The text that the rule fitted.
    pub(crate) text: &'a str,
    /// The whole request, with the instructions and the definitions of the tools.
    pub(crate) request: &'a str,
}

impl Rule {
    /// Fits when the newest part of the conversation is a user's text that contains this.
    pub(crate) fn user(contains: &str) -> Self {
        Self::new(Newest::User, contains)
    }

    /// Fits when the newest part of the conversation is the result of a tool that contains this.
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

    /// Fits requests with at least this many tools.
    pub(crate) fn with_tools(mut self, fewest: usize) -> Self {
        self.fewest_tools = fewest;
        self
    }

    /// Says a text.
    pub(crate) fn says(mut self, text: &str) -> Self {
        text.clone_into(&mut self.reply.text);
        self
    }

    /// Calls our tool whose name ends with this suffix.
    pub(crate) fn calls(self, suffix: &str, arguments: Value) -> Self {
        self.calls_with(suffix, move |_| arguments.clone())
    }

    /// Calls our tool with arguments that depend on the text.
    pub(crate) fn calls_with(
        self,
        suffix: &str,
        arguments: impl Fn(&str) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.calls_as_it_reads(suffix, move |reading| arguments(reading.text))
    }

    /// Calls our tool with arguments that depend on the whole request, such as the descriptions of the tools.
    pub(crate) fn calls_as_it_reads(
        mut self,
        suffix: &str,
        arguments: impl Fn(Reading<'_>) -> Value + Send + Sync + 'static,
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
            arguments: Arc::new(move |reading: Reading<'_>| arguments(reading.text)),
            is_own: true,
        });
        self
    }

    /// Waits until the gate is open before it answers.
    pub(crate) fn behind(mut self, gate: &str) -> Self {
        self.reply.gate = Some(gate.to_owned());
        self
    }

    /// Thinks for a while before it answers.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.reply.delay = delay;
        self
    }

    /// Answers with an HTTP error.
    pub(crate) fn fails(mut self, status: u16, message: &str) -> Self {
        self.reply.error = Some((status, message.to_owned()));
        self
    }
}
