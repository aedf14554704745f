//! Which host a word means: that of the bridge with this name, or the one whose machine is called so.
//!
//! Several hosts may be of one machine's name: two checkouts on one machine, or containers of one image. Then only the name of a bridge
//! says which is meant, and none is chosen for whoever asks.

use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{HOST_NAME_BYTES, Host, HostOffer};
use crate::domain::name::Name;
use crate::domain::text::listed::listed;
use crate::domain::text::redact::Secrets;
use crate::domain::text::visible_letters::quoted;
use crate::team::error::HostError;

/// Where a new agent is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// By this bridge itself.
    Here,
    /// By the bridge of another host.
    There { with: SessionId, bridge: Name },
}

/// Finds the host that a word means for a member on `own`, for an agent of a profile.
pub(crate) fn find_host(
    state: &State,
    own: Option<&Host>,
    (word, profile): (&str, &str),
) -> Result<Where, HostError> {
    let there = |(session, _): &(&Session, &HostOffer)| Where::There {
        with: session.id,
        bridge: session.name.clone(),
    };
    let offers: Vec<_> = state.offers().collect();
    let is_named = |(session, _): &&(&Session, &HostOffer)| {
        session.name.as_str().eq_ignore_ascii_case(word)
    };
    if let Some(named) = offers.iter().find(is_named) {
        return Ok(there(named));
    }
    let is_own = own.is_some_and(|own| own.is_called(word));
    let machine = |session: &Session| state.host_of(session.id);
    let mut called = offers.clone();
    called.retain(|(session, _)| {
        let machine = machine(session).filter(|machine| machine.is_called(word));
        // The bridge of this very host starts what this one can start itself.
        machine.is_some_and(|machine| own.is_none_or(|own| own.id != machine.id))
    });
    let host = || Secrets::default().hidden(word).clipped(limits::SHOWN_NAME_CHARS);
    match called.as_slice() {
        [] if is_own => Ok(Where::Here),
        [] => {
            let known = offers.iter().map(|offer| in_words(state, offer)).collect();
            Err(HostError::Unknown { host: host(), known })
        }
        [first, others @ ..] => {
            let is_same = |other: &(&Session, &HostOffer)| {
                machine(other.0).map(|host| host.id) == machine(first.0).map(|host| host.id)
            };
            if is_own || !others.iter().all(is_same) {
                let hosts = called.iter().map(|offer| in_words(state, offer)).collect();
                return Err(HostError::Several { host: host(), hosts, is_own });
            }
            // Several bridges of one host: one may offer what another does not.
            let fits = called.iter().find(|(_, offer)| offer.has(profile));
            Ok(there(fits.unwrap_or(first)))
        }
    }
}

/// Names a bridge, with its machine and what it offers.
fn in_words(state: &State, (session, offer): &(&Session, &HostOffer)) -> String {
    let machine = state.host_of(session.id);
    let machine = machine.map(|machine| format!(" on {}", quoted(&machine.name, HOST_NAME_BYTES)));
    let profiles: Vec<_> = offer.profiles.iter().map(Name::as_str).collect();
    format!("`{}`{} ({})", session.name, machine.unwrap_or_default(), listed(&profiles, "and"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::bus::event::{Described, Event, Joined, Skip};
    use crate::bus::storage::LogPosition;
    use crate::domain::member::{HostId, MemberKind, SessionNumber, Traits};
    use crate::view::tests::entry;

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
        let found = find_host(state, Some(own), (word, "gemini"));
        let found = match &found {
            Ok(Where::Here) => Ok(None),
            Ok(Where::There { bridge, .. }) => Ok(Some(bridge.as_str())),
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
