//! An agent's sessions and their settings, as plain data.
//!
//! Like all answers, they are read from the raw JSON: the protocol crate's types drop unknown fields, among them the legacy `models`
//! block, which is the only list of models that some agents give. Missing and malformed optional parts are empty.

use super::json_fields::list;
use super::text_bounds;
use crate::acp::error::AcpError;
use crate::domain::limits::{AGENT_CHOICES, AGENT_ID_BYTES};
use crate::domain::text::redact::{Hidden, Secrets};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The agent's own id of one of its sessions, opaque to us. It may contain a secret, so it is never shown unchecked: see
/// [`written`](Self::written).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AcpSessionId(String);

impl AcpSessionId {
    /// Reads the id in the answer to `session/new`. It is sent back to the agent unchanged, so a bad one is refused rather than cut.
    pub(crate) fn parse(method: &str, answer: &Value) -> Result<Self, AcpError> {
        let id = answer.get("sessionId").and_then(Value::as_str);
        let problem = match id {
            Some(id) if (1..=AGENT_ID_BYTES).contains(&id.len()) => return Ok(id.into()),
            Some(id) => format!(
                "its `sessionId` has {} bytes; it must have 1 to {AGENT_ID_BYTES}. This is a bug in the agent",
                id.len(),
            ),
            None => "it has no `sessionId`".to_owned(),
        };
        Err(AcpError::Malformed { method: method.into(), problem })
    }

    /// Returns the id as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id for records and people; `None` if it contains a secret.
    pub fn written(&self, secrets: &Secrets) -> Option<Hidden> {
        let hidden = secrets.hidden(self.as_str());
        (hidden.as_str() == self.0).then_some(hidden)
    }
}

impl From<&str> for AcpSessionId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl From<String> for AcpSessionId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

/// An MCP server on stdio, which the agent starts for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    /// The name under which the model sees its tools.
    pub name: String,
    /// The program, as an absolute path, because agents resolve relative ones differently.
    pub command: PathBuf,
    pub args: Vec<String>,
    /// Its environment. Agents pass on little or nothing of their own, so all variables that it needs have to be here.
    pub env: BTreeMap<String, String>,
}

impl McpServerSpec {
    pub(crate) fn to_json(&self) -> Value {
        let env: Vec<Value> =
            self.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"name": self.name, "command": self.command.to_string_lossy(), "args": self.args, "env": env})
    }
}

/// A session as it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// The agent's id for it.
    pub id: AcpSessionId,
    /// The modes of `session/set_mode`.
    pub modes: Vec<Choice>,
    /// The mode in which it begins.
    pub mode: Option<Hidden>,
    /// The mode that the bridge has set, until the agent reports another one.
    mode_set: Option<String>,
    /// The legacy `models` block, which `session/set_model` belongs to.
    pub models: Option<Models>,
    /// The settings of `session/set_config_option`, which replace the legacy models and modes.
    pub config_options: Vec<ConfigOption>,
}

/// One of several values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value that chooses it.
    pub id: Hidden,
    /// The name that people are shown.
    pub name: Hidden,
}

/// The models that a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// The one in use.
    pub current: Option<Hidden>,
    /// Those that the agent lists. It may accept others, and list some that do not exist on a custom endpoint.
    pub available: Vec<Choice>,
}

/// A setting of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOption {
    /// The id of the setting.
    pub id: Hidden,
    /// The name that people are shown.
    pub name: Hidden,
    /// `model`, `mode`, `thought_level`, …
    pub category: Option<Hidden>,
    /// Its value, as text.
    pub current: Option<Hidden>,
    /// The values it may have, groups flattened; empty for a switch.
    pub choices: Vec<Choice>,
}

impl SessionInfo {
    pub(crate) fn parse(id: AcpSessionId, raw: &Value, secrets: &Secrets) -> Self {
        let modes = raw.get("modes");
        Self {
            id,
            modes: modes
                .map(|modes| choices(modes, "availableModes", "id", secrets))
                .unwrap_or_default(),
            mode: modes.and_then(|modes| text_bounds::word(modes, "currentModeId", secrets)),
            mode_set: None,
            models: raw.get("models").filter(|models| models.is_object()).map(|models| Models {
                current: text_bounds::word(models, "currentModelId", secrets),
                available: choices(models, "availableModels", "modelId", secrets),
            }),
            config_options: raw
                .get("configOptions")
                .and_then(|options| config_options(options, secrets))
                .unwrap_or_default(),
        }
    }

