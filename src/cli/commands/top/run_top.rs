//! Connects the window with the terminal, the bus and the signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use tokio::task::JoinSet;

use super::feed::Feed;
use super::keyboard::Keyboard;
use super::news::BusState;
use super::paint::{Look, picture};
use super::screen::{Effect, NoticeEnd, Screen};
use crate::cli::output::{Frame, FramePainter};
use crate::cli::steer::perform;
use crate::cli::{
    Failure, below_agent, find_project, load_config, output, serve_mcp, signal_policy, with_hint,
};
use crate::domain::act::Act;
use crate::domain::grace_periods;
use crate::domain::text::visible_letters::beginning;
use crate::sys::signal_streams::{Continuations, Resizes};
use crate::sys::terminal;

/// The size to assume if a terminal does not report its own: that of the oldest terminals.
const USUAL: (u16, u16) = (24, 80);

/// The most characters of the project's name.
const NAME: usize = 60;

/// What to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge top           watch the team of this project
  cli-team-bridge top --mouse   choose rows with the mouse, too

Keys:
  arrows, j, k   choose              Tab, 1 … 6   panes
  Enter          open                Space        live words of an agent
  a              answer              m            message
  x, K           cancel, kill        /            filter
  ?              all keys            q            leave

[top.keys] of your config.toml binds other keys.")]
pub(crate) struct TopArguments {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Choose rows with the mouse. The terminal then selects text only with Shift.
    #[arg(long)]
    mouse: bool,
}

pub(crate) fn run(arguments: &TopArguments) -> Result<(), Failure> {
    if !output::has_window() {
        let hint = "`cli-team-bridge status` prints the same, and `cli-team-bridge log -f` follows what happens";
        return Err(with_hint("`top` needs a terminal for its keys and its window", hint));
    }
    let has_mouse = arguments.mouse;
    let root = find_project::find(arguments.project.as_deref())?.root;
    let keys = load_config::load_without_project()?.window_keys().clone();
    let looks_only = below_agent::is_below_an_agent().then(below_agent::why);
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    let screen = Screen::new(beginning(&name, NAME), keys, looks_only);
    let feed = Feed::start(Some(root.clone()))?;
    serve_mcp::run(async move || {
        signal_policy::obey(async move |stop| show(screen, (root, feed), stop, has_mouse).await)
            .await
    })
}

/// Shows the window until its user leaves it, and gives the terminal back whatever the reason.
async fn show(
    screen: Screen,
    (project, mut feed): (PathBuf, Feed),
    mut stop: signal_policy::StopRequests,
    has_mouse: bool,
) -> Result<(), Failure> {
    // A bus that cannot be read is an error as in all commands, without a window.
    let opened = tokio::select! {
        opened = feed.news.wait_for(|news| news.state != BusState::Opening) => opened.is_ok(),
        _ = stop.next() => return Ok(()),
    };
    if !opened {
        return feed.failure();
    }
    let mut window = Window::open(screen, (project, feed), has_mouse)?;
    let ended = tokio::select! {
        ended = window.run() => ended,
        signal = stop.next() => {
            tracing::debug!("ending on {signal}");
            Ok(())
        }
    };
    window.close();
    ended
}

/// The window, and all that wakes it.
struct Window {
    project: PathBuf,
    screen: Screen,
    look: Look,
    feed: Option<Feed>,
    painter: Option<FramePainter>,
    keyboard: Keyboard,
    resizes: Resizes,
    continued: Continuations,
    /// Wishes that are being performed.
    acts: JoinSet<String>,
    /// Whether the terminal shows something else than the last frame.
    anew: bool,
}

