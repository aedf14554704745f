//! The path below which the pages stand. It is a secret of the user: browsers send a cookie to every port of a host, also to a server of
//! somebody else on this machine, but only below the cookie's path.

use crate::sys::random_ids;

/// Hexadecimal digits of the secret: 128 bits.
const DIGITS: usize = 32;

/// A base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath {
    /// With a slash at both ends.
    path: String,
}

impl BasePath {
    /// Makes a new one.
    pub fn random() -> Self {
        let token = random_ids::token();
        Self::of(token.get(..DIGITS).unwrap_or(&token))
    }

    /// Reads one that was stored; none if it is none.
    pub fn read(stored: &[u8]) -> Option<Self> {
        let secret = std::str::from_utf8(stored).ok()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (secret.len() == DIGITS && secret.bytes().all(is_digit)).then(|| Self::of(secret))
    }

    fn of(secret: &str) -> Self {
        Self { path: format!("/{secret}/") }
    }

    /// Returns what is stored.
    pub fn stored(&self) -> &str {
        self.path.trim_matches('/')
    }

    /// Returns the path, with a slash at both ends.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Returns the part of a path that is below, without a slash at its beginning; none if it is elsewhere.
    pub(in crate::web) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_random_and_is_read_as_it_was_stored() {
        let path = BasePath::random();
        assert_ne!(path, BasePath::random());
        assert_eq!(BasePath::read(path.stored().as_bytes()), Some(path.clone()));
        assert_eq!(path.below(&format!("{}tasks", path.as_str())), Some("tasks"));
        assert_eq!(path.below("/tasks"), None);
        for wrong in ["", "/", "x", &"g".repeat(32), &"A".repeat(32), &"a".repeat(33)] {
            assert_eq!(BasePath::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
