//! `agents.json`: the live members, for people and scripts.

use serde_json::{Value, json};

use crate::bus::state::State;
use crate::domain::time::{Now, iso8601};

/// Writes the view of a state.
pub(crate) fn of(state: &State, now: Now) -> String {
    let agents: Vec<_> = state
        .live_sessions()
        .into_iter()
        .map(|session| {
            let mut view = json!({
                "name": session.name,
                "id": session.number.map(|number| number.to_string()),
                "kind": session.kind.as_str(),
                "status": session.status(),
                "session": session.id,
                "profile": session.profile,
                "model": session.model,
                "pid": session.pid,
                "cwd": session.cwd,
                "roles": session.roles,
                "task": session.running,
            });
            if let Some(view) = view.as_object_mut().filter(|_| state.is_lead(session.id)) {
                view.insert("lead".to_owned(), Value::Bool(true));
            }
            // These stand there only where there are any.
            let traits = serde_json::to_value(&session.traits).expect("traits are plain data");
            if let (Some(view), Value::Object(traits)) = (view.as_object_mut(), traits) {
                view.extend(traits);
                let holds = state.owned_by(session);
                if !holds.is_empty() {
                    view.insert("holds".to_owned(), json!(holds));
                }
            }
            view
        })
        .collect();
    let view = json!({ "written": iso8601(now.wall_ms), "agents": agents });
    let mut text = serde_json::to_string_pretty(&view).expect("a view is plain data");
    text.push('\n');
    text
}

/// Says whether two views differ in more than the time of writing.
pub(crate) fn differs(one: &str, other: &str) -> bool {
    let agents = |view: &str| {
        let mut view: Value = serde_json::from_str(view).ok()?;
        view.get_mut("agents").map(Value::take)
    };
    agents(one) != agents(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Body, Entry, Event, LaneMoved, RequestOpened};
    use crate::bus::storage::LogPosition;
    use crate::bus::storage::contract::{joined, name, session};
    use crate::domain::ids::{CommandId, MessageId, RequestId};
    use crate::domain::member::Label;
    use crate::domain::time::Tick;

    #[test]
    fn the_time_of_writing_alone_is_no_difference() {
        let at = |wall_ms| of(&State::default(), Now { wall_ms, tick: Tick { boot: 0, ms: 0 } });
        assert!(!differs(&at(1), &at(2)));
        assert!(differs(&at(1), ""));
    }

    #[test]
    fn another_list_of_members_is_a_difference_wherever_the_time_stands() {
        let view = |agents: Value| json!({ "written": "now", "agents": agents }).to_string();
        let (empty, ann) = (view(json!([])), view(json!([{ "name": "ann" }])));
        assert!(differs(&empty, &ann));
        assert!(!differs(&ann, &ann));
    }

    #[test]
    fn a_member_is_shown_with_what_it_holds() {
        let (id, lane) = (RequestId::from_bits(5), Label::parse("storage").unwrap());
        let opened = RequestOpened {
            id: id.clone(),
            message: MessageId::from_bits(5),
            from: name("member-2"),
            to: vec![name("member-1")].into(),
            only: None,
            description: Body::Text("x".to_owned()),
            context: None,
            nudge_ms: 1,
            ttl_ms: 1,
            lease_ms: None,
            urgency: None,
        };
        let (by, owner) = (name("member-1"), session(1));
        let events = vec![
            joined(1),
            joined(2),
            Event::LaneClaimed(LaneMoved { session: owner, lane }),
            Event::RequestOpened(opened),
            Event::RequestClaimed { id: id.clone(), by, session: owner },
        ];
        let tick = Tick { boot: 0, ms: 0 };
        let id_of_command = CommandId(uuid::Uuid::from_u128(1));
        let entry = Entry { seq: 1, ts: 0, tick, id: id_of_command, by: None, events };
        let mut state = State::default();
        state.apply(&entry, &[0, 1, 2, 3, 4], LogPosition::default());
        let view: Value = serde_json::from_str(&of(&state, Now { wall_ms: 0, tick })).unwrap();
        assert_eq!(view["agents"][0]["holds"], json!([id.to_string(), "@storage"]), "{view:#}");
        assert!(view["agents"][1].get("holds").is_none(), "it holds nothing: {view:#}");
    }
}
