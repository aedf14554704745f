//! Tasks for agents that another host starts: offered by the host, asked for by a member, taken up or refused by the host's bridge.

use crate::bus::event::{Event, Skip, TaskPlaced};
use crate::bus::rules::command::NewPlacement;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::members::abandon_mail;
use crate::bus::rules::messages::check_body;
use crate::bus::rules::refusal::{PlacementRefusal, Refusal};
use crate::bus::rules::workflows::startable;
use crate::bus::state::Placement;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::HostOffer;

/// Offers to start agents for others, in place of what was offered before. From then on it reads no messages: those that it has are over,
/// as far as the append has room for that.
pub(in crate::bus::rules) fn offer(
    writer: &mut Writer<'_>,
    me: SessionId,
    offer: &HostOffer,
) -> Result<(), Refusal> {
    let name = &writer.session(me)?.name;
    let before = writer.state.offer_of(me);
    if before == Some(offer) {
        return Ok(());
    }
    writer.push(Event::HostOffered { session: me, offer: offer.clone(), skip: Skip });
    if before.is_none() {
        abandon_mail(writer, name, "only starts agents from now on,");
    }
    Ok(())
}

/// Asks a host to start an agent for a task.
pub(in crate::bus::rules) fn place(
    writer: &mut Writer<'_>,
    me: SessionId,
    new: &NewPlacement,
) -> Result<(), Refusal> {
    check_body("prompt", &new.task.prompt)?;
    let by = writer.session(me)?.name.clone();
    let host = writer.session(new.with)?;
    let offer = writer.state.offer_of(host.id);
    let offer = offer.ok_or_else(|| PlacementRefusal::NoHost { name: host.name.clone() })?;
    PlacementRefusal::of_offer(&host.name, offer, (writer.state.host_of(me), &new.profile))?;
    let limit = writer.state.limits().agents;
    if writer.state.live_agents() >= limit {
        return Err(Refusal::TooManyAgents { limit });
    }
    if let Some(step) = &new.task.step {
        startable(writer.state, &by, step)?;
    }
    if writer.state.placements().count() >= limits::MAX_PLACED {
        return Err(PlacementRefusal::TooMany { limit: limits::MAX_PLACED }.into());
    }
    let id = writer.new_id(TaskId::from_bits, |state, id| {
        state.tasks.contains_key(id) || state.placements.contains_key(id)
    });
    writer.push(Event::TaskPlaced(TaskPlaced {
        id,
        with: host.id,
        asker: me,
        by,
        profile: new.profile.clone(),
        prompt: new.task.prompt.clone(),
        name: new.name.clone(),
        model: new.task.model.clone(),
        cwd: new.cwd.clone(),
        permissions: new.task.permissions,
        priority: new.task.priority,
        step: new.task.step.clone(),
        skip: Skip,
    }));
    Ok(())
}

/// Ends the waiting of a task: its host does not start the agent, or whoever asked waits no longer.
pub(in crate::bus::rules) fn end_placement(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &TaskId,
    why: &str,
) -> Result<(), Refusal> {
    let placed = writer.state.placement(id);
    let placed = placed.filter(|placed| [placed.with, placed.asker].contains(&me));
    let placed = placed.ok_or_else(|| PlacementRefusal::Over { id: id.clone() })?;
    let (id, asker) = (id.clone(), placed.asker);
    writer.push(Event::PlacementEnded { id, asker, why: why.to_owned(), skip: Skip });
    Ok(())
}

/// Returns a task that waits for this host.
pub(in crate::bus::rules) fn placed_here<'a>(
    writer: &Writer<'a>,
    me: SessionId,
    id: &TaskId,
) -> Result<&'a Placement, Refusal> {
    let placed = writer.state.placement(id).filter(|placed| placed.with == me);
    placed.ok_or_else(|| PlacementRefusal::Over { id: id.clone() }.into())
}
