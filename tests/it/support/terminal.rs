//! A terminal of a given size in which this binary runs, and what a person would see there.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{DEADLINE, PAUSE, Stage, until};

/// Lines that have left the screen and are kept; more than any test prints.
const KEPT: usize = 10_000;

/// A program at a terminal.
pub(crate) struct Terminal {
    program: Child,
    keys: File,
    shown: Arc<Mutex<Shown>>,
    reader: JoinHandle<()>,
}

struct Shown {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Runs this binary in the stage's project. `TERM` is `xterm-256color` unless the stage sets it.
    pub(crate) fn run(stage: &Stage, arguments: &[&str], size: (u16, u16)) -> Self {
        let project = stage.project().to_str().unwrap();
        Self::run_with(stage, &[arguments, &["--project", project]].concat(), size)
    }

    /// Runs this binary with these arguments alone.
    pub(crate) fn run_with(stage: &Stage, arguments: &[&str], size: (u16, u16)) -> Self {
        Self::run_in(stage, Path::new("."), arguments, size)
    }

    /// Does the same in a directory.
    pub(crate) fn run_in(
        stage: &Stage,
        directory: &Path,
        arguments: &[&str],
        size: (u16, u16),
    ) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
        program.args(arguments).current_dir(directory);
        program.env_clear().env("TERM", "xterm-256color").envs(stage.environment());
        Self::run_program(&mut program, size)
    }

    /// Runs a program.
    pub(crate) fn run_program(program: &mut Command, (rows, columns): (u16, u16)) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        // A program that another test starts would keep it open.
        for end in [&terminal.master, &terminal.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let end = || Stdio::from(terminal.slave.try_clone().unwrap());
        let running = program.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // Only the program keeps the terminal open, so the reader stops when the program ends.
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let shown = Arc::new(Mutex::new(Shown {
            screen: vt100::Parser::new(
                NonZero::new(rows).unwrap(),
                NonZero::new(columns).unwrap(),
                KEPT,
            ),
            bytes: Vec::new(),
        }));
        let reader = read(File::from(terminal.master.try_clone().unwrap()), &shown);
        Self { program: running, keys: File::from(terminal.master), shown, reader }
    }

    /// Types something.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.program.id()).unwrap());
        kill(pid, signal).unwrap();
    }

    /// Gives the terminal another size, and tells the program.
    pub(crate) fn resize(&self, (rows, columns): (u16, u16)) {
        let size =
            rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        {
            let mut shown = self.shown.lock().unwrap();
            let (rows, columns) = (NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
            shown.screen.screen_mut().set_size(rows, columns);
        }
        rustix::termios::tcsetwinsize(&self.keys, size).unwrap();
        // The kernel tells the programs that the terminal controls, and it controls none here.
        self.signal(Signal::SIGWINCH);
    }

    /// Says whether the terminal echoes keys and makes lines of them, as a shell expects.
    pub(crate) fn has_lines(&self) -> bool {
        use nix::sys::termios::{LocalFlags, tcgetattr};
        let modes = tcgetattr(&self.keys).unwrap();
        modes.local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }

    /// Says whether the terminal shows its other screen, where windows are.
    pub(crate) fn is_on_other_screen(&self) -> bool {
        self.shown.lock().unwrap().screen.screen().alternate_screen()
    }

    /// Says whether the terminal is in a mode that hides the cursor or reports the mouse.
    pub(crate) fn is_odd(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen.screen();
        screen.hide_cursor() || screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None
    }

    /// Returns what is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.shown.lock().unwrap().screen.screen().contents()
    }

    /// Returns the lines that have left the screen, and those on it.
    pub(crate) fn all(&self) -> Vec<String> {
        let mut shown = self.shown.lock().unwrap();
        let screen = shown.screen.screen_mut();
        let columns = screen.size().1.get();
        screen.set_scrollback(usize::MAX);
        let mut lines = Vec::new();
        for above in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(above);
            lines.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.contents().lines().map(str::to_owned));
        lines
    }

    /// Returns everything that was sent to the terminal.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap().bytes).into_owned()
    }

    /// Waits until the screen shows something.
    pub(crate) async fn until_shows(&self, text: &str) {
        let looking = async {
            while !self.screen().contains(text) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        let looked = tokio::time::timeout(DEADLINE, looking).await;
        assert!(looked.is_ok(), "`{text}` is never shown; at the end there is:\n{}", self.screen());
    }

    /// Waits until the program has ended and the terminal has shown all that it wrote, with this text; returns the program's exit code.
    pub(crate) async fn ended(&mut self, last: &str) -> Option<i32> {
        let program = Mutex::new(&mut self.program);
        until("the program has ended", || program.lock().unwrap().try_wait().unwrap().is_some())
            .await;
        let code = self.program.wait().unwrap().code();
        until("the terminal has shown everything", || self.reader.is_finished()).await;
        self.until_shows(last).await;
        code
    }
}

/// Feeds the program's output to the screen until the terminal is closed.
fn read(mut terminal: File, shown: &Arc<Mutex<Shown>>) -> JoinHandle<()> {
    let shown = Arc::clone(shown);
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The end of the program that writes to the terminal is an error here.
        while let Ok(count) = terminal.read(&mut part) {
            if count == 0 {
                break;
            }
            let mut shown = shown.lock().unwrap();
            shown.screen.process(&part[..count]);
            shown.bytes.extend_from_slice(&part[..count]);
        }
    })
}
