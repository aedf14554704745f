//! Real children. Each test marks its own in their environment, and proves by that mark that no process of them is left.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;
use tokio::time::{sleep, timeout};

use super::*;
use crate::sys::process::{group_members, marked, start_time};

const MARK: &str = "SUPERVISOR_TEST";

/// Far more than any step takes, even on a busy machine: reaching it is a failure, never a part of a test.
const FAR: Duration = Duration::from_mins(1);

/// The duration of a step that a test expects to be skipped.
const UNUSED: Duration = Duration::from_mins(10);

/// The duration of a step that a test needs to pass at once.
const AT_ONCE: Duration = Duration::ZERO;

const TERM_ONLY: StopPlan = StopPlan { polite: AT_ONCE, term_grace: UNUSED, kill_grace: FAR };
const POLITE_ONLY: StopPlan = StopPlan { polite: UNUSED, term_grace: UNUSED, kill_grace: FAR };
const KILL_AT_ONCE: StopPlan = StopPlan { polite: AT_ONCE, term_grace: AT_ONCE, kill_grace: FAR };

/// Starts marked shells. When dropped, it kills every marked process, so that even a failing test leaves none.
struct Fixture {
    mark: String,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { mark: uuid::Uuid::new_v4().to_string(), folder: tempfile::tempdir().unwrap() }
    }

    fn spec(&self, program: impl AsRef<Path>, args: &[&str]) -> ChildSpec {
        ChildSpec {
            program: program.as_ref().to_owned(),
            args: args.iter().map(OsString::from).collect(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), (MARK.into(), (&self.mark).into())],
            cwd: self.folder.path().to_owned(),
            shim: None,
        }
    }

    fn sh(&self, script: &str) -> (Supervised, Pipes) {
        directly(self.spec("sh", &["-c", script])).unwrap()
    }

    fn left(&self) -> Vec<u32> {
        marked(MARK, &self.mark)
    }

    fn kill_left(&self) {
        for pid in self.left() {
            // The process may be gone by now, so a failure means nothing. The caller looks again.
            let _ = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).output();
        }
    }

    /// Proves that the child is reaped and every marked process is gone.
    #[track_caller]
    fn assert_nothing_is_left(&self) {
        assert_eq!(self.left(), Vec::<u32>::new());
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.kill_left();
    }
}

/// Starts a direct child, which needs no waiting.
fn directly(spec: ChildSpec) -> Result<(Supervised, Pipes), SpawnError> {
    assert!(spec.shim.is_none());
    spawn(spec).now_or_never().expect("a direct start does not wait")
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(FAR, what).await.expect("should have happened long ago")
}

