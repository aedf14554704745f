//! The program's log: to stderr, never to stdout.
//!
//! What a client or an agent starts logs warnings, as programs without a person do: with a time and a place in the code. A person at
//! a command reads a warning as a sentence, and gets the log only where `BRIDGE_LOG` asks for it.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::output;
use crate::domain::env_vars;

/// The log target of this crate.
const OWN: &str = "cli_team_bridge";

/// The reader of a command's stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogReader {
    /// A person at the command.
    Person,
    /// The log of the client, the agent or the bridge that started the command.
    Program,
}

/// Starts the log.
pub(super) fn start(reader: LogReader) {
    let asked: Option<LevelFilter> =
        std::env::var(env_vars::LOG).ok().and_then(|level| level.parse().ok());
    let level = asked.unwrap_or(LevelFilter::WARN);
    // Warnings of the protocol crates concern their peers; their errors concern us.
    let filter = Targets::new().with_target(OWN, level).with_default(level.min(LevelFilter::ERROR));
    let layer = tracing_subscriber::fmt::layer().with_writer(|| output::Stderr).with_ansi(false);
    let log = tracing_subscriber::registry().with(filter);
    let started = match (reader, asked) {
        (LogReader::Person, None) => log.with(layer.event_format(Sentences)).try_init(),
        _ => log.with(layer).try_init(),
    };
    if started.is_err() {
        // Only a test may have started the log before.
        tracing::debug!("logging is started once");
    }
}

/// Writes an event as `warning: failed to update the heartbeat: the disk is full`.
struct Sentences;

impl<S, N> FormatEvent<S, N> for Sentences
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        // A text of others in it begins no line of its own.
        let lines = sentence.whole().replace('\n', "\n  ");
        writeln!(writer, "warning: {lines}")
    }
}

/// The parts of a sentence: the message, the values that it is about, and its cause.
#[derive(Default)]
struct Sentence {
    message: String,
    about: Vec<String>,
    cause: String,
}

impl Sentence {
    fn whole(self) -> String {
        let mut whole = self.message;
        if !self.about.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(whole, " ({})", self.about.join(", "));
        }
        if !self.cause.is_empty() {
            let _ = write!(whole, ": {}", self.cause);
        }
        whole
    }
}

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" => self.cause = format!("{value:?}"),
            name => self.about.push(format!("{name} {value:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::sys::mutex::lock;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_warning_to_a_person_is_a_sentence_with_its_cause() {
        let written = Written::default();
        let writer = written.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
        let log = tracing_subscriber::registry().with(layer.event_format(Sentences));
        tracing::subscriber::with_default(log, || {
            let error = io::Error::other("the disk is full");
            tracing::warn!("failed to leave the team: {error}");
            tracing::warn!(path = %"/a", %error, "failed to remove\nerror: a presence");
        });
        let text = String::from_utf8(lock(&written.0).clone()).unwrap();
        assert_eq!(
            text,
            "warning: failed to leave the team: the disk is full\n\
             warning: failed to remove\n  error: a presence (path /a): the disk is full\n"
        );
    }
}
