//! Who asks for an act: a member, or the person at the command line, who is no session and no member.
//!
//! The log names a member for each act. An act of the person names the bridge that performs it, and says beside the name that the
//! person has asked: so versions that do not know of the person perform the act all the same.

use super::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;

/// Who asks for an act.
#[derive(Clone, Copy)]
pub(super) enum Asker<'a> {
    Session(&'a Session),
    Human,
}

impl<'a> Asker<'a> {
    /// Returns the session that asks.
    pub(super) fn session(state: &'a State, me: SessionId) -> Result<Self, Refusal> {
        state.session(me).map(Self::Session).ok_or(Refusal::Left)
    }

    /// Returns the session that asks for something of a workflow, which must be an orchestrator.
    pub(super) fn leader(state: &'a State, me: SessionId) -> Result<Self, Refusal> {
        match Self::session(state, me)? {
            Self::Session(session) if session.kind != MemberKind::Orchestrator => {
                Err(Refusal::CannotLead)
            }
            leader => Ok(leader),
        }
    }

    pub(super) fn is_human(self) -> bool {
        matches!(self, Self::Human)
    }

    /// Returns the name to record for an act: the asker's, or that of the bridge that performs the act for the person. `acted_on`
    /// stands for a bridge that has left.
    pub(super) fn recorded(self, bridge: Option<&Session>, acted_on: &Name) -> Name {
        match self {
            Self::Session(session) => session.name.clone(),
            Self::Human => bridge.map_or_else(|| acted_on.clone(), |bridge| bridge.name.clone()),
        }
    }

    /// Returns the asker for a sentence.
    pub(super) fn in_words(self) -> &'a str {
        match self {
            Self::Session(session) => session.name.as_str(),
            Self::Human => "the user",
        }
    }
}
