//! What an agent prints instead of messages: the beginning of its stdout, for the error of one that does not start.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::domain::ids::SessionId;
use crate::domain::text::redact::Secrets;
use crate::supervisor::Supervised;
use crate::sys::mutex::lock;

/// How much of the beginning of its stdout is kept.
const KEPT_BYTES: usize = 4096;

/// How much of it goes into an error.
const STDOUT_SHOWN_CHARS: usize = 512;

/// How much of the end of its stderr goes into an error: enough for a reason, short enough for a model.
const STDERR_SHOWN_BYTES: usize = 1536;

/// What an agent has printed so far. Clones are the same.
#[derive(Clone)]
pub(crate) struct Printed {
    child: Supervised,
    stdout: Arc<Mutex<Vec<u8>>>,
    secrets: Secrets,
}

impl Printed {
    pub(crate) fn by(child: &Supervised, secrets: &Secrets) -> Self {
        Self { child: child.clone(), stdout: Arc::default(), secrets: secrets.clone() }
    }

    /// Returns the agent's stdout, of which the beginning is kept.
    pub(crate) fn kept<R>(&self, stdout: R) -> KeptBeginning<R> {
        KeptBeginning { inner: stdout, kept: Arc::clone(&self.stdout) }
    }

    /// Returns what it printed beside messages, ready to append; nothing if it printed nothing.
    pub(crate) fn shown(&self) -> String {
        let stdout = stdout_shown(&lock(&self.stdout), &self.secrets);
        stdout + &stderr_shown(&self.child.stderr_tail(), &self.secrets)
    }
}

/// What the live agents of a bridge have printed. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct PrintedByAgents(Arc<Mutex<BTreeMap<SessionId, Printed>>>);

impl PrintedByAgents {
    /// Records where it is kept what an agent prints beside messages.
    pub(crate) fn note(&self, agent: SessionId, printed: Printed) {
        lock(&self.0).insert(agent, printed);
    }

    /// Returns what a live agent has printed beside messages, ready to append.
    pub(crate) fn shown(&self, agent: SessionId) -> String {
        let printed = lock(&self.0).get(&agent).cloned();
        printed.map(|printed| printed.shown()).unwrap_or_default()
    }

    pub(crate) fn forget(&self, agent: SessionId) {
        lock(&self.0).remove(&agent);
    }
}

/// A reader that keeps the beginning of what is read.
pub(crate) struct KeptBeginning<R> {
    inner: R,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for KeptBeginning<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let mut kept = lock(&this.kept);
        let room = KEPT_BYTES.saturating_sub(kept.len());
        let read = &buffer.filled()[before..];
        kept.extend_from_slice(&read[..read.len().min(room)]);
        Poll::Ready(Ok(()))
    }
}

/// Returns the lines of a stdout that are no messages, ready to append.
fn stdout_shown(stdout: &[u8], secrets: &Secrets) -> String {
    // A line that was cut may end with a part of a key, which nothing would hide.
    let whole = if stdout.len() < KEPT_BYTES {
        stdout.len()
    } else {
        stdout.iter().rposition(|byte| *byte == b'\n').unwrap_or(0)
    };
    let text = String::from_utf8_lossy(&stdout[..whole]);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let noise: Vec<_> = lines.filter(|line| !line.starts_with('{')).collect();
    if noise.is_empty() {
        return String::new();
    }
    let noise = secrets.hidden(noise.join(" / "));
    format!("; it printed lines that are no messages: {}", noise.clipped(STDOUT_SHOWN_CHARS))
}

/// Returns the end of a stderr text, ready to append.
fn stderr_shown(stderr: &str, secrets: &Secrets) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return String::new();
    }
    let stderr = secrets.hidden(stderr);
    let (end, is_cut) = stderr.tail(STDERR_SHOWN_BYTES);
    let cut = if is_cut { "…" } else { "" };
    format!("; its stderr ends: {cut}{end}")
}

/// Returns how an agent ended, with the end of its stderr.
pub(crate) fn exit_report(child: &Supervised, exit: &str, secrets: &Secrets) -> String {
    format!("{exit}{}", stderr_shown(&child.stderr_tail(), secrets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_the_cut_goes_through_is_hidden() {
        let key = "live-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let secrets = Secrets::of([("API_KEY", key)].into_iter());
        for left in 0..=key.len() {
            let text = format!("{key}{}", "b".repeat(STDERR_SHOWN_BYTES - left));
            let shown = stderr_shown(&text, &secrets);
            assert!(!shown.contains("789"), "{left}: {shown}");
        }
        assert_eq!(stderr_shown(" \n", &secrets), "");
        assert_eq!(stderr_shown("no\n", &secrets), "; its stderr ends: no");
    }

    #[test]
    fn lines_of_stdout_that_are_no_messages_are_shown() {
        let secrets = Secrets::of([("API_KEY", "live-ABCDEFGHIJKLMNOPQRSTUVWXYZ")].into_iter());
        let shown = |stdout: &str| stdout_shown(stdout.as_bytes(), &secrets);
        assert_eq!(shown("\n {\"id\":1}\n"), "");
        let noise = shown("Welcome\n{}\n  key live-ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        assert!(
            noise.starts_with("; it printed lines that are no messages: Welcome / key "),
            "{noise}"
        );
        assert!(!noise.contains("live-"), "{noise}");
        let filled = format!("{{{}\nlive-ABCDEF", "x".repeat(KEPT_BYTES - 13));
        assert_eq!((filled.len(), shown(&filled)), (KEPT_BYTES, String::new()));
    }
}