    /// Returns the models that the session may use, from its settings, else from the legacy block.
    pub fn model_choices(&self) -> Option<Models> {
        match self.setting("model") {
            Some(option) => {
                Some(Models { current: option.current.clone(), available: option.choices.clone() })
            }
            None => self.models.clone(),
        }
    }

    /// Returns the names of all models that the session may use, from its settings and from the legacy block.
    pub fn model_names(&self) -> Vec<Hidden> {
        let legacy = self.models.iter().flat_map(|models| &models.available);
        self.names("model", legacy)
    }

    /// Returns the names of all modes that the session may be in, from its settings and from its modes.
    pub fn mode_names(&self) -> Vec<Hidden> {
        self.names("mode", self.modes.iter())
    }

    fn names<'a>(
        &'a self,
        category: &str,
        legacy: impl Iterator<Item = &'a Choice>,
    ) -> Vec<Hidden> {
        let mut seen = BTreeSet::new();
        let settings = self.setting(category).into_iter();
        let choices = settings.flat_map(|option| &option.choices).chain(legacy);
        let new = choices.filter(|choice| seen.insert(&choice.id));
        new.map(|choice| choice.id.clone()).take(AGENT_CHOICES).collect()
    }

    /// Returns the model in use, as far as known.
    pub fn model(&self) -> Option<Hidden> {
        self.model_choices().and_then(|models| models.current)
    }

    /// Records that another model is in use.
    pub fn note_model(&mut self, model: &Hidden) {
        let mut options = self.config_options.iter_mut();
        if let Some(option) = options.find(|option| option.is_of("model")) {
            option.current = Some(model.clone());
        }
        if let Some(models) = &mut self.models {
            models.current = Some(model.clone());
        }
    }

    /// Says whether the session is certainly in a mode: the bridge has set it, and the agent has reported no other since. A report may be
    /// older than the setting, so it only makes the mode uncertain.
    pub fn is_put_into(&self, mode: &str) -> bool {
        self.mode_set.as_deref() == Some(mode)
    }

    /// Records that the bridge has set the mode.
    pub fn note_mode(&mut self, mode: &str) {
        self.mode_set = Some(mode.to_owned());
    }

    /// Records that the agent has reported a mode.
    pub fn hear_mode(&mut self, reported: &str) {
        if !self.is_put_into(reported) {
            self.mode_set = None;
        }
    }

    /// Returns the value of the setting for the mode, if there is one.
    pub fn mode_setting(&self) -> Option<Hidden> {
        self.setting("mode").and_then(|option| option.current.clone())
    }

    /// Says whether only the legacy block lists a model: codex has longer names there than in its setting.
    pub(crate) fn is_legacy_model(&self, model: &str) -> bool {
        let is = |choice: &Choice| choice.id.as_str() == model;
        let legacy = self.models.as_ref();
        let setting = self.setting("model");
        legacy.is_some_and(|models| models.available.iter().any(is))
            && !setting.is_some_and(|option| option.choices.iter().any(is))
    }

    /// Returns the setting of a category; a setting without a category counts by its id.
    pub(crate) fn setting(&self, category: &str) -> Option<&ConfigOption> {
        let mut options = self.config_options.iter();
        options.find(|option| option.is_of(category))
    }
}

impl ConfigOption {
    fn is_of(&self, category: &str) -> bool {
        self.category.as_ref().unwrap_or(&self.id).as_str() == category
    }
}

/// Parses a list of settings; `None` when it is no list.
pub(crate) fn config_options(raw: &Value, secrets: &Secrets) -> Option<Vec<ConfigOption>> {
    let options = raw.as_array()?.iter().filter_map(|option| {
        let id = text_bounds::name(option, "id", secrets)?;
        let value = option.get("currentValue");
        Some(ConfigOption {
            name: text_bounds::word(option, "name", secrets).unwrap_or_else(|| id.clone()),
            category: text_bounds::word(option, "category", secrets),
            current: match value.and_then(Value::as_bool) {
                Some(on) => Some(secrets.hidden(on.to_string())),
                None => text_bounds::word(option, "currentValue", secrets),
            },
            choices: values(option, secrets),
            id,
        })
    });
    Some(options.take(AGENT_CHOICES).collect())
}

