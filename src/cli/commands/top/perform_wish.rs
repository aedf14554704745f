//! The one place where a wish of the window becomes an act of the person at the terminal.

use std::path::Path;

use super::wish::Wish;
use crate::bus::rules::Approval;
use crate::cli::Failure;
use crate::cli::steer::{Answer, Outcome, Patience, Steering, StepChoice};
use crate::domain::ids::{PermissionId, TaskId, WorkflowId};
use crate::domain::messaging::Priority;
use crate::domain::name::Name;
use crate::domain::permission::Decision;

/// Performs a wish, and returns what came of it as a sentence. Blocks until then.
pub(super) fn perform(project: &Path, wish: Wish) -> String {
    // The bus is opened here, and not on the thread of the keys: it may be large.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| {
        runtime.block_on(async {
            let team = Steering::open(Some(project)).await?;
            let done = act(&team, wish).await;
            team.close().await;
            done
        })
    });
    done.map_or_else(|error| format!("error: {error}"), |outcome| outcome.words)
}

async fn act(team: &Steering, wish: Wish) -> Result<Outcome, Failure> {
    let patience = Patience::Waits;
    match wish {
        Wish::Send { to, text } => team.send(&to, text, Priority::Normal, patience).await,
        Wish::Stop { member, session } | Wish::Kill { member, session }
            if !team.is_live(session) =>
        {
            let what =
                format!("nothing was done: the `{member}` that you were asked about has ended");
            Err(what.into())
        }
        Wish::Stop { member, .. } => team.stop(&member, None, patience).await,
        Wish::Kill { member, .. } => team.kill(&member, patience).await,
        Wish::Cancel { id } => match TaskId::parse(&id) {
            Ok(task) => team.cancel_task(&task, patience).await,
            Err(_) => team.cancel_workflow(&WorkflowId::parse(&id)?, patience).await,
        },
        Wish::Answer { id, decision } => {
            let answer = match decision {
                Decision::AllowOnce => Answer::Allow,
                Decision::AllowAlways => Answer::AllowAlways,
                Decision::RejectAlways => Answer::DenyAlways,
                Decision::Reject | Decision::Cancelled => Answer::Deny,
            };
            team.answer(&PermissionId::parse(&id)?, answer).await
        }
        Wish::Approve { workflow, step, given, reason } => {
            let workflow = WorkflowId::parse(&workflow)?;
            let choice = StepChoice { workflow, step: Some(Name::parse(&step)?) };
            let approval = if given { Approval::Given } else { Approval::Refused(reason) };
            team.approve(&choice, approval, patience).await
        }
    }
}
