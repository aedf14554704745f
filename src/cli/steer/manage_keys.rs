//! Makes and revokes keys for the HTTP API.

use super::Steering;
use crate::bus::event::Event;
use crate::bus::rules::{HumanWish, NewKey};
use crate::bus::state::AccessKey;
use crate::cli::Failure;
use crate::domain::access_key::{KeyScope, hash_of_secret, secret_of};
use crate::domain::ids::KeyId;
use crate::domain::member::{Label, Traits};
use crate::domain::name::Name;
use crate::sys::random_ids;

/// A key that was just made, with the only copy of its secret.
pub(crate) struct MadeKey {
    pub(crate) id: KeyId,
    pub(crate) scopes: Vec<KeyScope>,
    pub(crate) secret: String,
}

impl Steering {
    /// Makes a key of a member's name, which has these roles and traits in the team.
    pub(crate) async fn make_key(
        &self,
        name: &Name,
        scopes: Vec<KeyScope>,
        (roles, traits): (Vec<Label>, Traits),
    ) -> Result<MadeKey, Failure> {
        let secret = secret_of(random_ids::secret());
        let hash = hash_of_secret(&secret).ok_or("the new secret is malformed")?;
        let new = NewKey { name: name.clone(), scopes, hash, roles, traits };
        let made = self.wish(HumanWish::MakeKey(new)).await?;
        let found = made.events.into_iter().find_map(|event| match event {
            Event::KeyMade { id, scopes, .. } => Some((id, scopes)),
            _ => None,
        });
        let (id, scopes) = found.ok_or("the key was not stored")?;
        Ok(MadeKey { id, scopes, secret })
    }

    /// Returns a valid key.
    pub(crate) fn key(&self, id: &KeyId) -> Option<AccessKey> {
        self.look(|state| {
            let mut keys = state.keys().into_iter();
            let (_, key) = keys.find(|(known, _)| *known == id)?;
            Some(key.clone())
        })
    }

    /// Revokes a key: from now on no server takes it.
    pub(crate) async fn revoke_key(&self, id: &KeyId) -> Result<(), Failure> {
        self.wish(HumanWish::RevokeKey(id.clone())).await.map(drop)
    }
}
