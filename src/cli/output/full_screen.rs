//! A window on the whole terminal: it has the terminal's other screen, and gives the terminal back whatever happens.
//!
//! Keys arrive one by one and unechoed meanwhile. The cursor stays visible, and no mode is set that a shell does not reset, unless the
//! mouse was asked for: after a SIGKILL, which no program outlives, the terminal is usable, and `reset` shows its old screen again.
//! What other code prints to stderr is kept until the window is closed.

use std::io::{self, IsTerminal as _, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};

use super::write_and_flush::write;
use crate::domain::text::counted::counted;
use crate::sys::mutex::lock;
use crate::sys::terminal::{self, Modes};

/// Keeps the title, and shows the other screen, cleared.
const ENTER: &str = "\x1b[22;2t\x1b[?1049h\x1b[2J\x1b[H";

/// Undoes that, and all that may have been set since: the mouse, pasting in brackets, styles, a frame that is being painted.
const LEAVE: &str =
    "\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l\x1b[23;2t";

/// Reports clicks and the wheel.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";

/// Marks pasted text, so that its line ends are no keys.
const PASTE: &str = "\x1b[?2004h";

/// Kept lines that are printed when the window is closed; the rest are counted.
const MOST_KEPT: usize = 100;

/// The window that is open.
static OPEN: Mutex<Option<Window>> = Mutex::new(None);

/// The same for those that must not wait for the lock.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

static PANIC_HOOK: Once = Once::new();

struct Window {
    before: Modes,
    has_mouse: bool,
    kept: Vec<String>,
    dropped: usize,
}

/// Says whether there is a terminal for a window, with keys and a cursor.
pub(crate) fn has_window() -> bool {
    stdin().is_terminal() && stdout().is_terminal() && !console::is_dumb()
}

/// Opens the window.
pub(crate) fn enter(has_mouse: bool) -> io::Result<()> {
    PANIC_HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Its report is for the screen that stays.
            leave();
            report(panic);
        }));
    });
    let before = terminal::make_raw(stdin())?;
    *lock(&OPEN) = Some(Window { before, has_mouse, kept: Vec::new(), dropped: 0 });
    IS_OPEN.store(true, Ordering::Release);
    show(has_mouse);
    Ok(())
}

fn show(has_mouse: bool) {
    write(&mut stdout(), &format!("{ENTER}{PASTE}{}", if has_mouse { MOUSE } else { "" }));
}

/// Sets the terminal up again after another program has used it.
pub(crate) fn enter_again() -> io::Result<()> {
    let has_mouse = match lock(&OPEN).as_mut() {
        Some(window) => {
            window.before = terminal::make_raw(stdin())?;
            window.has_mouse
        }
        None => return Ok(()),
    };
    show(has_mouse);
    Ok(())
}

/// Closes the window, if it is open, and prints what was kept. It may wait for the terminal.
pub(crate) fn leave() {
    if let Some(window) = close() {
        write(&mut stdout(), LEAVE);
        restore(&window);
        let more = (window.dropped > 0)
            .then(|| format!("{} not shown\n", counted(window.dropped, "more line")));
        for text in window.kept.iter().chain(&more) {
            write(&mut io::stderr(), text);
        }
    }
}

/// Gives the terminal its modes back without a word to it, because it takes none now.
pub(crate) fn leave_silently() {
    if let Some(window) = close() {
        restore(&window);
    }
}

fn close() -> Option<Window> {
    IS_OPEN.store(false, Ordering::Release);
    // A panic under the lock would find it taken by its own thread.
    OPEN.try_lock().ok().and_then(|mut open| open.take())
}

fn restore(window: &Window) {
    if let Err(error) = terminal::restore(stdin(), &window.before) {
        tracing::debug!(%error, "failed to restore the modes of the terminal");
    }
}

/// Says whether the window is open.
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Ordering::Acquire)
}

/// Keeps a text for stderr while the window is open; otherwise returns false.
pub(super) fn keep(text: &str) -> bool {
    let mut open = lock(&OPEN);
    let Some(window) = open.as_mut() else { return false };
    if window.kept.len() < MOST_KEPT {
        window.kept.push(text.to_owned());
    } else {
        window.dropped += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::num::NonZero;
    use std::process::{Command, Stdio};

    use nix::pty::openpty;
    use nix::sys::termios::tcgetattr;

    use super::*;

    const IN_CHILD: &str = "FULL_SCREEN_TEST_IN_CHILD";

    /// Runs in a separate process, whose terminal it takes.
    #[test]
    fn a_panic_gives_the_terminal_back_and_is_reported_there() {
        if std::env::var_os(IN_CHILD).is_some() {
            enter(true).unwrap();
            assert!(keep("kept for later\n"));
            panic!("on purpose");
        }
        let terminal = openpty(None, None).unwrap();
        let before = tcgetattr(&terminal.slave).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = "cli::output::full_screen::tests::a_panic_gives_the_terminal_back_and_is_reported_there";
        child.args(["--exact", name, "--nocapture"]).env(IN_CHILD, "1");
        let end = || Stdio::from(terminal.slave.try_clone().unwrap());
        let mut running = child.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop((child, terminal.slave));
        let mut screen =
            vt100::Parser::new(NonZero::new(60).unwrap(), NonZero::new(200).unwrap(), 0);
        let mut master = File::from(terminal.master);
        let (mut part, mut was_open) = ([0; 4096], false);
        // The end of the program is an error here.
        while let Ok(count @ 1..) = master.read(&mut part) {
            screen.process(&part[..count]);
            was_open |= part[..count].windows(8).any(|part| part == b"\x1b[?1049h");
        }
        assert!(!running.wait().unwrap().success());
        let shown = screen.screen().contents();
        assert!(was_open && !screen.screen().alternate_screen(), "{shown}");
        assert!(shown.contains("kept for later") && shown.contains("on purpose"), "{shown}");
        assert_eq!(screen.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!(tcgetattr(&master).unwrap(), before);
    }
}
