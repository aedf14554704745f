//! The disagreement of a thread, as `check_messages` shows it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{Conflict, Party};
use crate::domain::messaging::{Author, ConflictStep};

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ConflictView {
    /// negotiation, arbitration or human: who has to speak; agreed, decided or lapsed once it is over.
    status: &'static str,
    /// The round of the negotiation.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    /// Who is asked to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    arbiter: Option<String>,
    parties: Vec<PartyView>,
    /// Who agreed or decided; `human` is the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The message that holds from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct PartyView {
    name: String,
    /// The message that says what it stands for.
    position: String,
}

impl ConflictView {
    pub(crate) fn of(conflict: &Conflict) -> Self {
        let end = conflict.end.as_ref();
        let step = end.is_none().then_some(&conflict.step);
        let party = |party: &Party| PartyView {
            name: party.name.to_string(),
            position: party.position.to_string(),
        };
        Self {
            status: end.map_or(conflict.step.as_str(), |end| end.how.as_str()),
            round: match step {
                Some(ConflictStep::Round(round)) => Some(*round),
                _ => None,
            },
            arbiter: match step {
                Some(ConflictStep::Arbiter(name)) => Some(name.to_string()),
                _ => None,
            },
            parties: conflict.parties.iter().map(party).collect(),
            by: end.filter(|end| end.by != Author::Bridge).map(|end| end.by.to_string()),
            decision: end.and_then(|end| end.message.as_ref()).map(ToString::to_string),
        }
    }
}
