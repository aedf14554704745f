//! Asking an agent to stop.

use crate::bus::event::{Body, Event};
use crate::bus::rules::asker::Asker;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::known_member;
use crate::bus::rules::notice::{notice, quoted};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::StopMode;
use crate::domain::member::MemberKind;
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;

/// What an agent is asked to do, without a reason.
const STOP: &str = "finish your current work and stop";

pub(in crate::bus::rules) fn stop(
    writer: &mut Writer<'_>,
    by: Asker<'_>,
    agent: &str,
    reason: Option<&str>,
    kill: bool,
) -> Result<(), Refusal> {
    let name = known_member(writer.state, agent)?;
    let target = writer.state.live(name).ok_or_else(|| Refusal::Gone { name: name.clone() })?;
    if target.kind != MemberKind::Agent {
        let hint = match writer.state.offer_of(target.id) {
            Some(_) => "only its own user can stop it; name an agent that it runs",
            None => "only its own user can stop it; send_message can ask it to",
        };
        return Err(Refusal::NotAnAgent { name: name.clone(), kind: target.kind.as_str(), hint });
    }
    let mode = if kill { StopMode::AtOnce } else { StopMode::Gracefully };
    if target.stop == Some(mode) || target.stop == Some(StopMode::AtOnce) {
        return Ok(());
    }
    if !kill {
        writer.post(shutdown(by, name, reason));
    }
    let bridge = target.owner.and_then(|owner| writer.state.session(owner));
    let (human, by) = (by.is_human(), by.recorded(bridge, name));
    writer.push(Event::StopAsked { session: target.id, by, kill, human });
    Ok(())
}

/// Returns the message by which an agent learns that it is to stop. The bridge says it for the person at the command line, with the
/// person's own words in quotation marks: older versions can read that.
fn shutdown(by: Asker<'_>, to: &Name, reason: Option<&str>) -> Post {
    match by {
        Asker::Session(session) => {
            let text = reason.unwrap_or(STOP).to_owned();
            let from = session.name.clone();
            Post::new(MessageKind::Shutdown, from, to.clone(), Body::Text(text))
        }
        Asker::Human => {
            let asked = notice!["your user asks you at the command line to ", STOP];
            let asked = match reason {
                Some(reason) => asked.and(&": ").and(&quoted(reason, usize::MAX)),
                None => asked,
            };
            Post { kind: MessageKind::Shutdown, ..Post::notice(to.clone(), asked) }
        }
    }
}
