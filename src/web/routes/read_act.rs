//! Reads what a person wants done from a form, or from the JSON that the script makes of one.

use serde::Deserialize;

use crate::domain::act::Act;
use crate::domain::ids::SessionId;
use crate::domain::messaging::Priority;
use crate::domain::permission::Decision;

/// The fields of all forms. Each act uses some.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActFields {
    /// What the page was given.
    pub(super) form_token: String,
    /// The page to show afterwards.
    pub(super) back: String,
    to: String,
    text: String,
    /// Any value but empty is a yes, as of a box that is checked.
    urgent: String,
    member: String,
    session: String,
    id: String,
    decision: String,
    workflow: String,
    reply_to: String,
    step: String,
    given: String,
    reason: String,
}

impl ActFields {
    /// Returns what an act of this name asks for, or what is wrong with it.
    pub(super) fn act(self, name: &str) -> Result<Act, String> {
        let session = || match self.session.as_str() {
            "" => Ok(None),
            text => uuid::Uuid::parse_str(text)
                .map(|id| Some(SessionId(id)))
                .map_err(|_| format!("`{text}` is no session")),
        };
        let act = match name {
            "send" => {
                let priority =
                    if self.urgent.is_empty() { Priority::Normal } else { Priority::Urgent };
                Act::Send {
                    to: needed("to", self.to)?,
                    text: needed("text", self.text)?,
                    priority,
                    reply_to: Some(self.reply_to).filter(|id| !id.is_empty()),
                }
            }
            "stop" => Act::Stop { session: session()?, member: needed("member", self.member)? },
            "kill" => Act::Kill { session: session()?, member: needed("member", self.member)? },
            "cancel" => Act::Cancel { id: needed("id", self.id)? },
            "answer" => {
                let decision = Decision::parse(&self.decision);
                let decision = decision.filter(|decision| *decision != Decision::Cancelled);
                let decision = decision
                    .ok_or("`decision` is allow_once, allow_always, reject or reject_always")?;
                Act::Answer { id: needed("id", self.id)?, decision }
            }
            "approve" => Act::Approve {
                workflow: needed("workflow", self.workflow)?,
                step: needed("step", self.step)?,
                given: match self.given.as_str() {
                    "yes" => true,
                    "no" => false,
                    _ => return Err("`given` is yes or no".to_owned()),
                },
                reason: Some(self.reason).filter(|reason| !reason.trim().is_empty()),
            },
            _ => return Err(format!("there is no act `{name}`")),
        };
        Ok(act)
    }
}

fn needed(name: &str, value: String) -> Result<String, String> {
    if value.trim().is_empty() { Err(format!("`{name}` is missing")) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_what_is_wrong_with_it() {
        let wrong = |name: &str, fields: ActFields| fields.act(name).unwrap_err();
        assert_eq!(wrong("dance", ActFields::default()), "there is no act `dance`");
        assert_eq!(wrong("send", ActFields::default()), "`to` is missing");
        let blind = || ActFields { id: "perm-1".to_owned(), ..ActFields::default() };
        assert!(wrong("answer", blind()).starts_with("`decision` is allow_once"));
        let cancelled = ActFields { decision: "cancelled".to_owned(), ..blind() };
        assert!(wrong("answer", cancelled).starts_with("`decision` is"));
        let stop = ActFields {
            member: "codex".to_owned(),
            session: "x".to_owned(),
            ..ActFields::default()
        };
        assert_eq!(wrong("stop", stop), "`x` is no session");
    }

    #[test]
    fn a_whole_form_is_an_act() {
        let fields = ActFields {
            to: "codex".to_owned(),
            text: "hi".to_owned(),
            urgent: "on".to_owned(),
            ..ActFields::default()
        };
        let act = Act::Send {
            to: "codex".to_owned(),
            text: "hi".to_owned(),
            priority: Priority::Urgent,
            reply_to: None,
        };
        assert_eq!(fields.act("send"), Ok(act));
    }
}
