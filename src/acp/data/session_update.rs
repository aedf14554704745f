//! `session/update`, parsed from raw JSON.
//!
//! The protocol crate's typed form drops an update of an unknown kind before any handler sees it. Here no update is lost: one of an
//! unknown kind, or without a required field, is [`Update::Unknown`] with its JSON.

use super::content_block::block_text;
use super::json_fields::{list, string};
use super::prompt_result::TokenUsage;
use super::session_settings::{AcpSessionId, ConfigOption, config_options};
use super::text_bounds;
use super::tool_call_update::ToolCallUpdate;
use crate::domain::limits::AGENT_CHOICES;
use crate::domain::text::redact::Secrets;
use serde_json::Value;
use std::borrow::Cow;

/// One update of an agent about its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A chunk of the answer. Blocks other than text appear in it as bracketed words: `[image image/png]`.
    MessageText(String),
    /// A chunk of the model's thoughts.
    ThoughtText(String),
    /// A chunk of a user's message, replayed while a session is loaded.
    UserText(String),
    /// A tool call begins or changes; agents disagree on which message means which (see [`crate::acp::ToolCalls`]).
    ToolCall(Box<ToolCallUpdate>),
    /// The whole plan, which replaces the one before.
    Plan(Vec<PlanEntry>),
    /// The tokens of one request to the model. qwen reports each request instead of the total at the turn's end.
    Tokens(TokenUsage),
    /// How full the model's context is.
    Usage {
        /// Tokens in the context.
        used: u64,
        size: u64,
        /// The cost of the session so far.
        cost: Option<Cost>,
        /// When a limit that is used up is reset, in seconds since 1970; claude reports it.
        resets_at: Option<f64>,
    },
    /// The new mode of the session.
    Mode(String),
    /// The names of the agent's slash commands.
    Commands(Vec<String>),
    /// All settings of the session, with their values.
    ConfigOptions(Vec<ConfigOption>),
    /// Whether the agent cannot continue. codex reports it, and then gives the reason as the text of a turn that ends successfully.
    Failing(bool),
    /// Anything else, and anything malformed.
    Unknown {
        /// Its `sessionUpdate`, empty when it has none.
        kind: String,
        /// The update as it was received.
        raw: Value,
    },
}

impl Update {
    /// Returns the message about a tool call that the update contains, even if the update is of an unknown kind.
    pub(crate) fn about_call(&self) -> Option<Cow<'_, ToolCallUpdate>> {
        match self {
            Self::ToolCall(call) => Some(Cow::Borrowed(call)),
            Self::Unknown { raw, .. } => ToolCallUpdate::parse(raw).map(Cow::Owned),
            _ => None,
        }
    }
}

/// A step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The description of the step.
    pub content: String,
    /// `high`, `medium`, `low`; empty when not given.
    pub priority: String,
    /// `pending`, `in_progress`, `completed`; empty when not given.
    pub status: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The amount, in units of the currency.
    pub amount: f64,
    /// The currency: a few letters, three by ISO 4217.
    pub currency: String,
}

/// Parses the parameters of a `session/update`. Never fails, never panics.
pub(crate) fn parse_notification(params: Value, secrets: &Secrets) -> (AcpSessionId, Update) {
    let session = string(&params, "sessionId").unwrap_or_default().into();
    let update = match params {
        Value::Object(mut fields) => fields.remove("update").unwrap_or(Value::Object(fields)),
        other => other,
    };
    (session, parse(update, secrets))
}

fn parse(raw: Value, secrets: &Secrets) -> Update {
    known(&raw, secrets).unwrap_or_else(|| Update::Unknown {
        kind: string(&raw, "sessionUpdate").unwrap_or_default(),
        raw,
    })
}

