//! An agent's sessions and their settings, as plain data.
//!
//! Like all answers, they are read from the raw JSON: the protocol crate's types drop what they do not know, and among
//! that is the legacy `models` block, which is the only list of models that some agents give. Missing and malformed
//! optional parts are empty.

use super::update::{list, string};
use crate::domain::limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The agent's own name for one of its sessions; made by the agent, opaque to us.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AcpSessionId(String);

impl AcpSessionId {
    /// Returns the id as it goes over the wire.
    pub fn as_str(&self) -> &str {
        &self.0
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

impl fmt::Display for AcpSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An MCP server on stdio, which the agent starts for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    /// The name under which the model sees its tools.
    pub name: String,
    /// The program; an absolute path, because agents look relative ones up in places of their own.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment. Agents pass on little or nothing of their own, so everything it needs has to be here.
    pub env: BTreeMap<String, String>,
}

impl McpServerSpec {
    pub(super) fn to_json(&self) -> Value {
        let env: Vec<Value> = self
            .env
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
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
    /// The mode it begins in.
    pub mode: Option<String>,
    /// The mode that it was put into, as long as the agent has not told of another one since.
    put_into: Option<String>,
    /// The legacy `models` block, which `session/set_model` belongs to.
    pub models: Option<Models>,
    /// The settings of `session/set_config_option`; the newer way to models and modes.
    pub config_options: Vec<ConfigOption>,
}

/// One of several values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub id: String,
    /// What people are shown.
    pub name: String,
}

/// The models that a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// The one in use.
    pub current: Option<String>,
    /// Those that the agent lists. It may accept others, and list some that do not exist on a custom endpoint.
    pub available: Vec<Choice>,
}

/// A setting of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// What people are shown.
    pub name: String,
    /// `model`, `mode`, `thought_level`, …
    pub category: Option<String>,
    /// Its value, as text.
    pub current: Option<String>,
    /// The values it may have, groups flattened; empty for a switch.
    pub choices: Vec<Choice>,
}

impl SessionInfo {
    pub(super) fn parse(id: AcpSessionId, raw: &Value) -> Self {
        let modes = raw.get("modes");
        Self {
            id,
            modes: modes
                .map(|modes| choices(modes, "availableModes", "id"))
                .unwrap_or_default(),
            mode: modes.and_then(|modes| string(modes, "currentModeId")),
            put_into: None,
            models: raw
                .get("models")
                .filter(|models| models.is_object())
                .map(|models| Models {
                    current: string(models, "currentModelId"),
                    available: choices(models, "availableModels", "modelId"),
                }),
            config_options: raw
                .get("configOptions")
                .and_then(config_options)
                .unwrap_or_default(),
        }
    }

    /// Returns the models that the session may use, from its settings, else from the legacy block.
    pub fn model_choices(&self) -> Option<Models> {
        match self.setting("model") {
            Some(option) => Some(Models {
                current: option.current.clone(),
                available: option.choices.clone(),
            }),
            None => self.models.clone(),
        }
    }

    /// Returns the names of all models that the session may use, by either way.
    pub fn model_names(&self) -> Vec<String> {
        let legacy = self.models.iter().flat_map(|models| &models.available);
        self.names("model", legacy)
    }

    /// Returns the names of all modes that the session may be in, by either way.
    pub fn mode_names(&self) -> Vec<String> {
        self.names("mode", self.modes.iter())
    }

