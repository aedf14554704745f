//! The window `top` on a team of 50: how fast a key answers, what a picture costs, and what it takes at rest and while all talk.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use cli_team_bridge::bus::storage::file::{FileLog, Foreign, Options, Origin, Proof};
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::sys::fs::user_state_dir::StateDirectory;
use nix::pty::{Winsize, openpty};

use crate::support::Outcome;
use crate::support::project::{self, Project, text};
use crate::support::samples::Samples;
use crate::support::table::{Demand, Row};
use crate::waiting_process::ticks;

const MEMBERS: usize = 50;
/// Messages before the window is opened.
const HISTORY: usize = 2_000;
const KEYS: usize = 200;
/// For how many seconds the processor time is watched.
const WATCHED: u32 = 10;
/// The pause between two messages of the busy team: 200 a second.
const PAUSE: Duration = Duration::from_millis(5);
/// Longer than any answer takes; then there is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so much silence the window has painted all that there was.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let project = Project::new()?;
        let bus = Bus::open(Box::new(log(&project)?))?;
        let mut members = Vec::new();
        for n in 0..MEMBERS {
            members.push(project::join(&bus, &format!("member-{n}")).await?);
        }
        for n in 0..HISTORY {
            say(&members, n).await?;
        }
        let mut window = Window::open(&project)?;
        window.settle();
        let idle = window
            .percent(async || {
                tokio::time::sleep(Duration::from_secs(WATCHED.into())).await;
                Ok(())
            })
            .await?;
        let before = ticks(window.program.id())?;
        let keys = window.keys()?;
        let painted = ticks(window.program.id())? - before;
        let mut n = 0;
        let busy = window
            .percent(async || {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_secs(WATCHED.into()) {
                    say(&members, n).await?;
                    n += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(())
            })
            .await?;
        let a_picture = f64::from(u32::try_from(painted)?) * 10.0 / f64::from(u32::try_from(KEYS)?);
        Ok(vec![
            Row::absolute(
                "`top` on 50 members: from a key to its picture, p50",
                Demand::None,
                keys.percentile_us(50) / 1000.0,
                "ms",
            ),
            Row::absolute(
                "the same, p99",
                Demand::AtMost(30.0),
                keys.percentile_us(99) / 1000.0,
                "ms",
            ),
            Row::absolute("the same: processor time a picture", Demand::None, a_picture, "ms"),
            Row::absolute(
                "`top` on 50 members that do nothing: processor time, of one core",
                Demand::AtMost(0.1),
                idle,
                "%",
            ),
            Row::absolute(
                &format!(
                    "`top` on 50 members that send {} messages a second",
                    n / WATCHED as usize
                ),
                Demand::AtMost(5.0),
                busy,
                "%",
            ),
        ])
    })
}

/// Returns where the user's state is.
fn state(project: &Project) -> PathBuf {
    project.path().join("state")
}

/// Opens the log of a bus that `top` takes for one of this project.
fn log(project: &Project) -> Outcome<FileLog> {
    let state = state(project);
    let find = |name: &str| (name == "XDG_STATE_HOME").then(|| state.clone().into_os_string());
    let proof = Proof { state: StateDirectory::find(find), foreign: Foreign::PutAside };
    let options = Options { origin: Origin::Proven(proof), ..Options::default() };
    Ok(FileLog::open(&project.bus(), Arc::new(RealDisk), options)?)
}

/// Sends a message from one member to another.
async fn say(members: &[Membership], n: usize) -> Outcome {
    let mut call = members[n % MEMBERS].call();
    call.send(format!("member-{}", (n * 7 + 1) % MEMBERS), text(""), None).await?;
    call.answered().await;
    Ok(())
}

/// The window at a terminal. Dropping it kills it.
struct Window {
    program: Child,
    keys: File,
    painted: Receiver<()>,
}

impl Window {
    fn open(project: &Project) -> Outcome<Self> {
        let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None)?;
        let mut program = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
        program.args(["top", "--project"]).arg(project.path()).env("TERM", "xterm-256color");
        program.env("XDG_STATE_HOME", state(project));
        let end = || -> Outcome<Stdio> { Ok(Stdio::from(terminal.slave.try_clone()?)) };
        let running = program.stdin(end()?).stdout(end()?).stderr(end()?).spawn()?;
        let mut screen = File::from(terminal.master.try_clone()?);
        let (sender, painted) = sync_channel(1024);
        std::thread::spawn(move || {
            let mut part = [0; 8_192];
            while let Ok(1..) = screen.read(&mut part) {
                let _ = sender.try_send(());
            }
        });
        Ok(Self { program: running, keys: File::from(terminal.master), painted })
    }

    /// Waits until nothing is painted any more.
    fn settle(&self) {
        while self.painted.recv_timeout(SILENCE).is_ok() {}
    }

    /// Presses keys, each after the picture of the one before, and returns how long each took.
    fn keys(&mut self) -> Outcome<Samples> {
        let mut samples = Samples::default();
        for n in 0..KEYS {
            while self.painted.try_recv().is_ok() {}
            let begun = Instant::now();
            self.keys.write_all(if n / 40 % 2 == 0 { b"j" } else { b"k" })?;
            self.painted.recv_timeout(PATIENCE).map_err(|_| "a key has no answer")?;
            samples.push(begun.elapsed());
        }
        Ok(samples)
    }

    /// Returns the percentage of one core that the window takes meanwhile.
    async fn percent(&self, meanwhile: impl AsyncFnOnce() -> Outcome) -> Outcome<f64> {
        let before = ticks(self.program.id())?;
        meanwhile().await?;
        // A tick is 10 ms, so ticks per second are percent.
        Ok(f64::from(u32::try_from(ticks(self.program.id())? - before)?) / f64::from(WATCHED))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
