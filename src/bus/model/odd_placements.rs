//! Events of hosts and of the tasks that wait for them, whatever the state is.

use crate::bus::event::{Body, Event, Skip, TaskPlaced};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::{ALL_MACHINES, HostOffer};
use crate::domain::messaging::Priority;
use crate::domain::name::Name;

/// Returns an event of a task between two sessions. The names say of which kind.
pub(super) fn of(
    id: TaskId,
    [with, asker]: [SessionId; 2],
    [by, profile]: [Name; 2],
    prompt: Body,
) -> Event {
    match (by.as_str(), profile.as_str()) {
        ("a", _) => {
            let offer = HostOffer { profiles: vec![profile], whom: vec![ALL_MACHINES.to_owned()] };
            Event::HostOffered { session: with, offer, skip: Skip }
        }
        ("b", _) => Event::PlacementEnded { id, asker, why: "no".to_owned(), skip: Skip },
        _ => Event::TaskPlaced(TaskPlaced {
            id,
            with,
            asker,
            by,
            profile,
            prompt,
            name: None,
            model: None,
            cwd: None,
            permissions: None,
            priority: Priority::Normal,
            step: None,
            skip: Skip,
        }),
    }
}