fn known(raw: &Value, secrets: &Secrets) -> Option<Update> {
    Some(match raw.get("sessionUpdate")?.as_str()? {
        "agent_message_chunk" => {
            let text = block_text(raw.get("content")?)?;
            let tokens = raw.pointer("/_meta/usage").and_then(TokenUsage::parse);
            match tokens.filter(|_| text.is_empty()) {
                Some(tokens) => Update::Tokens(tokens),
                None => Update::MessageText(text),
            }
        }
        "agent_thought_chunk" => Update::ThoughtText(block_text(raw.get("content")?)?),
        "user_message_chunk" => Update::UserText(block_text(raw.get("content")?)?),
        "tool_call" | "tool_call_update" => Update::ToolCall(Box::new(ToolCallUpdate::parse(raw)?)),
        "plan" => Update::Plan(list(raw, "entries")?.iter().filter_map(plan_entry).collect()),
        "usage_update" => Update::Usage {
            used: raw.get("used")?.as_u64()?,
            size: raw.get("size")?.as_u64()?,
            cost: raw.get("cost").and_then(cost),
            resets_at: raw
                .pointer("/_meta/_claude~1rateLimit")
                .filter(|limit| string(limit, "status").as_deref() == Some("rejected"))
                .and_then(|limit| limit.get("resetsAt")?.as_f64()),
        },
        "current_mode_update" => Update::Mode(string(raw, "currentModeId")?),
        "available_commands_update" => Update::Commands(
            list(raw, "availableCommands")?
                .iter()
                .filter_map(|command| text_bounds::name(command, "name", secrets))
                .map(String::from)
                .take(AGENT_CHOICES)
                .collect(),
        ),
        "session_info_update" => Update::Failing(failing(raw)?),
        "config_option_update" => {
            Update::ConfigOptions(config_options(raw.get("configOptions")?, secrets)?)
        }
        _ => return None,
    })
}

/// Reads codex's status of its thread. `idle` follows success and failure alike, so it says nothing.
fn failing(raw: &Value) -> Option<bool> {
    match raw.pointer("/_meta/codex/threadStatus/type")?.as_str()? {
        "systemError" => Some(true),
        "active" => Some(false),
        _ => None,
    }
}

fn plan_entry(entry: &Value) -> Option<PlanEntry> {
    Some(PlanEntry {
        content: string(entry, "content")?,
        priority: string(entry, "priority").unwrap_or_default(),
        status: string(entry, "status").unwrap_or_default(),
    })
}

