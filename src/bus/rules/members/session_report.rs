//! Reports of a bridge on its agent: ready, delivery methods, activity, model, tools, usage.

use super::peer_signals::{Subject, tell_joined};
use crate::bus::event::{Event, Joined, Skip};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::domain::ids::SessionId;
use crate::domain::member::{Activity, Tools};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::task::result::Usage;

pub(in crate::bus::rules) fn ready(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    model: Option<&str>,
    pid: u32,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.pid.is_none() {
        tell_joined(writer, &Subject::of(agent));
    }
    writer.push(Event::MemberJoined(Joined {
        session,
        name: agent.name.clone(),
        chosen: writer.state.member(&agent.name).is_some_and(|member| member.chosen),
        kind: agent.kind,
        model: model.map(str::to_owned),
        roles: agent.roles.clone(),
        pid,
        client: None,
    }));
    Ok(())
}

pub(in crate::bus::rules) fn delivery_methods(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    methods: &[DeliveryMethod],
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.methods != methods {
        writer.push(Event::MemberMethods { session, methods: methods.to_vec() });
    }
    Ok(())
}

pub(in crate::bus::rules) fn activity(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    activity: Activity,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.activity != activity {
        writer.push(Event::MemberActivity { session, activity });
    }
    Ok(())
}

pub(in crate::bus::rules) fn model(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    model: &str,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.model.as_deref() != Some(model) {
        writer.push(Event::MemberModel { session, model: model.to_owned() });
    }
    Ok(())
}

pub(in crate::bus::rules) fn tools(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    tools: Tools,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.tools != tools {
        writer.push(Event::MemberTools { session, tools });
    }
    Ok(())
}

pub(in crate::bus::rules) fn turn_used(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    usage: &Usage,
) -> Result<(), Refusal> {
    writer.acts_for(me, session)?;
    writer.push(Event::TurnUsed { session, usage: usage.clone(), skip: Skip });
    Ok(())
}
