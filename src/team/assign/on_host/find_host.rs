//! Which host a word means: that of the bridge with this name, or the one whose machine is called so.
//!
//! Several hosts may be of one machine's name: two checkouts on one machine, or containers of one image. Then only the name of a bridge
//! says which is meant, and none is chosen for whoever asks.

use crate::bus::rules::PlacementRefusal;
use crate::bus::state::State;
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{HOST_NAME_BYTES, Host, HostOffer};
use crate::domain::name::Name;
use crate::domain::text::listed::listed;
use crate::domain::text::redact::Secrets;
use crate::domain::text::visible_letters::quoted;
use crate::team::error::HostError;

/// The hosts of a team, as this bridge sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// The own one, on a bus that several machines share.
    own: Option<Host>,
    /// Those that start agents for others, in the order in which they joined.
    bridges: Vec<Bridge>,
}

/// The bridge of a host that starts agents for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    pub(crate) session: SessionId,
    pub(crate) name: Name,
    host: Option<Host>,
    offer: HostOffer,
}

/// Where a new agent is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where<'a> {
    /// By this bridge itself.
    Here,
    /// By the bridge of another host.
    There(&'a Bridge),
}

impl Hosts {
    /// Collects the hosts of a team, for a member on `own`.
    pub(crate) fn of(state: &State, own: Option<Host>) -> Self {
        let bridges = state.offers().map(|(session, offer)| Bridge {
            session: session.id,
            name: session.name.clone(),
            host: state.host_of(session.id).cloned(),
            offer: offer.clone(),
        });
        Self { own, bridges: bridges.collect() }
    }

    /// Finds the host that a word means, for an agent of a profile.
    pub fn find(&self, word: &str, profile: &str) -> Result<Where<'_>, HostError> {
        let is_named = |bridge: &&Bridge| bridge.name.as_str().eq_ignore_ascii_case(word);
        if let Some(named) = self.bridges.iter().find(is_named) {
            return Ok(Where::There(named));
        }
        let own = self.own.as_ref();
        let is_own = own.is_some_and(|own| own.is_called(word));
        let is_called = |bridge: &&Bridge| {
            let host = bridge.host.as_ref().filter(|host| host.is_called(word));
            // The bridge of this very host starts what this one can start itself.
            host.is_some_and(|host| own.is_none_or(|own| own.id != host.id))
        };
        let called: Vec<_> = self.bridges.iter().filter(is_called).collect();
        let host = || Secrets::default().hidden(word).clipped(limits::SHOWN_NAME_CHARS);
        match called.as_slice() {
            [] if is_own => Ok(Where::Here),
            [] => {
                let known = self.bridges.iter().map(Bridge::in_words).collect();
                Err(HostError::Unknown { host: host(), known })
            }
            [first, others @ ..] => {
                let id = |bridge: &Bridge| bridge.host.as_ref().map(|host| host.id);
                if is_own || others.iter().any(|other| id(other) != id(first)) {
                    let hosts = called.iter().map(|bridge| bridge.in_words()).collect();
                    return Err(HostError::Several { host: host(), hosts, is_own });
                }
                // Several bridges of one host: one may offer what another does not.
                let fits = called.iter().find(|bridge| bridge.offer.has(profile));
                Ok(Where::There(fits.unwrap_or(first)))
            }
        }
    }

    /// Says why a bridge starts no agent of a profile for this member, if it does not.
    pub(crate) fn why_not(&self, bridge: &Bridge, profile: &Name) -> Option<PlacementRefusal> {
        PlacementRefusal::of_offer(&bridge.name, &bridge.offer, (self.own.as_ref(), profile)).err()
    }
}

impl Bridge {
    /// Says whether it offers agents of a profile.
    pub(crate) fn offers(&self, profile: &str) -> bool {
        self.offer.has(profile)
    }

