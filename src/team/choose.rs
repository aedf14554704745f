//! Models and modes: what an agent offers, whether what is wanted is among it, and choosing it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::advice::Advice;
use crate::acp::{AcpError, Connection, SessionInfo};
use crate::domain::failure;
use crate::domain::id::SessionId;
use crate::domain::nearest::nearest;
use crate::domain::task::TaskError;

/// Names that a sentence lists before it only counts the rest; as data, all are told.
const LISTED: usize = 30;

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Model,
    Mode,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Mode => "mode",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Model => failure::MODEL,
            Self::Mode => failure::MODE,
        }
    }
}

/// Checks a name against those that an agent offers. One that offers none cannot be checked: then it has to say itself.
pub(super) fn check(what: What, wanted: &str, known: &[String]) -> Result<(), TaskError> {
    if known.is_empty() || known.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let word = what.word();
    let quoted = |names: &[String]| {
        let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(", ")
    };
    let meant = match nearest(wanted, known).as_slice() {
        [] => ".".to_owned(),
        names => format!("; did you mean {}?", quoted(names)),
    };
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = quoted(&known[..known.len().min(LISTED)]);
    Err(TaskError {
        known: known.to_vec(),
        ..TaskError::new(
            what.class(),
            format!("the agent has no {word} `{wanted}`{meant} It offers {listed}{more}"),
        )
    })
}

/// Chooses a session's model, if the agent offers it.
pub(super) async fn choose(
    what: What,
    wanted: &str,
    connection: &Connection,
    session: &SessionInfo,
    advice: Advice<'_>,
) -> Result<(), TaskError> {
    let chosen = match what {
        What::Model => {
            check(what, wanted, &session.model_names())?;
            connection.set_model(session, wanted).await
        }
        What::Mode => {
            check(what, wanted, &session.mode_names())?;
            connection.set_mode(session, wanted).await
        }
    };
    chosen.map_err(|error| refused(what, wanted, &error, advice))
}

fn refused(what: What, wanted: &str, error: &AcpError, advice: Advice<'_>) -> TaskError {
    let told = advice.on(error);
    let class = if told.class == failure::AGENT {
        what.class().to_owned()
    } else {
        told.class
    };
    let word = what.word();
    TaskError {
        message: format!("the {word} `{wanted}` cannot be used: {}", told.message),
        class,
        ..told
    }
}

/// The models that the agents of this bridge offer, so that a wrong one is refused at once. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Offers {
    models: Arc<Mutex<BTreeMap<SessionId, Vec<String>>>>,
}

impl Offers {
    /// Takes in what an agent offers now.
    pub(super) fn note(&self, agent: SessionId, session: &SessionInfo) {
        self.with(|models| models.insert(agent, session.model_names()));
    }

    /// Forgets an agent.
    pub(super) fn forget(&self, agent: SessionId) {
        self.with(|models| models.remove(&agent));
    }

    /// Returns the models that an agent offers; empty when that is not known here.
    pub(super) fn models(&self, agent: SessionId) -> Vec<String> {
        self.with(|models| models.get(&agent).cloned().unwrap_or_default())
    }

    fn with<R>(&self, act: impl FnOnce(&mut BTreeMap<SessionId, Vec<String>>) -> R) -> R {
        act(&mut self.models.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        let known = names(&["small", "large"]);
        assert_eq!(check(What::Model, "small", &known), Ok(()));
        let error = check(What::Model, "smal", &known).unwrap_err();
        assert_eq!(error.class, "model");
        assert_eq!(error.known, known);
        assert_eq!(
            error.message,
            "the agent has no model `smal`; did you mean `small`? It offers `small`, `large`"
        );
        let error = check(What::Mode, "zebra", &known).unwrap_err();
        assert_eq!(
            (error.class.as_str(), error.message.as_str()),
            (
                "mode",
                "the agent has no mode `zebra`. It offers `small`, `large`"
            )
        );
    }

    #[test]
    fn what_offers_nothing_cannot_be_checked() {
        assert_eq!(check(What::Model, "any", &[]), Ok(()));
    }

    #[test]
    fn very_many_names_are_counted_in_the_sentence_and_told_as_data() {
        let known: Vec<_> = (0..100).map(|number| format!("m{number}")).collect();
        let error = check(What::Model, "zebra", &known).unwrap_err();
        assert!(
            error.message.ends_with("`m29` and 70 more"),
            "{}",
            error.message
        );
        assert_eq!(error.known.len(), 100);
    }

    #[test]
    fn a_refusal_is_about_the_model_unless_it_says_something_else() {
        let refusal = |message: &str| AcpError::Refused {
            method: "session/set_model".into(),
            code: -32603,
            message: message.into(),
            data: None,
        };
        let class = |message| refused(What::Model, "x", &refusal(message), Advice::default()).class;
        assert_eq!(class("no"), "model");
        assert_eq!(class("Authentication required"), "auth");
    }
}