async fn eventually(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

async fn line(stdout: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    soon(stdout.read_line(&mut line)).await.unwrap();
    line
}

/// Waits until a script reports that its traps are set and its children started.
async fn ready(pipes: &mut Pipes) {
    let mut word = [0; 6];
    soon(pipes.stdout.read_exact(&mut word)).await.unwrap();
    assert_eq!(&word, b"ready\n");
}

#[tokio::test]
async fn a_failing_child_is_reported_with_its_code_and_stderr() {
    let fixture = Fixture::new();
    let (child, _pipes) = fixture.sh("echo 'no such model' >&2; exit 7");
    let exit = soon(child.exited()).await;
    assert_eq!(exit.to_string(), "exit code 7");
    assert_eq!(child.stderr_tail(), "no such model\n");
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_killed_by_a_signal_is_reported_with_the_signal() {
    let fixture = Fixture::new();
    let (child, _pipes) = fixture.sh("kill -USR1 $$");
    assert_eq!(soon(child.exited()).await.to_string(), "killed by SIGUSR1");
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_has_its_pipes_its_directory_and_no_variable_of_ours() {
    let fixture = Fixture::new();
    let (child, pipes) = fixture
        .sh("read word; echo \"$word in $(pwd -P)\"; echo \"home=$HOME\"; read word; exit 8");
    let Pipes { mut stdin, stdout } = pipes;
    let mut stdout = BufReader::new(stdout);
    stdin.write_all(b"hello\n").await.unwrap();
    let folder = fixture.folder.path().canonicalize().unwrap();
    assert_eq!(line(&mut stdout).await, format!("hello in {}\n", folder.display()));
    assert_eq!(line(&mut stdout).await, "home=\n");
    assert_eq!(fixture.left(), [child.pid()]);
    assert_eq!(child.start_time(), start_time(child.pid()));
    drop(stdin);
    assert_eq!(soon(child.exited()).await.code, Some(8));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_that_ends_with_its_stdin_is_not_signalled() {
    let fixture = Fixture::new();
    let (child, pipes) = fixture.sh("trap 'exit 9' TERM; cat");
    drop(pipes.stdin);
    let exit = soon(child.stop(POLITE_ONLY)).await.unwrap();
    assert_eq!(exit.code, Some(0));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_that_ignores_sigterm_is_killed() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("trap '' TERM; echo ready; while :; do sleep 1000; done");
    ready(&mut pipes).await;
    let plan = StopPlan { polite: AT_ONCE, term_grace: Duration::from_millis(50), kill_grace: FAR };
    let exit = soon(child.stop(plan)).await.unwrap();
    assert_eq!(exit.to_string(), "killed by SIGKILL");
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn the_rest_of_its_group_is_killed_when_a_child_exits() {
    let fixture = Fixture::new();
    let (child, mut pipes) =
        fixture.sh("trap '' TERM; sleep 1000 & sleep 1000 & echo ready; read word; exit 3");
    ready(&mut pipes).await;
    eventually(|| fixture.left().len() == 3).await;
    drop(pipes.stdin);
    assert_eq!(soon(child.exited()).await.code, Some(3));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn the_worker_behind_a_wrapper_keeps_its_grace_period() {
    let fixture = Fixture::new();
    // The wrapper dies of SIGTERM at once. The worker gets the signal too, and saves only once the wrapper is gone.
    let (child, mut pipes) = fixture.sh(
        "wrapper=$$
         (trap 'while kill -0 $wrapper 2>&- && ! grep -q \") Z\" /proc/$wrapper/stat; do :; done; echo saved > saved; exit' TERM
          echo ready; while :; do sleep 0.01; done) &
         wait",
    );
    ready(&mut pipes).await;
    let exit = soon(child.stop(TERM_ONLY)).await.unwrap();
    assert_eq!(exit.to_string(), "killed by SIGTERM");
    assert_eq!(fs::read_to_string(fixture.folder.path().join("saved")).unwrap(), "saved\n");
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_stopped_child_can_act_on_sigterm() {
    let fixture = Fixture::new();
    let (child, mut pipes) =
        fixture.sh("trap 'exit 4' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done");
    ready(&mut pipes).await;
    let stat = format!("/proc/{}/stat", child.pid());
    eventually(|| fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    assert_eq!(soon(child.stop(TERM_ONLY)).await.unwrap().code, Some(4));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_flood_of_stderr_neither_blocks_the_child_nor_fills_memory() {
    let fixture = Fixture::new();
    let (child, _pipes) = fixture.sh("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo end >&2");
    assert_eq!(soon(child.exited()).await.code, Some(0));
    let text = child.stderr_tail();
    let (note, kept) = text.split_once('\n').unwrap();
    assert_eq!(kept.len(), stderr_tail::KEPT_BYTES);
    assert!(kept.ends_with("xend\n"));
    assert_eq!(
        note,
        format!("[{} earlier bytes are not kept]", 10_000_004 - stderr_tail::KEPT_BYTES)
    );
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_that_closes_its_stdout_is_still_supervised() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("echo ready; exec >&-; read word; exit 5");
    ready(&mut pipes).await;
    assert_eq!(
        soon(pipes.stdout.read_u8()).await.unwrap_err().kind(),
        std::io::ErrorKind::UnexpectedEof
    );
    assert_eq!(fixture.left(), [child.pid()]);
    drop(pipes.stdin);
    assert_eq!(soon(child.exited()).await.code, Some(5));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_stop_on_request_needs_no_caller_and_keeps_no_child_alive() {
    let fixture = Fixture::new();
    let (request, requested) = tokio::sync::oneshot::channel::<()>();
    let (child, mut pipes) =
        fixture.sh("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done");
    ready(&mut pipes).await;
    child.stop_on(async { drop(requested.await) }, TERM_ONLY);
    request.send(()).unwrap();
    assert_eq!(soon(child.exited()).await.code, Some(4));

    let (child, mut pipes) = fixture.sh("echo ready; read word");
    ready(&mut pipes).await;
    child.stop_on(std::future::pending(), TERM_ONLY);
    let exited = child.exited();
    drop(child);
    assert_eq!(soon(exited).await.signal, Some(9));
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn an_escaped_process_that_holds_the_pipes_does_not_delay_the_end() {
    let fixture = Fixture::new();
    let (child, mut pipes) =
        fixture.sh("setsid sleep 1000 & echo last words >&2; echo ready; read word; exit 6");
    ready(&mut pipes).await;
    // Before that, `setsid` is still in the child's group.
    let escaped = |pid: &u32| *pid != child.pid() && leads_a_group(*pid);
    eventually(|| fixture.left().iter().any(escaped)).await;
    drop(pipes.stdin);
    assert_eq!(soon(child.exited()).await.code, Some(6));
    assert_eq!(child.stderr_tail(), "last words\n");

    // A direct child's escaped processes are not this module's task, so the test kills them.
    eventually(|| fixture.left().len() == 1).await;
    fixture.kill_left();
    eventually(|| fixture.left().is_empty()).await;
}

fn leads_a_group(pid: u32) -> bool {
    group_members(pid).contains(&pid)
}

#[tokio::test]
async fn concurrent_and_later_stops_have_the_same_outcome() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("echo ready; sleep 1000");
    ready(&mut pipes).await;
    let other = child.clone();
    let (one, two, three) =
        soon(async { tokio::join!(child.kill(), other.kill(), child.exited()) }).await;
    assert_eq!(one.unwrap().to_string(), "killed by SIGTERM");
    assert_eq!(two.unwrap(), three);
    assert_eq!(soon(child.stop(POLITE_ONLY)).await.unwrap(), three);
    assert_eq!(soon(child.exited()).await, three);
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_second_shorter_plan_shortens_the_first() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("trap '' TERM; echo ready; while :; do sleep 1000; done");
    ready(&mut pipes).await;
    let patient = async { child.stop(POLITE_ONLY).await.unwrap() };
    let hasty = async { child.stop(KILL_AT_ONCE).await.unwrap() };
    let (one, two) = soon(async { tokio::join!(patient, hasty) }).await;
    assert_eq!(one.to_string(), "killed by SIGKILL");
    assert_eq!(one, two);
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_dropped_stop_is_still_carried_out() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("echo ready; sleep 1000");
    ready(&mut pipes).await;
    // It begins, and is dropped before the child can end.
    tokio::select! {
        biased;
        how = child.stop(TERM_ONLY) => panic!("it has ended: {how:?}"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(soon(child.exited()).await.to_string(), "killed by SIGTERM");
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_child_dies_with_its_last_handle() {
    let fixture = Fixture::new();
    let (child, mut pipes) = fixture.sh("trap '' TERM; sleep 1000 & echo ready; wait");
    ready(&mut pipes).await;
    let exited = child.exited();
    drop(child);
    assert_eq!(soon(exited).await.to_string(), "killed by SIGKILL");
    fixture.assert_nothing_is_left();
}

#[test]
fn a_group_dies_with_the_runtime() {
    let fixture = Fixture::new();
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    };
    let first = runtime();
    let (child, _pipes) = first.block_on(async {
        let (child, mut pipes) = fixture.sh("trap '' TERM; sleep 1000 & echo ready; wait");
        ready(&mut pipes).await;
        (child, pipes)
    });
    drop(first);
    runtime().block_on(async {
        assert_eq!(soon(child.exited()).await.to_string(), "unknown exit status");
        eventually(|| fixture.left().is_empty()).await;
    });
}

#[tokio::test]
async fn a_failed_start_is_reported_with_a_hint() {
    let fixture = Fixture::new();
    // Another process writes the file: one that this process or a child forked meanwhile has open for writing is busy.
    let file = |name: &str, script: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        assert!(
            shell
                .args(["-c", script, "sh", name])
                .current_dir(fixture.folder.path())
                .status()
                .unwrap()
                .success()
        );
        fixture.folder.path().join(name)
    };
    let refusal = |spec| directly(spec).map(drop).unwrap_err().to_string();
    let folder = fixture.folder.path().display();

    assert_eq!(
        refusal(fixture.spec("no-such-agent", &[])),
        "the program `no-such-agent` is not on PATH (`/usr/bin:/bin`): install it, or give its absolute path"
    );
    assert_eq!(
        refusal(fixture.spec(fixture.folder.path().join("gone"), &[])),
        format!("the program `{folder}/gone` does not exist: install it, or correct the path")
    );
    assert_eq!(
        refusal(fixture.spec(file("plain", "echo text > $1"), &[])),
        format!(
            "program `{folder}/plain` is not an executable file: `chmod +x` it, or name another one"
        )
    );
    assert_eq!(
        refusal(
            fixture.spec(file("orphan", "echo '#!/no/such/interpreter' > $1; chmod +x $1"), &[])
        ),
        format!(
            "the system cannot run `{folder}/orphan`: check its first line, and that it is built \
                for this machine"
        )
    );
    assert_eq!(
        refusal(ChildSpec { cwd: "/no/such/place".into(), ..fixture.spec("/bin/sh", &[]) }),
        "cannot start `/bin/sh` in `/no/such/place`, which is not a directory: create it, or name another one"
    );
    let long = "x".repeat(8 << 20);
    assert_eq!(
        refusal(fixture.spec("/bin/sh", &["-c", &long])),
        "the system refused to start `/bin/sh`: Argument list too long (os error 7)"
    );
    fixture.assert_nothing_is_left();
}

#[tokio::test]
async fn a_shim_that_does_not_start_says_why() {
    let fixture = Fixture::new();
    let folder = fixture.folder.path().display();
    let broken = fixture.folder.path().join("broken");
    let script = "printf '#!/bin/sh\necho first >&2\necho no room >&2\n' > $1; chmod +x $1";
    let shell = std::process::Command::new("/bin/sh")
        .args(["-c", script, "sh"])
        .arg(&broken)
        .status()
        .unwrap();
    assert!(shell.success());
    let refusal = async |binary: &Path| {
        let shim = Some(Shim { binary: binary.to_owned(), presence: None });
        let spec = ChildSpec { shim, ..fixture.spec("/bin/sh", &[]) };
        soon(spawn(spec)).await.map(drop).unwrap_err().to_string()
    };
    let shim = "failed to start the shim of an agent,";
    assert_eq!(
        refusal(&fixture.folder.path().join("gone")).await,
        format!(
            "{shim} `{folder}/gone`: this file is gone: install it again, or restart this session"
        )
    );
    assert_eq!(refusal(&broken).await, format!("{shim} `{folder}/broken`: it ended: no room"));
    assert_eq!(
        refusal(Path::new("/bin/false")).await,
        format!("{shim} `/bin/false`: it ended without a word")
    );
    fixture.assert_nothing_is_left();
}

#[test]
fn a_spec_never_shows_the_values_of_its_variables() {
    let spec = ChildSpec {
        program: "codex".into(),
        args: vec![],
        env: vec![("API_KEY".into(), "hunter2".into())],
        cwd: "/".into(),
        shim: None,
    };
    let shown = format!("{spec:?}");
    assert!(shown.contains("API_KEY") && !shown.contains("hunter2"));
}
