//! The choice of the rule that answers a request, and of its answer.

use super::hidden_tools::{SEARCHES, ToolCall, ours, own};
use super::request::{Newest, Request};
use super::rule::{Reading, Reply, Rule};
use super::smallest_json;

/// The answer of a model to a request.
pub(super) struct Decision {
    /// The text by which the rule was found, for the log; none when no rule fits.
    pub(super) rule: Option<String>,
    pub(super) reply: Reply,
    pub(super) calls: Vec<ToolCall>,
}

/// Picks the first rule that fits, trying the newest text first.
pub(super) fn decide(rules: &[Rule], request: &Request) -> Decision {
    let mut tail = request.tail();
    let searched = tail.tool.as_deref().is_some_and(|tool| SEARCHES.contains(&tool));
    if searched {
        // The search has found the tools, so the text that asked for them is answered now.
        tail.newest = Newest::User;
        tail.texts = vec![request.last_user_text()];
    }
    for text in &tail.texts {
        for rule in rules {
            if let Some(decision) = fit(rule, request, tail.newest, text, searched) {
                return decision;
            }
        }
    }
    let text = request
        .schema
        .as_ref()
        .map_or_else(|| "ok".to_owned(), |schema| smallest_json::instance(schema).to_string());
    Decision { rule: None, reply: Reply { text, ..Reply::default() }, calls: Vec::new() }
}

fn fit(
    rule: &Rule,
    request: &Request,
    newest: Newest,
    text: &str,
    searched: bool,
) -> Option<Decision> {
    let fits = rule.newest == newest
        && request.schema.is_none()
        && rule.api.is_none_or(|api| api == request.api)
        && request.tools.len() >= rule.fewest_tools
        && text.contains(&rule.contains);
    if !fits {
        return None;
    }
    let calls: Option<Vec<_>> = rule
        .reply
        .calls
        .iter()
        .map(|call| {
            let arguments = (call.arguments)(Reading { text, request: &request.raw });
            if call.is_own {
                Some(own(request, &call.suffix, arguments))
            } else {
                ours(request, &call.suffix, &arguments, searched)
            }
        })
        .collect();
    let calls = calls?;
    let mut reply = rule.reply.clone();
    if let Some(search) = calls.iter().find(|call| call.is_search()).cloned() {
        // The text, the delay and the gate of the reply come after the search.
        return Some(Decision {
            rule: Some(format!("{}, after a search", rule.contains)),
            reply: Reply::default(),
            calls: vec![search],
        });
    }
    if !calls.is_empty() && reply.error.is_some() {
        reply.calls.clear();
    }
    Some(Decision { rule: Some(rule.contains.clone()), reply, calls })
}
