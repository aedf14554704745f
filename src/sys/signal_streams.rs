//! The signals that this process receives: requests to end, continuations after a stop, other sizes of its
//! terminal, and changes of its children. The commands
//! decide what a request to end does (`cli::signal_policy`).

use std::future::{pending, poll_fn};
use std::io;
use std::task::Poll;

use tokio::signal::unix;

use super::process::Signal;

/// The signals that ask this process to end: `SIGINT`, `SIGTERM`, `SIGHUP`.
///
/// From [`EndSignals::listen`] on they no longer end the process by themselves.
#[derive(Debug)]
pub struct EndSignals {
    streams: [(Signal, unix::Signal); 3],
}

impl EndSignals {
    /// Begins to listen. Needs a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            streams: [
                (Signal::SIGINT, unix::signal(unix::SignalKind::interrupt())?),
                (Signal::SIGTERM, unix::signal(unix::SignalKind::terminate())?),
                (Signal::SIGHUP, unix::signal(unix::SignalKind::hangup())?),
            ],
        })
    }

    /// Waits for the next of the signals and returns it.
    ///
    /// Several signals of one kind that arrive before the first is received count as one. Cancel safe.
    pub async fn recv(&mut self) -> Signal {
        poll_fn(|context| {
            for (name, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*name);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// From now on, makes a write beyond the limit of file sizes fail, where `SIGXFSZ` would end the process. Needs a tokio runtime.
///
/// The signal is caught instead of ignored, so that children get the default again.
pub fn outlive_file_limit() -> io::Result<()> {
    let kind = unix::SignalKind::from_raw(Signal::SIGXFSZ as i32);
    drop(unix::signal(kind)?);
    Ok(())
}

/// Reports that this process continues after a stop: other programs may have used its terminal meanwhile.
#[derive(Debug)]
pub struct Continuations {
    stream: unix::Signal,
}

impl Continuations {
    /// Begins to listen. Needs a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        let kind = unix::SignalKind::from_raw(Signal::SIGCONT as i32);
        Ok(Self { stream: unix::signal(kind)? })
    }

    /// Waits until the process continues the next time. Cancel safe.
    pub async fn recv(&mut self) {
        if self.stream.recv().await.is_none() {
            // The stream ends only with the runtime, and this future with it.
            pending::<()>().await;
        }
    }
}

/// Reports that the terminal of this process has another size.
#[derive(Debug)]
pub struct Resizes {
    stream: unix::Signal,
}

impl Resizes {
    /// Begins to listen. Needs a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { stream: unix::signal(unix::SignalKind::window_change())? })
    }

    /// Waits until the size has changed since the last call. Cancel safe.
    pub async fn recv(&mut self) {
        if self.stream.recv().await.is_none() {
            // The stream ends only with the runtime, and this future with it.
            pending::<()>().await;
        }
    }
}

/// Reports that some child of this process has changed, so that each watcher checks its own.
#[derive(Debug)]
pub struct ChildChanges {
    stream: unix::Signal,
}

impl ChildChanges {
    /// Begins to listen. Needs a tokio runtime. A change after this call is never missed.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { stream: unix::signal(unix::SignalKind::child())? })
    }

    /// Waits until any child has changed since the last call. Cancel safe.
    pub async fn recv(&mut self) {
        if self.stream.recv().await.is_none() {
            // The stream ends only with the runtime, and this future with it.
            pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use nix::sys::signal::kill;
    use nix::unistd::Pid;
    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::process::Command;

    use super::*;

    const IN_CHILD: &str = "SIGNALS_TEST_IN_CHILD";

    /// Runs in a separate process, because the signals would reach all other tests of this binary.
    #[tokio::test]
    async fn each_signal_is_received_and_the_process_lives_on() {
        if std::env::var_os(IN_CHILD).is_some() {
            return run_as_child().await;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sys::signal_streams::tests::each_signal_is_received_and_the_process_lives_on",
                "--nocapture",
            ])
            .env(IN_CHILD, "1")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut until_printed = async |text: &str| {
            // 30 s is far more than it takes, even on a busy machine.
            let reading =
                async { while !lines.next_line().await.unwrap().unwrap().ends_with(text) {} };
            tokio::time::timeout(Duration::from_secs(30), reading).await.unwrap();
        };
        until_printed("listening").await;
        for signal in [Signal::SIGTERM, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
            kill(pid, signal).unwrap();
            until_printed(&format!("received {signal}")).await;
        }
        assert!(child.wait().await.unwrap().success());
    }

    async fn run_as_child() {
        let mut signals = EndSignals::listen().unwrap();
        println!("\nlistening");
        for _ in 0..4 {
            println!("received {}", signals.recv().await);
        }
    }
}