/// Returns the values that a setting may have, of its groups too.
fn values(option: &Value, secrets: &Secrets) -> Vec<Choice> {
    let values = list(option, "options").into_iter().flatten();
    let values = values.flat_map(|value| match list(value, "options") {
        Some(group) => group.as_slice(),
        None => std::slice::from_ref(value),
    });
    let choices = values.filter_map(|value| choice(value, "value", secrets));
    choices.take(AGENT_CHOICES).collect()
}

fn choices(raw: &Value, field: &str, id: &str, secrets: &Secrets) -> Vec<Choice> {
    let all = list(raw, field).into_iter().flatten();
    let choices = all.filter_map(|raw| choice(raw, id, secrets));
    choices.take(AGENT_CHOICES).collect()
}

fn choice(raw: &Value, id: &str, secrets: &Secrets) -> Option<Choice> {
    let id = text_bounds::name(raw, id, secrets)?;
    Some(Choice { name: text_bounds::word(raw, "name", secrets).unwrap_or_else(|| id.clone()), id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &Value) -> SessionInfo {
        SessionInfo::parse("s".into(), raw, &Secrets::default())
    }

    fn texts(names: &[Hidden]) -> Vec<&str> {
        names.iter().map(Hidden::as_str).collect()
    }

    #[test]
    fn names_of_both_ways_are_known_and_each_is_chosen_by_its_own() {
        let both = json!({
            "modes": {"currentModeId": "plan", "availableModes": [{"id": "plan"}, {"id": "code"}]},
            "models": {"currentModelId": "a[high]", "availableModels": [{"modelId": "a[high]"}, {"modelId": "b"}]},
            "configOptions": [
                {"id": "model", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b"}]},
                {"id": "mode", "category": "mode", "options": [{"value": "code"}, {"value": "ask"}]},
            ],
        });
        let mut session = parse(&both);
        assert_eq!(texts(&session.model_names()), ["a", "b", "a[high]"]);
        assert_eq!(texts(&session.mode_names()), ["code", "ask", "plan"]);
        assert!(!session.is_put_into("plan"), "it only says so");
        session.note_mode("ask");
        session.hear_mode("ask");
        assert!(session.is_put_into("ask"));
        session.hear_mode("plan");
        assert!(!session.is_put_into("ask") && !session.is_put_into("plan"));
        assert!(session.is_legacy_model("a[high]"));
        for other in ["a", "b", "c"] {
            assert!(!session.is_legacy_model(other), "{other}");
        }
        session.note_model(&Secrets::default().hidden("b"));
        assert_eq!(session.model().as_ref().map(Hidden::as_str), Some("b"));
        let none = parse(&json!({}));
        assert!(none.model_names().is_empty() && none.mode_names().is_empty());
    }

    #[test]
    fn an_id_with_a_key_is_used_and_not_written_down() {
        let secrets = Secrets::of([("API_KEY", "sk-1234567890")].into_iter());
        let id = AcpSessionId::from("s-sk-1234567890");
        assert_eq!(id.as_str(), "s-sk-1234567890");
        assert_eq!(id.written(&secrets), None);
        let plain = AcpSessionId::from("s-1").written(&secrets);
        assert_eq!(plain.as_ref().map(Hidden::as_str), Some("s-1"));
    }

    #[test]
    fn models_come_from_the_settings_or_the_legacy_block() {
        let legacy = json!({"modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]},
            "models": {"currentModelId": "small", "availableModels": [{"modelId": "small", "name": "S"}, {"modelId": "big"}]}});
        let session = parse(&legacy);
        assert_eq!(session.mode.as_ref().map(Hidden::as_str), Some("plan"));
        let models = session.model_choices().expect("there is a models block");
        assert_eq!(models.current.as_ref().map(Hidden::as_str), Some("small"));
        let big = &models.available[1];
        assert_eq!((big.id.as_str(), big.name.as_str()), ("big", "big"));

        let newer = json!({"configOptions": [
            {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "a", "options": [
                {"value": "a", "name": "A"}, {"group": "g", "name": "G", "options": [{"value": "b", "name": "B"}]}]},
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true},
        ]});
        let session = parse(&newer);
        let models = session.model_choices().expect("there is a setting of the category");
        assert_eq!(models.current.as_ref().map(Hidden::as_str), Some("a"));
        assert_eq!(
            models.available.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(session.config_options[1].current.as_ref().map(Hidden::as_str), Some("true"));
        assert!(parse(&json!({"models": null, "modes": 4})).model_choices().is_none());
    }
}
