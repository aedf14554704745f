//! Claiming a lane, which has one owner at a time, and giving it up.

use crate::bus::event::{Event, LaneMoved};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::messages::check_rate;
use crate::bus::rules::refusal::Refusal;
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Label;

/// Makes a session the owner of a lane, unless it is that already.
pub(in crate::bus::rules) fn claim_lane(
    writer: &mut Writer<'_>,
    me: SessionId,
    lane: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    match writer.state.lane_owner(lane.as_str()) {
        Some(owner) if owner.id == me.id => return Ok(()),
        Some(owner) => {
            return Err(Refusal::LaneTaken { lane: lane.clone(), by: owner.name.clone() });
        }
        None => {}
    }
    if me.lanes.len() >= limits::LANES_OF_ONE {
        return Err(Refusal::TooManyLanes { limit: limits::LANES_OF_ONE });
    }
    writer.push(Event::LaneClaimed(LaneMoved { session: me.id, lane: lane.clone() }));
    Ok(())
}

/// Gives up a lane. Whoever has said it does it for longest owns it then.
pub(in crate::bus::rules) fn release_lane(
    writer: &mut Writer<'_>,
    me: SessionId,
    lane: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    if !me.does_lane(lane.as_str()) {
        let by = writer.state.lane_owner(lane.as_str()).map(|owner| owner.name.clone());
        return Err(Refusal::NotYourLane { lane: lane.clone(), by });
    }
    check_rate(writer, &me.name)?;
    writer.push(Event::LaneReleased(LaneMoved { session: me.id, lane: lane.clone() }));
    Ok(())
}