    /// Names it, with its machine and what it offers.
    fn in_words(&self) -> String {
        let machine = self.host.as_ref();
        let machine =
            machine.map(|machine| format!(" on {}", quoted(&machine.name, HOST_NAME_BYTES)));
        let profiles: Vec<_> = self.offer.profiles.iter().map(Name::as_str).collect();
        format!("`{}`{} ({})", self.name, machine.unwrap_or_default(), listed(&profiles, "and"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::bus::event::{Described, Event, Joined, Skip};
    use crate::bus::storage::LogPosition;
    use crate::domain::member::{HostId, MemberKind, SessionNumber, Traits};
    use crate::view::tests::entry;

    /// The hosts of a team, for a member on "laptop": `builder` on "box" offers a profile to all.
    pub(crate) fn one_host(profile: &str) -> Hosts {
        let state = team(&[("builder", &machine(2, "box"), profile)]);
        Hosts::of(&state, Some(machine(1, "laptop")))
    }

    fn machine(number: u128, name: &str) -> Host {
        Host { id: HostId(Uuid::from_u128(number)), name: name.to_owned() }
    }

    /// A team whose hosts have bridges with these names, on these machines, with these profiles.
    fn team(bridges: &[(&str, &Host, &str)]) -> State {
        let (mut state, mut seq) = (State::default(), 0);
        let mut happens = |event| {
            seq += 1;
            state.apply(&entry(seq, event), &[0], LogPosition::default());
        };
        for (number, (name, host, profile)) in (1..).zip(bridges) {
            let session = SessionId(Uuid::from_u128(number));
            let name = Name::parse(name).unwrap();
            happens(Event::MemberJoined(Joined {
                session,
                name,
                chosen: true,
                kind: MemberKind::Peer,
                model: None,
                roles: Vec::new(),
                pid: 1,
                client: None,
            }));
            happens(Event::MemberDescribed(Described {
                session,
                number: SessionNumber::of(u64::try_from(number).unwrap()),
                traits: Traits::default(),
                cwd: None,
                host: Some((*host).clone()),
            }));
            let profiles = vec![Name::parse(profile).unwrap()];
            let offer = HostOffer { profiles, whom: vec!["all".to_owned()] };
            happens(Event::HostOffered { session, offer, skip: Skip });
        }
        state
    }

    #[track_caller]
    fn check(state: &State, own: &Host, word: &str, expected: Result<Option<&str>, &str>) {
        let hosts = Hosts::of(state, Some(own.clone()));
        let found = match hosts.find(word, "gemini") {
            Ok(Where::Here) => Ok(None),
            Ok(Where::There(bridge)) => Ok(Some(bridge.name.as_str())),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(found, expected.map_err(str::to_owned), "{word}");
    }

    #[test]
    fn a_word_means_the_bridge_of_that_name_else_the_machine_of_that_name() {
        let (own, box_) = (machine(1, "laptop"), machine(2, "Box"));
        let state = team(&[("builder", &box_, "codex"), ("laptop", &box_, "codex")]);
        check(&state, &own, "BUILDER", Ok(Some("builder")));
        // Whoever means the own machine leaves the word out.
        check(&state, &own, "laptop", Ok(Some("laptop")));
        let state = team(&[("builder", &box_, "codex"), ("host", &own, "codex")]);
        check(&state, &own, "box", Ok(Some("builder")));
        check(&state, &own, "laptop", Ok(None));
        let known = "no host `shed` starts agents for this team: there are `builder` on \"Box\" (codex) and `host` on \"laptop\" (codex)";
        check(&state, &own, "shed", Err(known));
    }

    #[test]
    fn of_two_hosts_on_machines_of_one_name_none_is_chosen() {
        let (own, one, other) = (machine(1, "laptop"), machine(2, "box"), machine(3, "BOX"));
        let state = team(&[("host", &one, "codex"), ("host-2", &other, "gemini")]);
        let several = "several hosts are called \"box\": give the name of a bridge as `host`, of `host` on \"box\" (codex) or `host-2` on \"BOX\" (gemini)";
        check(&state, &own, "box", Err(several));
        check(&state, &own, "host-2", Ok(Some("host-2")));
        // The asker's own machine is one of them.
        let state = team(&[("host", &other, "codex")]);
        let one_or_own = "several hosts are called \"box\": give the name of a bridge as `host`, of `host` on \"BOX\" (codex), or leave `host` out for an agent of your own";
        check(&state, &one, "box", Err(one_or_own));
        // Two bridges of one host are no two hosts, and one of them has the profile.
        let state = team(&[("host", &one, "codex"), ("host-2", &one, "gemini")]);
        check(&state, &own, "box", Ok(Some("host-2")));
        check(&state, &one, "box", Ok(None));
    }
}
