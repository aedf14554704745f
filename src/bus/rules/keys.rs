//! Making and revoking keys for the HTTP API, which only the person at the command line does.

use super::command::NewKey;
use super::event_writer::Writer;
use super::refusal::Refusal;
use crate::bus::event::{Event, Skip};
use crate::domain::ids::KeyId;
use crate::domain::limits;

pub(super) fn make(writer: &mut Writer<'_>, new: &NewKey) -> Result<(), Refusal> {
    if writer.state.keys.len() >= limits::MAX_KEYS {
        return Err(Refusal::TooManyKeys);
    }
    let mut scopes = new.scopes.clone();
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        return Err(Refusal::Empty { what: "the list of scopes" });
    }
    if new.name.means_others() && writer.state.member(&new.name).is_none() {
        return Err(Refusal::NameMeansOthers { name: new.name.clone() });
    }
    let id = writer.new_id(KeyId::from_bits, |state, id| state.keys.contains_key(id));
    let NewKey { name, hash, roles, traits, .. } = new.clone();
    writer.push(Event::KeyMade { id, name, scopes, hash, roles, traits, skip: Skip });
    Ok(())
}

pub(super) fn revoke(writer: &mut Writer<'_>, id: &KeyId) -> Result<(), Refusal> {
    if !writer.state.keys.contains_key(id) {
        return Err(Refusal::UnknownKey { id: id.clone() });
    }
    writer.push(Event::KeyRevoked { id: id.clone(), skip: Skip });
    Ok(())
}
