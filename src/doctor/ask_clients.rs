//! Asks the clients that can say what is wrong with their own settings: Codex and Claude Code, by a command of theirs that starts no session
//! and none of the commands that their settings name. One that was never started is not asked: it would make files in the home directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::judge_answers::{Answer, CLAUDE_CODE, CODEX};
use crate::domain::wait_times;
use crate::setup::clients::{named, was_started};
use crate::setup::known_client::{Places, SERVER, Server};
use crate::setup::switches::places_read_in;
use crate::supervisor::npm_folder::NO_CACHE;
use crate::supervisor::{self, ChildSpec, Shim, StopPlan};
use crate::sys::process::find_program;
use crate::team::Launch;

/// Bytes of an answer that are kept: the beginning of it.
const KEPT: usize = 16 * 1024;

/// The most directories in which a client is asked.
const SESSIONS: usize = 2;

/// How a client is asked.
struct Question {
    client: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Added to the environment.
    variables: &'static [(&'static str, &'static str)],
}

const QUESTIONS: [Question; 2] = [
    Question {
        client: CODEX,
        program: "codex",
        arguments: &["mcp", "list"],
        // The words of an error, without the calls that led to it.
        variables: &[("RUST_BACKTRACE", "0")],
    },
    Question {
        client: CLAUDE_CODE,
        program: "claude",
        arguments: &["doctor"],
        variables: &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // It asks npm, which leaves no log of that, and makes no cache.
            ("npm_config_logs_max", "0"),
            ("npm_config_cache", NO_CACHE),
            ("npm_config_update_notifier", "false"),
        ],
    },
];

/// Asks the installed clients, in each of these directories in which one may be started. Who does not answer in time is left out.
pub(super) async fn ask(
    launch: &Launch,
    project: Option<&Path>,
    directories: &[PathBuf],
) -> Vec<Answer> {
    let variable = |name: &str| {
        let found = launch.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(places) = Places::read(variable, cfg!(target_os = "macos")) else {
        return Vec::new();
    };
    let search = variable("PATH");
    let mut sessions: Vec<&PathBuf> = Vec::new();
    for directory in directories {
        if !sessions.contains(&directory) && sessions.len() < SESSIONS {
            sessions.push(directory);
        }
    }
    let questions = QUESTIONS.iter().filter_map(|question| {
        named(question.client).filter(|client| was_started(client, &places))?;
        let program = find_program(Path::new(question.program), search.as_deref())?;
        Some((question, program))
    });
    let mut asked = Vec::new();
    for (question, program) in questions {
        for session in &sessions {
            let (places, program) = (&places, program.clone());
            asked.push(async move {
                let answer = run(launch, question, &program, session).await?;
                let files = if answer.0 == Some(0) || question.client != CODEX {
                    Vec::new()
                } else if run(launch, question, &program, Path::new("/")).await?.0 == Some(0) {
                    files_in_project(question.client, project.unwrap_or(session), session)
                } else {
                    files_of_user(question.client, places)
                };
                let (code, said) = answer;
                let directory = (*session).clone();
                Some(Answer { client: question.client, directory, code, said, files })
            });
        }
    }
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

/// Returns the user's own files of a client.
fn files_of_user(client: &str, places: &Places) -> Vec<PathBuf> {
    let server = Server { program: SERVER.to_owned() };
    let files = named(client).map(|client| (client.for_user)(places, &server));
    files.into_iter().flatten().map(|file| file.path).collect()
}

/// Returns the files of a project that a session reads.
fn files_in_project(client: &str, project: &Path, session: &Path) -> Vec<PathBuf> {
    let server = Server { program: SERVER.to_owned() };
    let Some(known) = named(client) else {
        return Vec::new();
    };
    let read = places_read_in(client, project, session).into_iter();
    let files = read.flat_map(|place| (known.for_project)(&place.directory, &server));
    files.map(|file| file.path).filter(|path| path.exists()).collect()
}

/// Runs a client's command, for a limited time, and returns its exit code and what it said: on stderr if it failed.
async fn run(
    launch: &Launch,
    question: &Question,
    program: &Path,
    directory: &Path,
) -> Option<(Option<i32>, String)> {
    let mut env: Vec<(OsString, OsString)> = launch.environment.clone();
    env.retain(|(known, _)| question.variables.iter().all(|(name, _)| known != name));
    env.extend(question.variables.iter().map(|(name, value)| (name.into(), value.into())));
    let spec = ChildSpec {
        program: program.to_owned(),
        args: question.arguments.iter().map(OsString::from).collect(),
        env,
        cwd: directory.to_owned(),
        shim: Some(Shim { binary: launch.own_binary.clone(), presence: None }),
    };
    let (child, pipes) = supervisor::spawn(spec).await.ok()?;
    drop(pipes.stdin);
    let mut stdout = pipes.stdout;
    let running = async { tokio::join!(child.exited(), beginning_of(&mut stdout)) };
    match tokio::time::timeout(wait_times::DOCTOR_QUESTION, running).await {
        Ok((exit, said)) if exit.code == Some(0) => Some((exit.code, said)),
        Ok((exit, _)) => Some((exit.code, child.stderr_tail())),
        Err(_) => {
            // If it cannot be killed, the supervisor logs a warning.
            let _ = child.stop(StopPlan::KILL).await;
            None
        }
    }
}

/// Reads all that a program prints, because a full pipe would stop it, and returns the beginning of it.
async fn beginning_of(output: &mut (impl AsyncRead + Unpin)) -> String {
    let (mut kept, mut part) = (Vec::new(), [0; 4096]);
    // A pipe that cannot be read has ended.
    while let Ok(read @ 1..) = output.read(&mut part).await {
        kept.extend_from_slice(&part[..read]);
        kept.truncate(KEPT);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
