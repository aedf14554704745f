//! What the person at the command line asks for: each wish becomes what an orchestrator's would, and the bridge that holds the agent
//! acts.

use super::asker::Asker;
use super::command::HumanWish;
use super::event_writer::Writer;
use super::refusal::Refusal;
use super::{keys, members, messages, permissions, tasks, workflows};
use crate::domain::messaging::Signal;

pub(super) fn perform(writer: &mut Writer<'_>, wish: &HumanWish) -> Result<(), Refusal> {
    match wish {
        HumanWish::Send { to, body, priority, reply_to, signal } => {
            let signal = signal.clone().unwrap_or_else(Signal::relay);
            let priority = priority.unwrap_or_else(|| signal.priority());
            messages::send_as_human(writer, to, (body, priority, signal), reply_to.as_ref())
        }
        HumanWish::Stop { agent, reason, kill } => {
            members::stop(writer, Asker::Human, agent, reason.as_deref(), *kill)
        }
        HumanWish::CancelTask(id) => tasks::cancel(writer, Asker::Human, id),
        HumanWish::CancelWorkflow(id) => workflows::cancel(writer, Asker::Human, id),
        HumanWish::Answer(id, decision) => permissions::answer_as_human(writer, id, *decision),
        HumanWish::Approve(step, approval) => {
            workflows::approve(writer, Asker::Human, step, approval)
        }
        HumanWish::MakeKey(new) => keys::make(writer, new),
        HumanWish::RevokeKey(id) => keys::revoke(writer, id),
    }
}
