//! The thread that reads the terminal.

use std::fs::File;
use std::io::{self, Read as _, stdin};
use std::os::fd::AsFd as _;
use std::thread;

use tokio::sync::mpsc;

use super::input_bytes::{Input, InputBytes};
use crate::domain::wait_times;
use crate::sys::terminal::{Waited, wait_for_input};

/// Keys that wait to be taken. A person is slower; a paste is one input.
const KEYS: usize = 64;

/// The keys of the terminal.
pub(in crate::cli::commands::top) struct Keyboard {
    keys: mpsc::Receiver<Input>,
}

impl Keyboard {
    /// Starts the thread, which ends with the terminal, or with the process.
    pub(in crate::cli::commands::top) fn start() -> io::Result<Self> {
        // Unbuffered, so that a wait for input sees all of it.
        let terminal = File::from(stdin().as_fd().try_clone_to_owned()?);
        let (sender, keys) = mpsc::channel(KEYS);
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || read(terminal, &sender))?;
        Ok(Self { keys })
    }

    /// Waits for the next key. Cancel safe.
    pub(in crate::cli::commands::top) async fn next(&mut self) -> Input {
        self.keys.recv().await.unwrap_or(Input::Closed)
    }
}

fn read(mut terminal: File, keys: &mpsc::Sender<Input>) {
    let mut input = InputBytes::default();
    let mut part = [0; 1024];
    loop {
        let rest = input.is_unfinished().then_some(wait_times::REST_OF_KEY);
        match wait_for_input(&terminal, rest) {
            Waited::Closed => return,
            Waited::Quiet => input.give_up(),
            Waited::Ready => match terminal.read(&mut part) {
                Ok(count) if count > 0 => input.take(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The end, or a terminal that is gone.
                _ => return,
            },
        }
        for key in input.inputs() {
            if keys.blocking_send(key).is_err() {
                return;
            }
        }
    }
}
