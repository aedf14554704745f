//! A terminal in which a program runs, and what it shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::Outcome;

/// Far longer than anything in a picture takes.
const DEADLINE: Duration = Duration::from_mins(1);

/// How long a picture waits after it shows what it has to, and at least for a part that changes no more: several frames.
const SETTLING: Duration = Duration::from_secs(2);
const CALM: Duration = Duration::from_millis(400);

/// What Ctrl-C types.
const INTERRUPT: nix::sys::signal::Signal = nix::sys::signal::Signal::SIGINT;

pub(crate) struct RecordedTerminal {
    program: Child,
    keys: File,
    screen: vt100::Parser,
    output: Receiver<Vec<u8>>,
}

impl RecordedTerminal {
    /// Runs a program in a terminal of so many rows and columns.
    pub(crate) fn run(command: &mut Command, (rows, columns): (u16, u16)) -> Outcome<Self> {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None)?;
        let (stdin, stdout) = (terminal.slave.try_clone()?, terminal.slave.try_clone()?);
        let program = command.stdin(stdin).stdout(stdout).stderr(terminal.slave).spawn()?;
        // Only the program keeps the terminal open, so the reader stops when the program ends.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (rows, columns) = (NonZero::new(rows), NonZero::new(columns));
        let (Some(rows), Some(columns)) = (rows, columns) else {
            return Err("a terminal has at least one cell".into());
        };
        let keys = File::from(terminal.master.try_clone()?);
        let output = read(File::from(terminal.master));
        Ok(Self { program, keys, screen: vt100::Parser::new(rows, columns, 0), output })
    }

    /// Types something.
    pub(crate) fn press(&mut self, keys: &str) -> Outcome<()> {
        Ok(self.keys.write_all(keys.as_bytes())?)
    }

    /// Interrupts the program.
    pub(crate) fn interrupt(&self) -> Outcome<()> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.program.id())?);
        Ok(nix::sys::signal::kill(pid, INTERRUPT)?)
    }

    /// Waits until the screen shows something and changes no more; for a short time if a part of it never rests.
    pub(crate) fn until_shows(&mut self, text: &str) -> Outcome<()> {
        let begun = Instant::now();
        let mut shown = None::<Instant>;
        while begun.elapsed() < DEADLINE {
            let output = self.output.recv_timeout(CALM);
            let is_calm = output.is_err();
            let has_ended = output == Err(RecvTimeoutError::Disconnected);
            if let Ok(bytes) = output {
                self.screen.process(&bytes);
            }
            if self.screen().contents().contains(text) {
                let since = *shown.get_or_insert_with(Instant::now);
                if is_calm || since.elapsed() > SETTLING {
                    return Ok(());
                }
            }
            if has_ended {
                break;
            }
        }
        Err(format!("`{text}` is not shown:\n{}", self.screen().contents()).into())
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// Waits for the end of the program.
    pub(crate) fn end(mut self) -> Outcome<()> {
        while self.output.recv_timeout(DEADLINE).is_ok() {}
        self.program.wait()?;
        Ok(())
    }
}

/// Reads what the program writes until the terminal is closed.
fn read(mut terminal: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The end of the program is an error here.
        while let Ok(count) = terminal.read(&mut part) {
            if count == 0 || sender.send(part[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}
