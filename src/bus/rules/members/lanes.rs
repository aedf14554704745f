//! Claiming a lane, which has one owner at a time, and giving it up.

use crate::bus::event::{Event, LaneMoved};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::messages::check_rate;
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Address, Group, is_same_word};
use crate::domain::name::Name;

/// Makes a session the owner of a lane, unless it is that already. It takes the lane from an owner that does not respond, who is told.
pub(in crate::bus::rules) fn claim_lane(
    writer: &mut Writer<'_>,
    me: SessionId,
    lane: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    let owner = writer.state.lane_owner(lane.as_str());
    let absent: Vec<_> = claimed_by_others(writer.state, me, lane).collect();
    match owner {
        Some(owner) if owner.id == me.id && absent.is_empty() => return Ok(()),
        Some(owner) if owner.id != me.id && !owner.hung => {
            return Err(Refusal::LaneTaken { lane: lane.clone(), by: owner.name.clone() });
        }
        _ => {}
    }
    check_word(writer.state, me.id, lane)?;
    // As for requests: a release is never refused, so without this the two in turn would have no limit.
    check_rate(writer, &me.name)?;
    if me.lanes.len() >= limits::LANES_OF_ONE {
        return Err(Refusal::TooManyLanes { limit: limits::LANES_OF_ONE });
    }
    for before in absent {
        writer.push(Event::LaneReleased(LaneMoved { session: before.id, lane: lane.clone() }));
        let address = Group::Word(lane.clone());
        let text = notice![
            me.name,
            " has claimed the lane ",
            address,
            " while you did not respond: messages to it reach ",
            me.name
        ];
        writer.notice(&before.name, text);
    }
    writer.push(Event::LaneClaimed(LaneMoved { session: me.id, lane: lane.clone() }));
    Ok(())
}

/// Returns the other sessions that have claimed a lane. If they are not its owner, they do not respond.
fn claimed_by_others<'a>(
    state: &'a State,
    me: &'a Session,
    lane: &'a Label,
) -> impl Iterator<Item = &'a Session> {
    let others = state.live_sessions().into_iter().filter(|other| other.id != me.id);
    others.filter(|other| other.has_claimed(lane.as_str()))
}

/// Refuses a lane whose address means everybody or whoever leads, or others by their role or capability: its owner would get what is written to them.
pub(super) fn check_word(state: &State, me: SessionId, lane: &Label) -> Result<(), Refusal> {
    let address = format!("@{lane}");
    let means_group =
        matches!(Address::parse(&address), Ok(Address::Group(group)) if !group.is_lead());
    if !means_group || Name::parse(lane.as_str()).is_ok_and(|name| name.means_others()) {
        return Err(Refusal::LaneMeansMore { lane: lane.clone() });
    }
    let mut others = state.live_sessions().into_iter().filter(|other| other.id != me);
    let word = lane.as_str();
    match others.find(|other| other.is_able(word) || is_same_word(other.name.as_str(), word)) {
        Some(other) => Err(Refusal::LaneMeansOthers { lane: lane.clone(), of: other.name.clone() }),
        None => Ok(()),
    }
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
    writer.push(Event::LaneReleased(LaneMoved { session: me.id, lane: lane.clone() }));
    Ok(())
}

/// Releases a lane whose claimer did not get the answer to its claim. That costs nothing, as its client did nothing.
pub(in crate::bus::rules) fn lose_lane(
    writer: &mut Writer<'_>,
    me: SessionId,
    lane: &Label,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    if me.has_claimed(lane.as_str()) {
        writer.push(Event::LaneReleased(LaneMoved { session: me.id, lane: lane.clone() }));
    }
    Ok(())
}
