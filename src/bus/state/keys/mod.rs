//! The keys for the HTTP API: valid from their making until they are revoked.

mod access_key;
mod make_and_revoke;

pub use self::access_key::AccessKey;