impl Window {
    fn open(
        screen: Screen,
        (project, feed): (PathBuf, Feed),
        has_mouse: bool,
    ) -> Result<Self, Failure> {
        let (resizes, continued) = (Resizes::listen()?, Continuations::listen()?);
        let look = Look { colours: output::wants_colours_on_stdout() };
        output::enter(has_mouse)?;
        let started = FramePainter::start().and_then(|painter| Ok((painter, Keyboard::start()?)));
        let (painter, keyboard) = match started {
            Ok(started) => started,
            Err(error) => {
                output::leave_window();
                return Err(error.into());
            }
        };
        Ok(Self {
            project,
            screen,
            look,
            feed: Some(feed),
            painter: Some(painter),
            keyboard,
            resizes,
            continued,
            acts: JoinSet::new(),
            anew: true,
        })
    }

    async fn run(&mut self) -> Result<(), Failure> {
        let (Some(mut feed), Some(painter)) = (self.feed.take(), self.painter.take()) else {
            return Ok(());
        };
        let ended = self.live(&mut feed, &painter).await;
        self.painter = Some(painter);
        match ended {
            Ended::Left => {
                feed.end();
                Ok(())
            }
            Ended::Unreadable => feed.failure(),
        }
    }

    async fn live(&mut self, feed: &mut Feed, painter: &FramePainter) -> Ended {
        self.measure();
        let news = Arc::clone(&feed.news.borrow_and_update());
        self.screen.update(news);
        let mut is_new = true;
        let mut notice_end = NoticeEnd::default();
        loop {
            let notice_ends = notice_end.of(&self.screen, Instant::now());
            feed.want(self.screen.wanted());
            feed.ages_change_at(self.screen.ages_change_at());
            if is_new && painter.is_free() && terminal::is_foreground(std::io::stdin()) {
                painter.paint(self.frame());
                is_new = false;
            }
            tokio::select! {
                input = self.keyboard.next() => {
                    // A key that brings the same notice again begins its time anew.
                    notice_end = NoticeEnd::default();
                    match self.screen.press(input) {
                        Some(Effect::Quit) => return Ended::Left,
                        Some(Effect::Act(act)) => self.perform(act),
                        None => {}
                    }
                    is_new = true;
                }
                changed = feed.news.changed() => {
                    if changed.is_err() {
                        return Ended::Unreadable;
                    }
                    let news = Arc::clone(&feed.news.borrow_and_update());
                    self.screen.update(news);
                    is_new = true;
                }
                () = painter.painted() => {}
                () = self.resizes.recv() => {
                    self.measure();
                    is_new = true;
                }
                () = self.continued.recv() => {
                    if let Err(error) = output::enter_again() {
                        tracing::debug!(%error, "failed to set the terminal up again");
                    }
                    self.measure();
                    self.anew = true;
                    is_new = true;
                }
                () = at(notice_ends) => {
                    self.screen.notice = None;
                    is_new = true;
                }
                Some(done) = self.acts.join_next() => {
                    let words = done.unwrap_or_else(|_| "The act has failed.".to_owned());
                    self.screen.notice = Some(words);
                    is_new = true;
                }
            }
        }
    }

    /// Begins to perform an act, which ends with what came of it as a sentence.
    fn perform(&mut self, act: Act) {
        self.screen.notice = Some(Screen::ACTING.to_owned());
        let project = self.project.clone();
        self.acts.spawn_blocking(move || {
            perform(&project, act)
                .map_or_else(|error| format!("error: {error}"), |outcome| outcome.words)
        });
    }

    fn measure(&mut self) {
        self.screen.size = terminal::size(std::io::stdout()).unwrap_or(USUAL);
    }

    fn frame(&mut self) -> Frame {
        let (buffer, cursor) = picture(&self.screen, self.look);
        let anew = std::mem::take(&mut self.anew);
        Frame { buffer, cursor, title: self.screen.title(), anew }
    }

    /// Gives the terminal back.
    fn close(self) {
        let has_ended = self.painter.is_none_or(|painter| painter.end(grace_periods::LAST_SCREEN));
        if has_ended {
            output::leave_window();
        } else {
            // A paused terminal would keep this process.
            output::leave_silently();
        }
    }
}

/// Waits until a moment; for ever without one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// Why the window was left.
enum Ended {
    Left,
    /// The bus cannot be read any more.
    Unreadable,
}
