//! The secrets that let somebody in: the token of the URL, which is used once, and the cookie that it is exchanged for.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use super::same_text::is_same;
use crate::domain::{limits, wait_times};
use crate::sys::mutex::lock;
use crate::sys::random_ids;

/// The secrets of one server.
pub(in crate::web) struct EntryKeys {
    cookie_name: String,
    /// The base path of the pages, to which alone a browser sends the cookie.
    base_path: String,
    /// The value of the cookie. It ends with the server.
    cookie: String,
    /// What forms send back, so that only a page of ours can send them.
    form_token: String,
    door: Mutex<Door>,
    /// Apart from it, as a program that polls with a revoked key must not keep out its user.
    api_door: Mutex<Door>,
}

/// What signing in changes.
#[derive(Default)]
struct Door {
    /// The token of the URL; none once it was used.
    token: Option<String>,
    wrong: u32,
    locked_until: Option<Instant>,
}

/// What came of an attempt to sign in.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::web) enum SignIn {
    /// The header that sets the cookie.
    Welcome(String),
    /// The token is wrong, or was used.
    Refused,
    /// There were too many wrong tokens: try again after this time.
    LockedOut(Duration),
}

impl EntryKeys {
    /// Makes new secrets for a server at a port. Cookies do not tell ports apart, so its name has the port.
    pub(in crate::web) fn new(port: u16, base_path: String) -> Self {
        Self {
            base_path,
            cookie_name: format!("cli-team-bridge-{port}"),
            cookie: random_ids::token(),
            form_token: random_ids::token(),
            door: Mutex::new(Door { token: Some(random_ids::token()), ..Door::default() }),
            api_door: Mutex::default(),
        }
    }

    /// Returns the token of the URL, until it is used.
    pub(in crate::web) fn sign_in_token(&self) -> Option<String> {
        lock(&self.door).token.clone()
    }

    pub(in crate::web) fn form_token(&self) -> &str {
        &self.form_token
    }

    pub(in crate::web) fn is_form_token(&self, given: &str) -> bool {
        is_same(&self.form_token, given)
    }

    /// Says whether a request has the cookie. A stale cookie of an earlier server is no attempt to guess.
    pub(in crate::web) fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::COOKIE).iter();
        let cookies = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
        let mut own = cookies.filter_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie_name).then_some(value)
        });
        own.any(|value| is_same(&self.cookie, value))
    }

    /// Returns how long nobody signs in.
    pub(in crate::web) fn locked_out(&self, now: Instant) -> Option<Duration> {
        lock(&self.door).locked_out(now)
    }

    /// Returns how long no wrong key of the API is tried.
    pub(in crate::web) fn keys_locked_out(&self, now: Instant) -> Option<Duration> {
        lock(&self.api_door).locked_out(now)
    }

    /// Counts a wrong key of the API.
    pub(in crate::web) fn count_wrong_key(&self, now: Instant) {
        lock(&self.api_door).count_wrong(now);
    }

    /// Exchanges the token of the URL for the cookie, once. A wrong token that another site has made a browser send does not count: any
    /// page could lock everybody out.
    pub(in crate::web) fn sign_in(
        &self,
        given: &str,
        now: Instant,
        is_from_elsewhere: bool,
    ) -> SignIn {
        let mut door = lock(&self.door);
        if let Some(left) = door.locked_out(now) {
            return SignIn::LockedOut(left);
        }
        if door.token.as_deref().is_some_and(|token| is_same(token, given)) {
            door.token = None;
            door.wrong = 0;
            let Self { cookie_name: name, cookie: value, base_path: path, .. } = self;
            return SignIn::Welcome(format!(
                "{name}={value}; HttpOnly; SameSite=Strict; Path={path}"
            ));
        }
        if !is_from_elsewhere {
            door.count_wrong(now);
        }
        SignIn::Refused
    }
}

impl Door {
    fn locked_out(&mut self, now: Instant) -> Option<Duration> {
        let until = self.locked_until?;
        let left = until.saturating_duration_since(now);
        if left.is_zero() {
            self.locked_until = None;
            return None;
        }
        Some(left)
    }

    fn count_wrong(&mut self, now: Instant) {
        self.wrong += 1;
        if self.wrong >= limits::WEB_WRONG_TOKENS {
            self.wrong = 0;
            self.locked_until = Some(now + wait_times::WEB_LOCK_OUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(line: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, line.parse().unwrap());
        headers
    }

    #[test]
    fn the_token_is_exchanged_for_the_cookie_once() {
        let (keys, now) = (EntryKeys::new(9, "/base/".to_owned()), Instant::now());
        let token = keys.sign_in_token().unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(keys.sign_in("x", now, false), SignIn::Refused);
        let SignIn::Welcome(cookie) = keys.sign_in(&token, now, false) else {
            panic!("it is right")
        };
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/base/"), "{cookie}");
        let (pair, _) = cookie.split_once(';').unwrap();
        assert!(keys.has_cookie(&cookies(&format!("other=1; {pair}"))));
        assert!(!keys.has_cookie(&cookies("cli-team-bridge-9=x")));
        assert!(!keys.has_cookie(&cookies(&pair.replace("-9=", "-8="))));
        assert_eq!(keys.sign_in(&token, now, false), SignIn::Refused);
        assert_eq!(keys.sign_in_token(), None);
    }

    #[test]
    fn after_too_many_wrong_tokens_nobody_signs_in_for_a_while() {
        let (keys, now) = (EntryKeys::new(9, "/base/".to_owned()), Instant::now());
        let token = keys.sign_in_token().unwrap();
        for _ in 0..100 {
            assert_eq!(keys.sign_in("wrong", now, true), SignIn::Refused);
        }
        for _ in 0..limits::WEB_WRONG_TOKENS {
            assert_eq!(keys.sign_in("wrong", now, false), SignIn::Refused);
        }
        assert!(matches!(keys.sign_in(&token, now, false), SignIn::LockedOut(_)));
        assert!(keys.locked_out(now).is_some());
        let later = now + wait_times::WEB_LOCK_OUT;
        assert_eq!(keys.locked_out(later), None);
        assert!(matches!(keys.sign_in(&token, later, false), SignIn::Welcome(_)));
    }
}
