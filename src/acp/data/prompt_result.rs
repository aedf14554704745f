//! The end of a turn: its reason and its usage.

use super::json_fields::present;
use super::text_bounds;
use crate::domain::limits::AGENT_WORD_CHARS;
use crate::domain::text::redact::{Hidden, Secrets};
use serde_json::Value;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// Why it ended. `EndTurn` is not success: codex ends a turn like this, with the error as its text, when its model is unavailable.
    pub stop_reason: StopReason,
    /// The tokens that the turn used, when the agent reports them.
    pub usage: Option<TokenUsage>,
    /// The agent's own additions.
    pub meta: Option<Value>,
    /// Whether the agent was given the prompt at all.
    pub was_sent: bool,
}

impl PromptOutcome {
    /// Returns the end of a turn whose prompt was cancelled before it was sent.
    pub fn unsent() -> Self {
        Self { stop_reason: StopReason::Cancelled, usage: None, meta: None, was_sent: false }
    }
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model has nothing more to say.
    EndTurn,
    /// The token limit is reached.
    MaxTokens,
    /// The limit of model requests in one turn is reached.
    MaxTurnRequests,
    /// The agent refuses to continue.
    Refusal,
    /// The turn was cancelled.
    Cancelled,
    /// A reason that the protocol does not define.
    Other(Hidden),
}

impl StopReason {
    /// Returns the reason as it is sent.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Other(reason) => reason.as_str(),
        }
    }
}

impl StopReason {
    /// Parses a reason.
    pub(crate) fn of(reason: &str, secrets: &Secrets) -> Self {
        match reason {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "max_turn_requests" => Self::MaxTurnRequests,
            "refusal" => Self::Refusal,
            "cancelled" => Self::Cancelled,
            other => Self::Other(text_bounds::line(other, secrets, AGENT_WORD_CHARS)),
        }
    }
}

/// The tokens of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// The tokens that the model read.
    pub input: u64,
    /// The tokens that the model wrote.
    pub output: u64,
    /// The tokens from a cache, if the agent reports them; agents disagree on whether `input` includes them.
    pub cached: Option<u64>,
    /// The total, as the agent counts it.
    pub total: u64,
}

impl TokenUsage {
    /// Returns the sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let cached = self.cached.into_iter().chain(other.cached);
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: cached.reduce(u64::saturating_add),
            total: self.total.saturating_add(other.total),
        }
    }

    /// Returns what is left without these.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let cached = self.cached.map(|all| all.saturating_sub(other.cached.unwrap_or_default()));
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cached,
            total: self.total.saturating_sub(other.total),
        }
    }

    /// Reads the counts under the protocol's names.
    pub(crate) fn parse(counts: &Value) -> Option<Self> {
        counts_of(counts, ["inputTokens", "outputTokens", "totalTokens"])
    }
}

impl PromptOutcome {
    /// Parses the answer to a prompt; `None` if it lacks the reason.
    pub(crate) fn parse(raw: &Value, secrets: &Secrets) -> Option<Self> {
        Some(Self {
            stop_reason: StopReason::of(raw.get("stopReason")?.as_str()?, secrets),
            usage: usage(raw),
            meta: present(raw, "_meta").cloned(),
            was_sent: true,
        })
    }
}

/// Reads the token counts: `usage` (claude, codex) or `_meta.quota.token_count` (gemini). qwen reports them during the turn, see
/// [`crate::acp::Update::Tokens`].
fn usage(raw: &Value) -> Option<TokenUsage> {
    match raw.get("usage").filter(|usage| usage.is_object()) {
        Some(usage) => TokenUsage::parse(usage),
        None => counts_of(
            raw.pointer("/_meta/quota/token_count")?,
            ["input_tokens", "output_tokens", "total_tokens"],
        ),
    }
}

fn counts_of(counts: &Value, [input, output, total]: [&str; 3]) -> Option<TokenUsage> {
    let number = |field: &str| counts.get(field).and_then(Value::as_u64);
    let (input, output) = (number(input), number(output));
    let total = number(total).or_else(|| Some(input?.saturating_add(output?)))?;
    Some(TokenUsage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cached: number("cachedReadTokens"),
        total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn token_counts_are_found_where_agents_put_them() {
        let check = |raw: Value, expected: Option<(u64, u64, u64)>| {
            let outcome =
                PromptOutcome::parse(&raw, &Secrets::default()).expect("there is a reason");
            assert_eq!(
                outcome.usage.map(|usage| (usage.input, usage.output, usage.total)),
                expected
            );
        };
        check(json!({"stopReason": "end_turn"}), None);
        check(
            json!({"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 9}}),
            Some((3, 2, 9)),
        );
        check(
            json!({"stopReason": "x", "_meta": {"quota": {"token_count": {"input_tokens": 3, "output_tokens": 2}}}}),
            Some((3, 2, 5)),
        );
        check(json!({"stopReason": "end_turn", "usage": {"inputTokens": "many"}}), None);
        assert_eq!(PromptOutcome::parse(&json!({"usage": {}}), &Secrets::default()), None);
    }

    #[test]
    fn stop_reasons_survive_a_round_trip() {
        for reason in
            ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "bored"]
        {
            assert_eq!(StopReason::of(reason, &Secrets::default()).as_str(), reason);
        }
        let secrets = Secrets::of([("API_KEY", "sk-1234567890")].into_iter());
        let reason = StopReason::of("sk-1234567890", &secrets);
        assert_eq!(reason.as_str(), "[hidden: API_KEY]");
    }
}
