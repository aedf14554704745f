//! An agent's description of itself in its answer to `initialize`.

use super::json_fields::list;
use super::text_bounds;
use crate::domain::limits::AGENT_CHOICES;
use crate::domain::text::redact::{Hidden, Secrets};
use serde_json::Value;

/// An agent's description of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentInfo {
    /// The name of the agent, if it gives one.
    pub name: Option<Hidden>,
    /// The version of the agent, if it gives one.
    pub version: Option<Hidden>,
    /// The login methods; empty if none is needed or given.
    pub auth_methods: Vec<AuthMethod>,
    /// The optional methods that the agent offers.
    pub features: Vec<Feature>,
}

/// An optional method of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `session/load`.
    Load,
    /// `session/resume`.
    Resume,
    /// `session/close`.
    Close,
    /// `session/delete`.
    Delete,
    /// `_session/steering`: text into a running turn.
    Steering,
}

/// A login method of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The id that chooses it.
    pub id: Hidden,
    /// The name that people are shown.
    pub name: Hidden,
}

impl AgentInfo {
    /// Says whether the agent offers an optional method.
    pub fn offers(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    pub(crate) fn parse(raw: &Value, secrets: &Secrets) -> Self {
        let on = |place: &str| raw.pointer(place) == Some(&Value::Bool(true));
        let session_offers = |capability: &str| {
            raw.pointer(&format!("/agentCapabilities/sessionCapabilities/{capability}"))
                .is_some_and(|offered| !matches!(offered, Value::Null | Value::Bool(false)))
        };
        let features = [
            (Feature::Load, on("/agentCapabilities/loadSession")),
            (Feature::Resume, session_offers("resume")),
            (Feature::Close, session_offers("close")),
            (Feature::Delete, session_offers("delete")),
            // Agents advertise it at the top level of the answer. The capabilities are searched too, where it belongs.
            (
                Feature::Steering,
                on("/_meta/steering/supported")
                    || on("/agentCapabilities/_meta/steering/supported"),
            ),
        ];
        let auth_methods = list(raw, "authMethods").into_iter().flatten().filter_map(|method| {
            let id = text_bounds::name(method, "id", secrets)?;
            Some(AuthMethod {
                name: text_bounds::word(method, "name", secrets).unwrap_or_else(|| id.clone()),
                id,
            })
        });
        let about = raw.get("agentInfo");
        Self {
            name: about.and_then(|info| text_bounds::word(info, "name", secrets)),
            version: about.and_then(|info| text_bounds::word(info, "version", secrets)),
            auth_methods: auth_methods.take(AGENT_CHOICES).collect(),
            features: features
                .into_iter()
                .filter(|(_, offered)| *offered)
                .map(|(feature, _)| feature)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agents_capabilities_are_read() {
        let text = |text: &Option<Hidden>| text.as_ref().map(|text| text.as_str().to_owned());
        let raw = json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "x", "version": "2"},
            "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}, "close": null}},
            "authMethods": [{"id": "key", "name": "API key"}, {"name": "no id"}],
            "_meta": {"steering": {"supported": true}},
        });
        let info = AgentInfo::parse(&raw, &Secrets::default());
        assert_eq!(
            (text(&info.name), text(&info.version)),
            (Some("x".to_owned()), Some("2".to_owned()))
        );
        assert_eq!(info.features, [Feature::Load, Feature::Resume, Feature::Steering]);
        assert!(!info.offers(Feature::Close));
        let [method] = info.auth_methods.as_slice() else {
            panic!("one has an id: {info:?}");
        };
        assert_eq!((method.id.as_str(), method.name.as_str()), ("key", "API key"));
        let nothing = AgentInfo::parse(&json!({"protocolVersion": 1}), &Secrets::default());
        assert_eq!(nothing.features, []);
    }
}
