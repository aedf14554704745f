//! Files that an agent reads and writes through us: only of the project, never of the bus. Writes follow the policy.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::ask::{question, survey};
use super::effective_policy;
use super::look_at_paths::PathsFound;
use super::open_questions::{Asker, OpenQuestions, PathRequest};
use super::shown_paths::shown_paths;
use crate::acp::{AcpSessionId, FileAccess, FileQuestion, FileRefusal, Touched};
use crate::bus::event::Question;
use crate::domain::limits;
use crate::domain::permission::{Decision, Policy, Verdict, judge};
use crate::sys::fs::contained_dir::{Beneath, BeneathError};
use crate::team::agent::context::AgentContext;
use crate::team::turn::turn_record::Turn;

impl OpenQuestions {
    /// Handles a request for a file in the agent's session. The file's real place decides whether the request is granted, refused,
    /// or asked about.
    pub(crate) fn consider_file(
        &mut self,
        agent: &AgentContext,
        session: &AcpSessionId,
        turn: Option<&Turn>,
        asked: FileQuestion,
    ) {
        let request = asked.request();
        let cancelled = turn.is_some_and(|turn| turn.cancelled.is_some());
        if request.session != *session || cancelled {
            // Dropping it refuses it: its purpose is over.
            return;
        }
        // The real place is used from here on, so a link that is put there later is not followed.
        let survey = survey(agent, std::iter::once(request.path.as_path()));
        self.look(PathRequest::File(asked), survey);
    }

    /// Continues once the file's place is known.
    pub(super) fn decide_file(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        asked: FileQuestion,
        found: Option<PathsFound>,
    ) {
        let request = asked.request();
        let Some(found) = found else {
            let why = "timed out while looking up where this file is";
            return asked.answer(Err(why.into()));
        };
        let PathsFound { ground, places, .. } = &found;
        let is_ours = judge(Policy::Rules, "read", places, ground) == Verdict::Allow;
        let inner = places
            .first()
            .and_then(Option::as_deref)
            .and_then(|place| place.strip_prefix(&ground.project).ok())
            .filter(|_| is_ours)
            .map(Path::to_path_buf);
        let Some(inner) = inner else {
            let why = "the bridge does not give out this file: only files of the project, and none \
                that are guarded";
            return asked.answer(Err(why.into()));
        };
        if matches!(request.access, FileAccess::Read { .. }) {
            return self.access_file(agent, asked, inner);
        }
        let path = request.path.to_string_lossy().into_owned();
        let question = Question {
            kind: "edit".to_owned(),
            paths: shown_paths(agent, "edit", &Touched::of_path(path.clone()), Some(&found)),
            ..question(agent, turn.as_ref(), &format!("write {path}"), std::iter::empty())
        };
        let decision =
            match judge(effective_policy::of_turn(agent, turn.as_ref()), "edit", places, ground) {
                Verdict::Allow => Decision::AllowOnce,
                Verdict::Reject => Decision::Reject,
                Verdict::Ask if self.is_refused(&question) => Decision::Reject,
                Verdict::Ask => return self.post(agent, question, Asker::Write(asked, inner)),
            };
        self.answer_by_policy(agent, turn, (question, Asker::Write(asked, inner)), decision);
    }

    /// Reads or writes the file on another thread: a disk may be slow.
    pub(super) fn access_file(
        &mut self,
        agent: &AgentContext,
        asked: FileQuestion,
        inner: PathBuf,
    ) {
        // Forget finished accesses. One that panicked has dropped its request, which answered it.
        while self.files.try_join_next().is_some() {}
        if self.files.len() >= limits::FILES_AT_ONCE {
            let why = "too many files are being read and written at once: try again";
            return asked.answer(Err(why.into()));
        }
        let project = agent.identity.root.clone();
        self.files.spawn_blocking(move || {
            let done = perform(&project, &inner, &asked.request().access);
            asked.answer(done);
        });
    }
}

/// Reads or writes a file below the project. The reason names no path: the agent knows it.
fn perform(project: &Path, inner: &Path, access: &FileAccess) -> Result<String, FileRefusal> {
    let failed = |error: &dyn std::fmt::Display| {
        FileRefusal::Other(format!("cannot access the file: {error}"))
    };
    let unread = |error: BeneathError| match error {
        BeneathError::Io(error) if error.kind() == ErrorKind::NotFound => {
            FileRefusal::Missing("the file does not exist".to_owned())
        }
        error => failed(&error),
    };
    let beneath = Beneath::open(project).map_err(|error| failed(&error))?;
    match access {
        FileAccess::Read { line, limit } => {
            let bytes = beneath.read(inner, limits::MAX_FILE_BYTES).map_err(unread)?;
            let text = String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8 text"))?;
            Ok(lines(text, *line, *limit))
        }
        FileAccess::Write { content } if content.len() as u64 > limits::MAX_FILE_BYTES => {
            let limit = limits::MAX_FILE_BYTES;
            Err(failed(&format!("it would be longer than {limit} bytes")))
        }
        FileAccess::Write { content } => beneath
            .write(inner, content.as_bytes())
            .map(|()| String::new())
            .map_err(|error| failed(&error)),
    }
}

/// Returns up to `limit` lines from `line` on, which is counted from 1.
fn lines(text: String, line: Option<usize>, limit: Option<usize>) -> String {
    if line.is_none() && limit.is_none() {
        return text;
    }
    let skipped = line.unwrap_or(1).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(skipped);
    lines.take(limit.unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let check = |line, limit, expected: &str| {
            assert_eq!(lines("a\nb\r\nc".to_owned(), line, limit), expected);
        };
        check(None, None, "a\nb\r\nc");
        check(Some(1), None, "a\nb\r\nc");
        check(Some(0), Some(1), "a\n");
        check(Some(2), Some(1), "b\r\n");
        check(Some(2), None, "b\r\nc");
        check(None, Some(0), "");
        check(Some(9), Some(9), "");
    }

    #[test]
    fn only_text_below_the_size_limit_is_read_and_written() {
        let project = tempfile::tempdir().unwrap();
        let check = |access: FileAccess, problem: &str| match perform(
            project.path(),
            Path::new("file"),
            &access,
        ) {
            Err(FileRefusal::Other(refused)) => assert!(refused.contains(problem), "{refused}"),
            other => panic!("{problem}: {other:?}"),
        };
        let read = FileAccess::Read { line: None, limit: Some(1) };
        let missing = perform(project.path(), Path::new("file"), &read);
        assert_eq!(missing, Err(FileRefusal::Missing("the file does not exist".to_owned())));
        std::fs::write(project.path().join("file"), [b'a', 0xff]).unwrap();
        check(read.clone(), "UTF-8");
        let file = std::fs::File::create(project.path().join("file")).unwrap();
        file.set_len(limits::MAX_FILE_BYTES + 1).unwrap();
        check(read, "longer than 8388608 bytes");
        let content = "x".repeat(usize::try_from(limits::MAX_FILE_BYTES).unwrap() + 1);
        check(FileAccess::Write { content }, "longer than 8388608 bytes");
    }
}
