//! A POST that curl sends: so certificates, proxies and their updates are those of the user's system. Its input is a configuration, so
//! that nobody else sees the URL among the arguments of a process.
//!
//! A notification has the form that ntfy takes: the text is the body, title, priority and tag are headers.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::alerts::Notification;
use crate::domain::alert_kind::AlertKind;
use crate::domain::wait_times;

/// The arguments of curl, which reads the rest on stdin.
pub(super) const ARGS: [&str; 2] = ["--config", "-"];

/// A POST, before it is signed.
#[derive(Debug)]
pub(in crate::alerts) struct Post {
    pub(in crate::alerts) url: String,
    pub(in crate::alerts) headers: Vec<String>,
    pub(in crate::alerts) body: String,
}

impl Post {
    /// Returns the POST of a notification.
    pub(super) fn of(url: &str, notification: &Notification) -> Self {
        let (tag, priority) = ntfy_look(notification);
        let headers = vec![
            "Content-Type: text/plain; charset=utf-8".to_owned(),
            format!("Title: {}", notification.title),
            format!("Priority: {priority}"),
            format!("Tags: {tag}"),
        ];
        Self { url: url.to_owned(), headers, body: notification.text.clone() }
    }
}

/// Returns what curl reads. With a secret, `X-Hub-Signature-256` signs the body, as GitHub's webhooks do.
pub(super) fn request(post: &Post, secret: Option<&[u8]>) -> String {
    let seconds = wait_times::ALERT_TARGET.as_secs();
    let mut config =
        format!("silent\nshow-error\nfail\ngloboff\nno-location\nmax-time = {seconds}\n");
    let mut option = |name: &str, value: &str| {
        writeln!(config, "{name} = {}", in_quotes(value)).expect("a string takes everything");
    };
    option("proto", "=http,https");
    // The status comes last of all that curl prints.
    option("write-out", "\\n%{http_code}");
    option("url", &post.url);
    for header in &post.headers {
        option("header", header);
    }
    if let Some(secret) = secret {
        let signature = signature(secret, post.body.as_bytes());
        option("header", &format!("X-Hub-Signature-256: sha256={signature}"));
    }
    option("data-raw", &post.body);
    config
}

/// Judges what curl has printed: the answer's status is its end. A redirect is not followed, because it may lead anywhere.
pub(super) fn answered(printed: &str) -> Result<(), String> {
    let status = printed.trim_end().rsplit('\n').next().unwrap_or_default();
    match status.parse::<u16>() {
        Ok(200..300) => Ok(()),
        Ok(300..400) => Err(format!(
            "it redirects to another address ({status}), which is not followed: set that address as the webhook"
        )),
        _ => Err(format!("it answered with {status}, which is no success")),
    }
}

/// Returns the tag and the priority that ntfy shows for a notification.
fn ntfy_look(notification: &Notification) -> (&'static str, &'static str) {
    if notification.needs_somebody() {
        ("question", "high")
    } else if notification.kinds.contains(&AlertKind::Failed) {
        ("x", "default")
    } else {
        ("white_check_mark", "default")
    }
}

/// Returns the HMAC-SHA256 of a body, in hexadecimal digits.
fn signature(secret: &[u8], body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a secret may have any length");
    mac.update(body);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}

/// Quotes a value as curl's configuration does.
fn in_quotes(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for letter in value.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_rfc_4231() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature(b"Jefe", b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn only_a_success_counts_as_sent() {
        assert_eq!(answered("ok\n204"), Ok(()));
        assert!(
            answered("200\n301").unwrap_err().starts_with("it redirects to another address (301)")
        );
        assert!(answered("").is_err());
    }

    #[test]
    fn a_text_cannot_add_options() {
        let notification = Notification {
            title: "p\" url = \"http://other".to_owned(),
            text: "@/etc/passwd\n\"\\\nurl = \"http://other\"".to_owned(),
            kinds: Vec::new(),
        };
        let post = Post::of("https://ntfy.example/t", &notification);
        let request = request(&post, None);
        let urls: Vec<_> = request.lines().filter(|line| line.starts_with("url")).collect();
        assert_eq!(urls, ["url = \"https://ntfy.example/t\""]);
        let body = r#"data-raw = "@/etc/passwd\n\"\\\nurl = \"http://other\"""#;
        assert_eq!(request.lines().last(), Some(body));
    }
}
