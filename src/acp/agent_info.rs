//! What an agent says of itself when it is greeted.

use super::update::{list, string};
use serde_json::Value;

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentInfo {
    /// Its name, when it tells one.
    pub name: Option<String>,
    /// Its version, when it tells one.
    pub version: Option<String>,
    /// The ways to log in; empty when none is needed (or none is told).
    pub auth_methods: Vec<AuthMethod>,
    /// What it offers beyond what every agent has to.
    pub features: Vec<Feature>,
    /// The whole answer, for everything else (`agentCapabilities`, `_meta`).
    pub raw: Value,
}

/// What an agent may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `session/load`.
    Load,
    /// `session/resume`.
    Resume,
    /// `session/close`.
    Close,
    /// `_session/steering`: text into a running turn.
    Steering,
}

/// A way to log in to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// Its id.
    pub id: String,
    /// What people are shown.
    pub name: String,
}

impl AgentInfo {
    /// Returns whether the agent offers something.
    pub fn offers(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    pub(super) fn parse(raw: Value) -> Self {
        let on = |place: &str| raw.pointer(place) == Some(&Value::Bool(true));
        let session_offers = |capability: &str| {
            raw.pointer(&format!(
                "/agentCapabilities/sessionCapabilities/{capability}"
            ))
            .is_some_and(|offered| !matches!(offered, Value::Null | Value::Bool(false)))
        };
        let features = [
            (Feature::Load, on("/agentCapabilities/loadSession")),
            (Feature::Resume, session_offers("resume")),
            (Feature::Close, session_offers("close")),
            // Advertised at the answer's own level; looked for below the capabilities too, where such things belong.
            (
                Feature::Steering,
                on("/_meta/steering/supported")
                    || on("/agentCapabilities/_meta/steering/supported"),
            ),
        ];
        let auth_methods = list(&raw, "authMethods")
            .into_iter()
            .flatten()
            .filter_map(|method| {
                let id = string(method, "id")?;
                Some(AuthMethod {
                    name: string(method, "name").unwrap_or_else(|| id.clone()),
                    id,
                })
            });
        Self {
            name: raw.get("agentInfo").and_then(|info| string(info, "name")),
            version: raw
                .get("agentInfo")
                .and_then(|info| string(info, "version")),
            auth_methods: auth_methods.collect(),
            features: features
                .into_iter()
                .filter(|(_, offered)| *offered)
                .map(|(feature, _)| feature)
                .collect(),
            raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agents_capabilities_are_read_and_the_rest_is_kept() {
        let raw = json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "x", "version": "2"},
            "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}, "close": null}},
            "authMethods": [{"id": "key", "name": "API key"}, {"name": "no id"}],
            "_meta": {"steering": {"supported": true}},
        });
        let info = AgentInfo::parse(raw.clone());
        assert_eq!(
            (info.name.as_deref(), info.version.as_deref()),
            (Some("x"), Some("2"))
        );
        assert_eq!(
            info.features,
            [Feature::Load, Feature::Resume, Feature::Steering]
        );
        assert!(!info.offers(Feature::Close));
        assert_eq!(
            info.auth_methods,
            [AuthMethod {
                id: "key".into(),
                name: "API key".into()
            }]
        );
        assert_eq!(info.raw, raw);
        let nothing = AgentInfo::parse(json!({"protocolVersion": 1}));
        assert_eq!(nothing.features, []);
    }
}
