//! `watch`: prints one line for each new message of a member, and nothing else.
//!
//! It only reads: it delivers and marks nothing. Where a client begins a turn with each line, as Claude Code's Monitor tool does,
//! an idle session learns of a message within moments. It ends when its output has no reader, or on a signal.

use std::io::{IsTerminal as _, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::Notify;

use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::{Follower, Listening};
use crate::cli::claude_session::ClaudeSession;
use crate::cli::{Failure, find_project, open_bus, output, serve_mcp, signal_policy};
use crate::config::quoted;
use crate::delivery::watch_line::{self, AnnouncedMessages};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::sys::backoff::Backoff;

/// The pauses between looks without notifications while nothing happens.
const LOOKS: Backoff = Backoff::new(wait_times::POLL, wait_times::LONGEST_POLL);

/// Whose messages it watches.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge watch                   messages for the one who leads the team
  cli-team-bridge watch --name reviewer   messages for another member")]
pub(crate) struct WatchArguments {
    /// The member to watch for [default: this session's own name, else the project's orchestrator].
    #[arg(long)]
    name: Option<Name>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(crate) fn run(arguments: WatchArguments) -> Result<(), Failure> {
    let project = find_project::find(arguments.project.as_deref())?;
    let directory = project.bus_directory();
    let watch = Watch::new(arguments.name);
    if watch.has_person {
        output::tell(&format!(
            "This prints one line for each new message in {}, and marks none as read; Ctrl-C ends it.",
            quoted(&project.root)
        ));
    }
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            tokio::select! {
                watched = watch.run(&directory) => watched,
                signal = stop.next() => {
                    tracing::debug!("ending on {signal}");
                    Ok(())
                }
            }
        })
        .await
    })
}

/// The member whose messages are watched, and the messages already announced.
struct Watch {
    chosen: Option<Name>,
    client: ClaudeSession,
    /// The member whose messages were announced last.
    name: Option<Name>,
    doorbell: AnnouncedMessages,
    /// Whether a person reads stderr, rather than a client.
    has_person: bool,
    /// What the person was told last.
    told: Option<String>,
}

/// Why following a bus has ended.
enum WatchEnd {
    /// The output has no reader any more.
    Unread,
    /// The bus was removed; another one may come.
    Removed,
}

impl Watch {
    fn new(chosen: Option<Name>) -> Self {
        Self {
            chosen,
            client: ClaudeSession::of_ancestors(),
            name: None,
            doorbell: AnnouncedMessages::default(),
            has_person: stderr().is_terminal(),
            told: None,
        }
    }

    /// Tells a person at the terminal whose messages it watches, whenever that changes.
    fn tell_person(&mut self, member: Option<&Name>) {
        let line = match member.or(self.chosen.as_ref()) {
            Some(name) => format!("Watching for messages to `{name}`."),
            None => "No orchestrator leads this project now; waiting for one.".to_owned(),
        };
        if self.has_person && self.told.as_ref() != Some(&line) {
            output::tell(&line);
            self.told = Some(line);
        }
    }

    /// Watches the current bus until the output has no reader.
    async fn run(mut self, directory: &Path) -> Result<(), Failure> {
        let changed = Arc::new(Notify::new());
        let origin = open_bus::proven(open_bus::foreign(false));
        loop {
            let notify = Arc::clone(&changed);
            let on_change = Arc::new(move || notify.notify_one());
            if let Some(mut follower) = Follower::open(directory, origin.clone(), on_change)? {
                self.name = None;
                match self.follow(&mut follower, &changed).await? {
                    WatchEnd::Unread => return Ok(()),
                    WatchEnd::Removed => {}
                }
            } else {
                self.tell_person(None);
            }
            if !output::has_reader() {
                return Ok(());
            }
            tokio::time::sleep(wait_times::LOOK_AROUND).await;
        }
    }

    async fn follow(&mut self, bus: &mut Follower, changed: &Notify) -> Result<WatchEnd, Failure> {
        let mut looks = LOOKS;
        loop {
            match bus.look() {
                Err(LogError::Removed) => return Ok(WatchEnd::Removed),
                looked => looked?,
            }
            let lines = self.lines(bus);
            let is_quiet = lines.is_empty();
            // A closed reader shows in the error, or in the check.
            if (!is_quiet && output::say_aside(lines).await.is_err()) || !output::has_reader() {
                return Ok(WatchEnd::Unread);
            }
            if !is_quiet {
                looks.reset();
            }
            let pause = match bus.listening() {
                Listening::Notified => wait_times::LOOK_AROUND,
                Listening::Polled => looks.next_pause(),
            };
            let due = self.doorbell.next_due_ms(millis(wait_times::ANNOUNCE));
            let due = due.map(|due| due.saturating_sub(bus.now().tick.ms));
            let pause = due.map_or(pause, |ms| pause.min(Duration::from_millis(ms)));
            // A timeout is a reason to look, too.
            let _ = tokio::time::timeout(pause, changed.notified()).await;
        }
    }

    /// Returns the lines for new messages, each with its newline.
    fn lines(&mut self, bus: &mut Follower) -> String {
        let member = self.watched_member(bus.state());
        self.tell_person(member.as_ref());
        let Some(name) = member else {
            return String::new();
        };
        let is_first = self.name.as_ref() != Some(&name);
        // What was there before it began, no hook is about to take.
        let patience = if is_first { Duration::ZERO } else { wait_times::ANNOUNCE };
        let times = (bus.now().tick.ms, millis(patience));
        let mut messages = self.doorbell.announce(bus.state(), &name, times);
        // What an earlier session was given wakes nobody.
        let state = bus.state();
        messages.retain(|message| {
            !state.live(&name).is_some_and(|session| message.is_old_notice_to(&name, session.id))
        });
        // Messages gathered before the start need one wake, not many.
        let most = if is_first { 1 } else { limits::DOORBELL_LINES };
        let mut lines = Vec::new();
        if messages.len() > most {
            lines.extend(watch_line::many(&messages));
        } else {
            for message in messages {
                // A message is announced even if its text cannot be read.
                let text = bus.text(message.body).unwrap_or_default();
                lines.push(watch_line::line(&message, &name, &text));
            }
        }
        self.name = Some(name);
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// Finds the member whose messages to announce now.
    fn watched_member(&self, state: &State) -> Option<Name> {
        if self.chosen.is_some() {
            return self.chosen.clone();
        }
        if let Some(member) = self.client.member(state) {
            return Some(member.name.clone());
        }
        let before = self.name.as_ref().filter(|name| state.live(name).is_some());
        // On a bus of an older version the first orchestrator counts until one leads.
        let lead = state.lead().or_else(|| {
            let mut live = state.live_sessions().into_iter();
            live.find(|session| session.kind == MemberKind::Orchestrator)
        });
        before.or(lead.map(|session| &session.name)).or(self.name.as_ref()).cloned()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
