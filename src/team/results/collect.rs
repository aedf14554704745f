//! The results of a turn besides its output, as its agent reports them while the turn runs.

use super::git_compare::{Before, Hold};
use crate::acp::{Cost, TokenUsage, Update};
use crate::domain::task::result::{Context, Money, Usage};

/// How many rejected calls are listed.
const MOST_REFUSED: usize = 256;

/// The results of a turn so far.
#[derive(Default)]
pub(crate) struct Collected {
    /// What the conversation contained at the beginning.
    pub(crate) context: Option<Context>,
    /// Git's look at the beginning.
    pub(super) before: Option<Before>,
    /// The tokens of the requests so far, if the agent reports each request.
    tokens: Option<TokenUsage>,
    /// The tokens of turns that were interrupted for a message, and whose task continues.
    interrupted: Option<TokenUsage>,
    /// The tokens of this turn that the report of its abandoned task has counted.
    counted: Option<TokenUsage>,
    /// The used part of the model's context, and its size.
    fill: Option<(u64, u64)>,
    /// The cost of the session so far.
    cost: Option<Money>,
    /// When an exhausted quota resets, in seconds since 1970.
    pub(crate) resets_at: Option<f64>,
    /// Where the output after the last tool call begins.
    last_words: usize,
    pub(super) refused: Vec<Refused>,
}

/// A request of an agent that was rejected.
pub(crate) struct Refused {
    /// The id of the tool call, if it was one.
    pub(crate) call: Option<String>,
    /// The title that people see.
    pub(crate) title: String,
}

impl Collected {
    pub(super) fn begin(context: Context, before: Option<Before>) -> Self {
        Self { context: Some(context), before, ..Self::default() }
    }

    /// Handles an update; `output_bytes` is the length of the output before it.
    pub(crate) fn hear(&mut self, update: &Update, output_bytes: usize) {
        match update {
            Update::ToolCall(call) => {
                let is_over = matches!(call.status.as_deref(), Some("completed" | "failed"));
                if !is_over {
                    self.last_words_follow(output_bytes);
                }
            }
            Update::Tokens(tokens) => {
                self.tokens = Some(self.tokens.unwrap_or_default().and(*tokens));
            }
            Update::Usage { used, size, cost, resets_at } => {
                self.fill = Some((*used, *size));
                self.resets_at = resets_at.or(self.resets_at);
                if let Some(Cost { amount, currency }) = cost {
                    self.cost = Money::of(*amount, currency).or(self.cost.take());
                }
            }
            _ => {}
        }
    }

    /// Returns the hold that delays the prompt, if there is one.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.before.as_ref().map(Before::hold)
    }

    /// Notes the end of a turn that was interrupted for a message: another turn of the same task follows.
    pub(crate) fn note_interrupted(&mut self, of_turn: Option<TokenUsage>) {
        self.interrupted = sum(self.interrupted, of_turn.or(self.tokens.take()));
    }

    /// Begins anew within the turn, after these results have been reported.
    pub(crate) fn begin_again(&self) -> Self {
        Self { counted: sum(self.counted, self.tokens), ..Self::default() }
    }

    /// Adds a rejected request.
    pub(crate) fn refuse(&mut self, refused: Refused) {
        // A model may ask without end; the transcript has every request.
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(refused);
        }
    }

    /// Returns the titles of rejected requests.
    pub(crate) fn refused_titles(&self) -> Vec<&str> {
        let titles = self.refused.iter();
        titles.map(|refused| refused.title.as_str()).collect()
    }

    /// Returns the cost of the session so far, as reported in this turn.
    pub(crate) fn spent(&mut self) -> Option<Money> {
        self.cost.take()
    }

    pub(crate) fn usage(&self, of_turn: Option<TokenUsage>, cost: Option<Money>) -> Option<Usage> {
        // The end of a turn counts all of it.
        let of_turn = of_turn.map(|all| all.without(self.counted.unwrap_or_default()));
        let tokens = sum(self.interrupted, of_turn.or(self.tokens));
        let usage = Usage {
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cached_tokens: tokens.and_then(|tokens| tokens.cached),
            total_tokens: tokens.map(|tokens| tokens.total),
            cost,
            context_used: self.fill.map(|(used, _)| used),
            context_size: self.fill.map(|(_, size)| size),
        };
        (!usage.is_empty()).then_some(usage)
    }

    /// Returns what a turn has used that no task reports, if its agent says so.
    pub(crate) fn usage_beside_tasks(
        &self,
        of_turn: Option<TokenUsage>,
        cost: Option<Money>,
    ) -> Option<Usage> {
        let usage = self.usage(of_turn, cost)?;
        let usage = Usage { context_used: None, context_size: None, ..usage };
        (!usage.is_empty()).then_some(usage)
    }

    /// Notes that what follows so many bytes of output may be its last words.
    pub(crate) fn last_words_follow(&mut self, output_bytes: usize) {
        self.last_words = output_bytes;
    }

    /// Returns where in the output the last words begin, if there is output before them.
    pub(crate) fn last_words(&self, output: &str) -> Option<u64> {
        // They are a paragraph of their own.
        let last = output.get(self.last_words..)?.trim_start_matches('\n');
        let is_part = self.last_words > 0 && !last.trim().is_empty();
        is_part.then_some((output.len() - last.len()) as u64)
    }
}

fn sum(one: Option<TokenUsage>, other: Option<TokenUsage>) -> Option<TokenUsage> {
    one.into_iter().chain(other).reduce(TokenUsage::and)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::ToolCallUpdate;

    #[test]
    fn the_last_words_are_those_after_the_last_call() {
        let mut collected = Collected::default();
        let call = |status: &str| ToolCallUpdate {
            id: "1".into(),
            status: Some(status.into()),
            ..ToolCallUpdate::default()
        };
        let begins = |status: &str| Update::ToolCall(Box::new(call(status)));
        assert_eq!(collected.last_words("all of it"), None);
        collected.hear(&begins("in_progress"), 8);
        collected.hear(&begins("completed"), 12);
        assert_eq!(collected.last_words("I look. Found it."), Some(8));
        assert_eq!(collected.last_words("I look. \n\nFound it."), Some(10));
        assert_eq!(collected.last_words("I look. \n"), None, "no output follows");
    }

    #[test]
    fn tokens_are_those_of_the_turn_else_the_sum_of_its_requests() {
        let one = TokenUsage { input: 10, output: 1, cached: Some(4), total: 11 };
        let mut collected = Collected::default();
        assert_eq!(collected.usage(None, None), None);
        collected.hear(&Update::Tokens(one), 0);
        collected.hear(&Update::Tokens(one), 0);
        let usage = collected.usage(None, None).unwrap();
        assert_eq!((usage.input_tokens, usage.cached_tokens), (Some(20), Some(8)));
        let usage = collected.usage(Some(one), None).unwrap();
        assert_eq!(usage.total_tokens, Some(11));
        let all = TokenUsage { input: 30, output: 3, cached: None, total: 33 };
        let rest = collected.begin_again().usage(Some(all), None).unwrap();
        assert_eq!(rest.total_tokens, Some(11), "the report of two requests counts those");
        collected.note_interrupted(None);
        let usage = collected.usage(Some(one), None).unwrap();
        assert_eq!(usage.total_tokens, Some(33), "two requests, then a turn");
    }
}
