//! Why no host is asked to start an agent, or may no longer start it.

use crate::domain::ids::TaskId;
use crate::domain::member::{HOST_NAME_BYTES, Host, HostOffer};
use crate::domain::name::Name;
use crate::domain::text::listed::listed;
use crate::domain::text::visible_letters::quoted;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementRefusal {
    #[error("`{name}` starts no agents for others: list_agents shows which members offer that")]
    NoHost { name: Name },
    /// The host's user has not named this machine.
    #[error(
        "`{host}` starts agents for {} only: its user can add this machine with `host --for`",
        machines(.whom)
    )]
    ForOthers { host: Name, whom: Vec<String> },
    #[error("`{host}` does not offer the profile `{profile}`, but {}", offered(.profiles))]
    ProfileNotOffered { profile: Name, host: Name, profiles: Vec<Name> },
    #[error(
        "{limit} tasks wait for hosts to start their agents, which is the limit: try again later"
    )]
    TooMany { limit: usize },
    /// A message to the bridge of a host.
    #[error("`{name}` starts agents for others and reads no messages: {}", instead(.name, .readers))]
    ReadsNothing {
        name: Name,
        /// The members to write to instead, for a sentence; empty if there are none.
        readers: String,
    },
    /// It was taken up or refused, or whoever asked has left or waits no longer.
    #[error("`{id}` no longer waits for a host")]
    Over { id: TaskId },
}

impl PlacementRefusal {
    /// Refuses what a host does not offer: an agent of this profile, for the members on this machine.
    pub fn of_offer(
        host: &Name,
        offer: &HostOffer,
        (machine, profile): (Option<&Host>, &Name),
    ) -> Result<(), Self> {
        let host = host.clone();
        if !offer.is_for(machine) {
            return Err(Self::ForOthers { host, whom: offer.whom.clone() });
        }
        if !offer.has(profile.as_str()) {
            let (profile, profiles) = (profile.clone(), offer.profiles.clone());
            return Err(Self::ProfileNotOffered { profile, host, profiles });
        }
        Ok(())
    }

    /// Refuses a message to the bridge of a host. It names agents that the bridge runs, and whoever leads.
    pub(in crate::bus::rules) fn reads_nothing(
        name: Name,
        agents: &[&Name],
        lead: Option<&Name>,
    ) -> Self {
        let agents = agents.iter().map(|agent| format!("its agent `{agent}`"));
        let lead = lead.map(|lead| format!("`{lead}`, which leads"));
        let readers = listed(&agents.chain(lead).collect::<Vec<_>>(), "or");
        Self::ReadsNothing { name, readers }
    }
}

/// Others have written the names.
fn machines(whom: &[String]) -> String {
    let names: Vec<_> = whom.iter().map(|name| quoted(name, HOST_NAME_BYTES)).collect();
    listed(&names, "and")
}

fn offered(profiles: &[Name]) -> String {
    let profiles: Vec<_> = profiles.iter().map(|profile| format!("`{profile}`")).collect();
    listed(&profiles, "and")
}

/// Says what to do instead of writing to the bridge of a host.
fn instead(name: &Name, readers: &str) -> String {
    let start = format!("assign_task with `{name}` as `host` starts an agent there");
    if readers.is_empty() { start } else { format!("write to {readers}; {start}") }
}