fn cost(cost: &Value) -> Option<Cost> {
    Some(Cost { amount: cost.get("amount")?.as_f64()?, currency: text_bounds::currency(cost)? })
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the literals read better without a reference at every call"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn notification(params: Value) -> (AcpSessionId, Update) {
        parse_notification(params, &Secrets::default())
    }

    fn check(update: Value, expected: Update) {
        let (session, parsed) = notification(json!({"sessionId": "s", "update": update}));
        assert_eq!(session.as_str(), "s");
        assert_eq!(parsed, expected);
    }

    fn check_unknown(update: Value, kind: &str) {
        check(update.clone(), Update::Unknown { kind: kind.into(), raw: update });
    }

    fn chunk(content: Value) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": content})
    }

    #[test]
    fn codex_reports_that_it_cannot_continue() {
        let check = |status: &str, expected: Option<bool>| {
            let raw = json!({"sessionUpdate": "session_info_update",
                "_meta": {"codex": {"threadStatus": {"type": status}}}});
            match (parse(raw, &Secrets::default()), expected) {
                (Update::Failing(failing), Some(expected)) => assert_eq!(failing, expected),
                (Update::Unknown { .. }, None) => {}
                (other, _) => panic!("{status}: {other:?}"),
            }
        };
        check("systemError", Some(true));
        check("active", Some(false));
        check("idle", None);
    }

    #[test]
    fn text_of_all_three_kinds_is_kept() {
        let text = json!({"type": "text", "text": "hi"});
        check(chunk(text.clone()), Update::MessageText("hi".into()));
        check(
            json!({"sessionUpdate": "agent_thought_chunk", "content": text, "messageId": "m"}),
            Update::ThoughtText("hi".into()),
        );
        check(
            json!({"sessionUpdate": "user_message_chunk", "content": text}),
            Update::UserText("hi".into()),
        );
    }

    #[test]
    fn the_tokens_of_a_request_come_as_a_chunk_without_text() {
        let mut update = chunk(json!({"type": "text", "text": ""}));
        update["_meta"] =
            json!({"usage": {"inputTokens": 7, "outputTokens": 2, "cachedReadTokens": 5}});
        let tokens = TokenUsage { input: 7, output: 2, cached: Some(5), total: 9 };
        check(update.clone(), Update::Tokens(tokens));
        update["content"]["text"] = json!("hi");
        check(update, Update::MessageText("hi".into()));
    }

    #[test]
    fn blocks_other_than_text_are_named_in_brackets() {
        let named = |content, name: &str| check(chunk(content), Update::MessageText(name.into()));
        named(
            json!({"type": "image", "mimeType": "image/png", "data": "AAAA"}),
            "[image image/png]",
        );
        named(json!({"type": "audio"}), "[audio]");
        named(
            json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
            "[resource file:///a]",
        );
        named(
            json!({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}),
            "inside",
        );
        named(
            json!({"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}}),
            "[resource file:///a]",
        );
        named(json!({"type": "hologram"}), "[hologram]");
    }

    #[test]
    fn plans_usage_modes_commands_and_settings_are_understood() {
        check(
            json!({"sessionUpdate": "plan", "entries": [
                {"content": "look", "priority": "high", "status": "completed"}, {"content": "fix"}, {}]}),
            Update::Plan(vec![
                PlanEntry {
                    content: "look".into(),
                    priority: "high".into(),
                    status: "completed".into(),
                },
                PlanEntry { content: "fix".into(), priority: String::new(), status: String::new() },
            ]),
        );
        check(
            json!({"sessionUpdate": "usage_update", "used": 10, "size": 200, "cost": {"amount": 0.5, "currency": "USD"}}),
            Update::Usage {
                used: 10,
                size: 200,
                cost: Some(Cost { amount: 0.5, currency: "USD".into() }),
                resets_at: None,
            },
        );
        check(
            json!({"sessionUpdate": "usage_update", "used": 10, "size": 200,
                "_meta": {"_claude/rateLimit": {"status": "rejected", "resetsAt": 1_790_000_000}}}),
            Update::Usage { used: 10, size: 200, cost: None, resets_at: Some(1.79e9) },
        );
        check(
            json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}),
            Update::Mode("plan".into()),
        );
        check(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "init"}, {}]}),
            Update::Commands(vec!["init".into()]),
        );
        let options = json!({"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", "name": "Model"}]});
        let (_, update) = notification(json!({"sessionId": "s", "update": options}));
        assert!(
            matches!(update, Update::ConfigOptions(options) if options[0].id.as_str() == "model")
        );
    }

    #[test]
    fn unknown_and_malformed_updates_are_kept_whole() {
        check_unknown(json!({"sessionUpdate": "quantum_leap", "n": 1}), "quantum_leap");
        check_unknown(json!({"sessionUpdate": "agent_message_chunk"}), "agent_message_chunk");
        check_unknown(chunk(json!({"type": "text", "text": 7})), "agent_message_chunk");
        check_unknown(json!({"sessionUpdate": "tool_call", "title": "no id"}), "tool_call");
        check_unknown(json!({"sessionUpdate": "plan", "entries": "none"}), "plan");
        check_unknown(
            json!({"sessionUpdate": "usage_update", "used": -1, "size": 2}),
            "usage_update",
        );
        check_unknown(json!({"sessionUpdate": 5}), "");
        check_unknown(json!(null), "");
        let (session, update) = notification(json!([1]));
        assert_eq!(
            (session.as_str(), update),
            ("", Update::Unknown { kind: String::new(), raw: json!([1]) })
        );
    }

    #[test]
    fn an_update_of_an_unknown_kind_may_concern_a_call() {
        let id_of = |update: Value| {
            let (_, update) = notification(json!({"sessionId": "s", "update": update}));
            update.about_call().map(|call| call.id.clone())
        };
        for kind in
            [json!("tool_call"), json!("tool_news"), json!(null), json!(["tool_call", "plan"])]
        {
            let update = json!({"sessionUpdate": kind, "toolCallId": "c"});
            assert_eq!(id_of(update).as_deref(), Some("c"), "{kind}");
        }
        assert_eq!(id_of(json!({"toolCallId": "c"})).as_deref(), Some("c"));
        assert_eq!(id_of(json!({"sessionUpdate": "tool_call", "toolCallId": 7})), None);
        assert_eq!(id_of(json!({"sessionUpdate": "plan", "entries": [], "toolCallId": "c"})), None);
    }

    /// JSON that looks enough like updates to reach every branch.
    fn any_json() -> impl Strategy<Value = Value> {
        let words = "(text|resource|content|diff|tool_call|plan|usage_update|agent_message_chunk|config_option_update|x)?";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            words.prop_map(Value::from),
        ];
        let keys = "(sessionId|sessionUpdate|update|content|type|text|resource|entries|toolCallId|used|size|cost|\
                    configOptions|options|value|availableCommands|locations|rawInput|_meta)";
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(keys, inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_makes_it_panic(params in any_json()) {
            let _ = notification(params.clone());
            let _ = notification(json!({"sessionId": "s", "update": params}));
        }
    }
}
