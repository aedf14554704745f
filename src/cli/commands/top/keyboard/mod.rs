//! The keys that a person presses, from the bytes that a terminal sends.

mod input_bytes;
mod read_keys;

pub(super) use self::input_bytes::Input;
pub(super) use self::read_keys::Keyboard;
