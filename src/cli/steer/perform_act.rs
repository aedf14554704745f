//! The one place where what a person wants at a window or a page becomes an act on the team, and where a server opens the bus for the
//! programs that its user has given keys.

use std::path::{Path, PathBuf};

use super::{Answer, Letter, Outcome, Patience, Steering, StepChoice, letter_there};
use crate::bus::Bus;
use crate::bus::rules::Approval;
use crate::cli::Failure;
use crate::domain::act::Act;
use crate::domain::ids::{MessageId, PermissionId, SessionId, TaskId, WorkflowId};
use crate::domain::member::Label;
use crate::domain::name::Name;
use crate::domain::permission::Decision;

/// Performs an act, and returns what came of it. Blocks until then, on a thread without a runtime.
pub(crate) fn perform(project: &Path, act: Act) -> Result<Outcome, Failure> {
    // The bus is opened here, and not on the thread of a window: it may be large.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (project, act, tag) = where_it_acts(project, act)?;
        let team = Steering::open(Some(&project)).await?;
        let done = performed(&team, act).await;
        team.close().await;
        Ok(match tag {
            Some((tag, written)) => done?.in_project(&tag, &written),
            None => done?,
        })
    })
}

/// The tag of another project, and the address there as it was written.
type Named = (Label, String);

/// Returns the project in which an act is performed: a message to a member of another project of the user is written there. That one is
/// named by its tag, and by what stands behind that.
fn where_it_acts(project: &Path, act: Act) -> Result<(PathBuf, Act, Option<Named>), Failure> {
    if let Act::Send { to, text, priority, reply_to } = &act {
        let answered = reply_to.as_deref().map(MessageId::parse).transpose()?;
        if let Some(there) = letter_there(Some(project), to, answered)? {
            let reply_to = there.reply_to.map(String::from);
            let named = Some((there.tag, there.to.clone()));
            let act = Act::Send { to: there.to, text: text.clone(), priority: *priority, reply_to };
            return Ok((there.directory, act, named));
        }
    }
    Ok((project.to_owned(), act, None))
}

/// Opens the bus of a project for programs that join its team. Blocks until then, on a thread without a runtime.
pub(crate) fn open_to_join(project: &Path) -> Result<Bus, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Ok(Steering::open(Some(project)).await?.into_bus()) })
}

async fn performed(team: &Steering, act: Act) -> Result<Outcome, Failure> {
    let patience = Patience::Waits;
    match act {
        Act::Send { to, text, priority, reply_to } => {
            let reply_to = reply_to.map(|id| MessageId::parse(&id)).transpose()?;
            team.send(
                Letter { priority: Some(priority), reply_to, ..Letter::new(to, text) },
                patience,
            )
            .await
        }
        Act::Stop { member, session } => {
            still_there(team, &member, session)?;
            team.stop(&member, None, patience).await
        }
        Act::Kill { member, session } => {
            still_there(team, &member, session)?;
            team.kill(&member, patience).await
        }
        Act::Cancel { id } => match TaskId::parse(&id) {
            Ok(task) => team.cancel_task(&task, patience).await,
            Err(_) => team.cancel_workflow(&WorkflowId::parse(&id)?, patience).await,
        },
        Act::Answer { id, decision } => {
            let answer = match decision {
                Decision::AllowOnce => Answer::Allow,
                Decision::AllowAlways => Answer::AllowAlways,
                Decision::RejectAlways => Answer::DenyAlways,
                Decision::Reject | Decision::Cancelled => Answer::Deny,
            };
            team.answer(&PermissionId::parse(&id)?, answer).await
        }
        Act::Approve { workflow, step, given, reason } => {
            let workflow = WorkflowId::parse(&workflow)?;
            let choice = StepChoice { workflow, step: Some(Name::parse(&step)?) };
            let approval = if given { Approval::Given } else { Approval::Refused(reason) };
            team.approve(&choice, approval, patience).await
        }
    }
}

/// Refuses to end an agent that only has the name of the one that the person was asked about.
fn still_there(team: &Steering, member: &str, session: Option<SessionId>) -> Result<(), Failure> {
    if session.is_none_or(|session| team.is_live(session)) {
        return Ok(());
    }
    Err(format!("nothing was done: the `{member}` that you were asked about has ended").into())
}
