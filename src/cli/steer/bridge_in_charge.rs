//! The bridge that has to act on a wish, and why it has not done so.

use std::time::Duration;

use super::Steering;
use crate::domain::ids::SessionId;

impl Steering {
    /// Says why a bridge has not fulfilled a wish about a subject within a time.
    pub(super) fn why_silent(
        &self,
        bridge: Option<SessionId>,
        holds: &str,
        limit: Duration,
    ) -> String {
        let known = bridge.and_then(|bridge| {
            self.look(|state| {
                let session = state.session(bridge)?;
                Some((session.name.to_string(), session.pid, session.hung))
            })
        });
        let Some((name, pid, is_hung)) = known else {
            return format!("the bridge that {holds} is gone");
        };
        let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        let bridge_is_held = bridge.is_some_and(|bridge| self.is_held(bridge));
        match (bridge_is_held, is_hung) {
            (false, _) => format!("the bridge that {holds} (`{name}`{pid}) has ended"),
            (true, true) => format!(
                "the bridge that {holds} (`{name}`{pid}) does not respond: it shows no sign of \
                    life"
            ),
            (true, false) => format!(
                "the bridge that {holds} (`{name}`{pid}) has not done it within {} s",
                limit.as_secs()
            ),
        }
    }
}
