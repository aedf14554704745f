//! The identity of an agent's endpoint, from four environment variables; a fifth has the size of the results that the agent shows its
//! model.

use std::ffi::OsString;
use std::path::PathBuf;

use uuid::Uuid;

use crate::bus::rules::Refusal;
use crate::bus::{Bus, BusError, Membership};
use crate::domain::env_vars::{DIR, MEMBER, RESULT_BYTES, SESSION, TOKEN};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::name::Name;

/// The member that an endpoint claims to serve.
#[derive(Clone)]
pub struct AgentIdentity {
    /// The directory of the bus.
    pub directory: PathBuf,
    /// The agent's name.
    pub member: Name,
    /// The agent's session.
    pub session: SessionId,
    /// The secret from its bridge.
    pub token: String,
    /// How many bytes of a result the agent shows its model, if its bridge knows.
    pub result_bytes: Option<usize>,
}

/// Why an environment identifies no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// A variable is not set.
    #[error(
        "this endpoint cannot tell which agent it serves: `{variable}` is not set. The bridge sets \
            it when it starts an agent"
    )]
    Missing { variable: &'static str },
    /// A variable has an invalid value.
    #[error("this endpoint cannot tell which agent it serves: `{variable}` is not {expected}")]
    Malformed {
        variable: &'static str,
        /// The expected form of the value.
        expected: &'static str,
    },
}

impl AgentIdentity {
    /// Reads an identity from an environment.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, IdentityError> {
        let get = |name: &'static str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .ok_or(IdentityError::Missing { variable: name })
        };
        let text = |name: &'static str, expected: &'static str| {
            let malformed = IdentityError::Malformed { variable: name, expected };
            get(name)?.into_string().map_err(|_| malformed)
        };
        let directory = PathBuf::from(get(DIR)?);
        if !directory.is_absolute() {
            return Err(IdentityError::Malformed { variable: DIR, expected: "an absolute path" });
        }
        let member = Name::parse(&text(MEMBER, "a name")?)
            .map_err(|_| IdentityError::Malformed { variable: MEMBER, expected: "a name" })?;
        let session = text(SESSION, "a session")?;
        let session = Uuid::parse_str(&session)
            .map_err(|_| IdentityError::Malformed { variable: SESSION, expected: "a session" })?;
        let result_bytes = match get(RESULT_BYTES) {
            Ok(_) => Some(text(RESULT_BYTES, "a number")?.parse().map_err(|_| {
                IdentityError::Malformed { variable: RESULT_BYTES, expected: "a number" }
            })?),
            // Bridges of earlier versions do not set it.
            Err(_) => None,
        };
        Ok(Self {
            result_bytes,
            directory,
            member,
            session: SessionId(session),
            token: text(TOKEN, "a token")?,
        })
    }

    /// Takes the agent's membership, if the token and the name match.
    pub fn membership(&self, bus: &Bus) -> Result<Membership, BusError> {
        let membership = Membership::of_agent(bus, self.session, &self.token)?;
        let membership =
            membership.with_answers_of(self.result_bytes.unwrap_or(limits::ANSWER_BYTES));
        if *membership.name() == self.member {
            Ok(membership)
        } else {
            Err(Refusal::NotYours.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION_TEXT: &str = "0190a5f0-0000-7000-8000-000000000001";

    fn read(changed: &str, value: Option<&str>) -> Result<AgentIdentity, IdentityError> {
        AgentIdentity::read(|name| {
            let whole = match name {
                _ if name == changed => value,
                DIR => Some("/project/bus"),
                MEMBER => Some("codex"),
                SESSION => Some(SESSION_TEXT),
                TOKEN => Some("secret"),
                _ => None,
            };
            whole.map(OsString::from)
        })
    }

    #[test]
    fn four_variables_make_an_identity() {
        let identity = read("", None).unwrap();
        assert_eq!(identity.member.as_str(), "codex");
        assert_eq!(identity.session.to_string(), SESSION_TEXT);
        assert_eq!(identity.result_bytes, None);
        let with_limit = read(RESULT_BYTES, Some("49152")).unwrap();
        assert_eq!(with_limit.result_bytes, Some(49152));
        assert!(read(RESULT_BYTES, Some("much")).is_err());
    }

    #[test]
    fn each_of_them_is_needed_and_checked() {
        for variable in [DIR, MEMBER, SESSION, TOKEN] {
            let missing = Some(IdentityError::Missing { variable });
            assert_eq!(read(variable, None).err(), missing);
            assert_eq!(read(variable, Some("")).err(), missing);
        }
        for (variable, value) in [(DIR, "bus"), (MEMBER, "all"), (SESSION, "one")] {
            let error = read(variable, Some(value)).err().unwrap();
            assert!(
                matches!(error, IdentityError::Malformed { variable: named, .. } if named == variable)
            );
        }
    }
}