    fn names<'a>(
        &'a self,
        category: &str,
        legacy: impl Iterator<Item = &'a Choice>,
    ) -> Vec<String> {
        let setting = self.setting(category);
        let mut names: Vec<String> = Vec::new();
        let all = setting.into_iter().flat_map(|option| &option.choices);
        let all = all.chain(legacy).take(limits::OFFERED_NAMES);
        for choice in all.filter(|choice| choice.id.len() <= limits::MODEL_BYTES) {
            if !names.contains(&choice.id) {
                names.push(choice.id.clone());
            }
        }
        names
    }

    /// Returns the model in use, as far as known.
    pub fn model(&self) -> Option<String> {
        let current = self.model_choices().and_then(|models| models.current);
        current.filter(|model| model.len() <= limits::MODEL_BYTES)
    }

    /// Notes that another model is in use.
    pub fn note_model(&mut self, model: &str) {
        let category =
            |option: &ConfigOption| option.category.as_deref().unwrap_or(&option.id) == "model";
        if let Some(option) = self
            .config_options
            .iter_mut()
            .find(|option| category(option))
        {
            option.current = Some(model.to_owned());
        }
        if let Some(models) = &mut self.models {
            models.current = Some(model.to_owned());
        }
    }

    /// Says whether the session is for certain in a mode: it was put there, and nothing else was told since. What an agent tells
    /// may be older than the putting, so it makes only uncertain.
    pub fn is_put_into(&self, mode: &str) -> bool {
        self.put_into.as_deref() == Some(mode)
    }

    /// Notes that the session was put into a mode.
    pub fn note_mode(&mut self, mode: &str) {
        self.put_into = Some(mode.to_owned());
    }

    /// Takes in that the agent tells of a mode.
    pub fn hear_mode(&mut self, told: &str) {
        if !self.is_put_into(told) {
            self.put_into = None;
        }
    }

    /// Returns the value of the setting that is the mode, where there is one.
    pub fn mode_setting(&self) -> Option<String> {
        self.setting("mode")
            .and_then(|option| option.current.clone())
    }

    /// Says whether only the legacy block lists a model: codex has longer names there than in its setting.
    pub(super) fn is_legacy_model(&self, model: &str) -> bool {
        let is = |choice: &Choice| choice.id == model;
        let legacy = self.models.as_ref();
        let setting = self.setting("model");
        legacy.is_some_and(|models| models.available.iter().any(is))
            && !setting.is_some_and(|option| option.choices.iter().any(is))
    }

    /// Returns the setting of a category; one without any category counts by its id.
    pub(super) fn setting(&self, category: &str) -> Option<&ConfigOption> {
        let is =
            |option: &&ConfigOption| option.category.as_deref().unwrap_or(&option.id) == category;
        self.config_options.iter().find(is)
    }
}

/// Parses a list of settings; `None` when it is no list.
pub(super) fn config_options(raw: &Value) -> Option<Vec<ConfigOption>> {
    let options = raw.as_array()?.iter().filter_map(|option| {
        let id = string(option, "id")?;
        let mut all = Vec::new();
        for choice in list(option, "options").into_iter().flatten() {
            if list(choice, "options").is_some() {
                all.append(&mut choices(choice, "options", "value"));
            } else {
                all.extend(self::choice(choice, "value"));
            }
        }
        Some(ConfigOption {
            name: string(option, "name").unwrap_or_else(|| id.clone()),
            category: string(option, "category"),
            current: option.get("currentValue").and_then(|value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(on) => Some(on.to_string()),
                _ => None,
            }),
            choices: all,
            id,
        })
    });
    Some(options.collect())
}

fn choices(raw: &Value, field: &str, id: &str) -> Vec<Choice> {
    list(raw, field)
        .into_iter()
        .flatten()
        .filter_map(|raw| choice(raw, id))
        .collect()
}

fn choice(raw: &Value, id: &str) -> Option<Choice> {
    let id = string(raw, id)?;
    Some(Choice {
        name: string(raw, "name").unwrap_or_else(|| id.clone()),
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut session = SessionInfo::parse("s".into(), &both);
        assert_eq!(session.model_names(), ["a", "b", "a[high]"]);
        assert_eq!(session.mode_names(), ["code", "ask", "plan"]);
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
        session.note_model("b");
        assert_eq!(session.model().as_deref(), Some("b"));
        let none = SessionInfo::parse("s".into(), &json!({}));
        assert!(none.model_names().is_empty() && none.mode_names().is_empty());
    }

    #[test]
    fn models_come_from_the_settings_or_the_legacy_block() {
        let legacy = json!({"modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]},
            "models": {"currentModelId": "small", "availableModels": [{"modelId": "small", "name": "S"}, {"modelId": "big"}]}});
        let session = SessionInfo::parse("s".into(), &legacy);
        assert_eq!(session.mode.as_deref(), Some("plan"));
        let models = session.model_choices().expect("there is a models block");
        assert_eq!(models.current.as_deref(), Some("small"));
        assert_eq!(
            models.available[1],
            Choice {
                id: "big".into(),
                name: "big".into()
            }
        );

        let newer = json!({"configOptions": [
            {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "a", "options": [
                {"value": "a", "name": "A"}, {"group": "g", "name": "G", "options": [{"value": "b", "name": "B"}]}]},
            {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true},
        ]});
        let session = SessionInfo::parse("s".into(), &newer);
        let models = session
            .model_choices()
            .expect("there is a setting of the category");
        assert_eq!(models.current.as_deref(), Some("a"));
        assert_eq!(
            models
                .available
                .iter()
                .map(|model| model.id.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(session.config_options[1].current.as_deref(), Some("true"));
        assert!(
            SessionInfo::parse("s".into(), &json!({"models": null, "modes": 4}))
                .model_choices()
                .is_none()
        );
    }
}
