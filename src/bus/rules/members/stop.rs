//! Asking an agent to stop.

use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::known_member;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::StopMode;
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::MessageKind;

pub(in crate::bus::rules) fn stop(
    writer: &mut Writer<'_>,
    me: SessionId,
    agent: &str,
    reason: Option<&str>,
    kill: bool,
) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let name = known_member(writer.state, agent)?;
    let target = writer.state.live(name).ok_or_else(|| Refusal::Gone { name: name.clone() })?;
    if target.kind != MemberKind::Agent {
        let hint = "only its own user can stop it; send_message can ask it to";
        return Err(Refusal::NotAnAgent { name: name.clone(), kind: target.kind.as_str(), hint });
    }
    let mode = if kill { StopMode::AtOnce } else { StopMode::Gracefully };
    if target.stop == Some(mode) || target.stop == Some(StopMode::AtOnce) {
        return Ok(());
    }
    if !kill {
        let text = reason.unwrap_or("finish your current work and stop").to_owned();
        writer.post(Post::new(
            MessageKind::Shutdown,
            by.name.clone(),
            name.clone(),
            Body::Text(text),
        ));
    }
    writer.push(Event::StopAsked { session: target.id, by: by.name.clone(), kill });
    Ok(())
}
