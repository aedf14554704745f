//! Answers an agent that asks for permission.

use super::{Ended, Outcome, Steering};
use crate::bus::rules::HumanWish;
use crate::cli::Failure;
use crate::domain::ids::PermissionId;
use crate::domain::permission::Decision;

/// The answer to a question for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allow,
    /// Yes, and the agent need not ask again.
    AllowAlways,
    Deny,
    /// No, nor if the agent asks the same again.
    DenyAlways,
}

impl Answer {
    fn decision(self) -> Decision {
        match self {
            Self::Allow => Decision::AllowOnce,
            Self::AllowAlways => Decision::AllowAlways,
            Self::Deny => Decision::Reject,
            Self::DenyAlways => Decision::RejectAlways,
        }
    }

    fn act(self) -> &'static str {
        match self {
            Self::Allow | Self::AllowAlways => "allow",
            Self::Deny | Self::DenyAlways => "deny",
        }
    }
}

impl Steering {
    /// Answers a question. The first answer counts, whoever gives it; a later one is told what it was.
    pub(crate) async fn answer(
        &self,
        id: &PermissionId,
        answer: Answer,
    ) -> Result<Outcome, Failure> {
        let decision = answer.decision();
        self.wish(HumanWish::Answer(id.clone(), decision)).await?;
        let asked = self.look(|state| {
            let question = &state.permission(id)?.question;
            let owner = state.session(question.session).and_then(|agent| agent.owner);
            Some((question.agent.clone(), question.in_full(), owner))
        });
        let Some((agent, what, owner)) = asked else {
            let outcome = Outcome::new(answer.act(), id, Ended::Done);
            return Ok(outcome.saying(decision.as_str(), format!("{id} is answered")));
        };
        if owner.is_none_or(|owner| !self.is_held(owner)) {
            let words =
                format!("the answer is stored, but the bridge that holds `{agent}` is gone");
            let outcome = Outcome::new(answer.act(), id, Ended::Silent);
            return Ok(outcome.saying(decision.as_str(), words));
        }
        let words = match answer {
            Answer::Allow => format!("`{agent}` may do this once: {what}"),
            Answer::AllowAlways => {
                format!("`{agent}` may do this, and the like without asking again: {what}")
            }
            Answer::Deny => format!("`{agent}` may not do this: {what}"),
            Answer::DenyAlways => {
                format!("`{agent}` may not do this, nor if it asks the same again: {what}")
            }
        };
        Ok(Outcome::new(answer.act(), id, Ended::Done).saying(decision.as_str(), words))
    }
}
