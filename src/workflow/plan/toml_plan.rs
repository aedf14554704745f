//! Reads plans from TOML files. Every problem has a place, and those of the plan as a whole are shown at the line that causes them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::plan_draft::{Draft, StepDraft};
use super::plan_problem::Problems;
use crate::config::toml_reader::{Reader, TomlEntry, entries};
use crate::config::{Brought, Problem};
use crate::domain::limits;
use crate::domain::text::exactly::{exact_words, exactly};
use crate::sys::fs::bounded_file;

const PLAN_KEYS: [&str; 2] = ["name", "steps"];
const STEP_KEYS: [&str; 17] = [
    "name",
    "agent",
    "prompt",
    "model",
    "host",
    "depends_on",
    "when",
    "for_each",
    "timeout_seconds",
    "retries",
    "fallback",
    "fresh",
    "approve",
    "gate",
    "gate_seconds",
    "repeat",
    "repeat_steps",
];

/// Why a plan file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("failed to read the plan {file}: {source}")]
    Read { file: String, source: std::io::Error },
    /// It may not be read.
    #[error("the plan {file} {problem}")]
    Refused { file: String, problem: &'static str },
    /// It cannot be understood, or its plan cannot run.
    #[error("{}", lines(.0))]
    Wrong(Vec<Problem>),
}

impl FileError {
    /// Returns whether the file may exist unchanged, although it cannot be read now.
    pub(crate) fn is_fault(&self) -> bool {
        use io::ErrorKind::{InvalidData, NotADirectory, NotFound};
        let Self::Read { source, .. } = self else {
            return false;
        };
        !matches!(source.kind(), InvalidData | NotADirectory | NotFound)
    }
}

/// A draft, and the place of each of its parts in its file.
pub struct LocatedDraft {
    pub draft: Draft,
    file: String,
    text: String,
    /// The byte offset of every key, by its place: `steps[1].agent`.
    places: BTreeMap<String, usize>,
}

/// Reads a plan file. `shown` is its name in errors.
pub fn read(path: &Path, shown: &str) -> Result<LocatedDraft, FileError> {
    let file = shown.to_owned();
    let refused = |problem| FileError::Refused { file: shown.to_owned(), problem };
    let text = match bounded_file::read(path, limits::MAX_CONTENT_BYTES as u64) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(refused("is longer than 1 MiB"));
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(refused("is not a file"));
        }
        Err(error) => Err(error),
    };
    let text = text.map_err(|source| FileError::Read { file: file.clone(), source })?;
    parse(shown, text)
}

/// Reads a plan file of a project, which must be inside it. Returns also the identity of the bytes that were read.
pub fn read_in(project: &Path, given: &str) -> Result<(LocatedDraft, Brought), FileError> {
    let path = project.join(given);
    match path.canonicalize() {
        Ok(path) if path.starts_with(project) => {
            let written = read(&path, given)?;
            let brought = written.brought(&path);
            Ok((written, brought))
        }
        Ok(_) => {
            Err(FileError::Refused { file: given.to_owned(), problem: "is outside the project" })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let problem = "does not exist: name it by its path from the project's root";
            Err(FileError::Refused { file: given.to_owned(), problem })
        }
        Err(source) => Err(FileError::Read { file: given.to_owned(), source }),
    }
}

fn parse(file: &str, text: String) -> Result<LocatedDraft, FileError> {
    let mut plan =
        PlanReader { reader: Reader::new(Path::new(file), &text), places: BTreeMap::new() };
    let draft = match DeTable::parse(&text) {
        Ok(document) => plan.document(document.get_ref()),
        Err(error) => {
            // After a syntax error other problems are meaningless, so it is reported alone.
            let message = format!("this is not TOML: {}", error.message());
            plan.reader.report(&error.span().unwrap_or_default(), message);
            Draft::default()
        }
    };
    let places = plan.places;
    let problems = plan.reader.into_problems();
    if !problems.is_empty() {
        return Err(FileError::Wrong(problems));
    }
    Ok(LocatedDraft { draft, file: file.to_owned(), text, places })
}

impl LocatedDraft {
    /// Identifies the bytes that it was read from, as those of the file at this path.
    pub fn brought(&self, path: &Path) -> Brought {
        Brought::of(path, self.text.as_bytes())
    }

    /// Returns the commands of its gates, a line for each.
    pub fn gates(&self) -> Vec<String> {
        let steps = self.draft.steps.iter().enumerate();
        let gates = steps.filter(|(_, step)| !step.gate.is_empty());
        let line = |(index, step): (usize, &StepDraft)| {
            let number = || (index + 1).to_string();
            let name = step.name.clone().unwrap_or_else(number);
            format!("the gate of step {} would run {}", exactly(&name), exact_words(&step.gate))
        };
        gates.map(line).collect()
    }

    /// Returns the problems of the plan, each at its place in the file.
    pub fn locate(&self, problems: &Problems) -> FileError {
        let reader = Reader::new(Path::new(&self.file), &self.text);
        let located = problems.0.iter().map(|problem| {
            let field = problem.place.rsplit('.').next().unwrap_or_default();
            let message = if field.is_empty() {
                problem.what.clone()
            } else {
                format!("{field}: {}", problem.what)
            };
            reader.problem(self.offset(&problem.place), message)
        });
        FileError::Wrong(located.collect())
    }

    /// Returns the offset of a part of the plan, or of the nearest enclosing part.
    fn offset(&self, place: &str) -> usize {
        let mut place = place;
        loop {
            if let Some(offset) = self.places.get(place) {
                return *offset;
            }
            let Some(end) = place.rfind(['.', '[']) else {
                return 0;
            };
            place = &place[..end];
        }
    }
}

struct PlanReader<'a> {
    reader: Reader<'a>,
    places: BTreeMap<String, usize>,
}

impl PlanReader<'_> {
    fn document(&mut self, document: &DeTable<'_>) -> Draft {
        let mut draft = Draft::default();
        for entry in entries(document) {
            self.note(entry.key.to_owned(), &entry);
            match entry.key {
                "name" => {
                    let name = self.reader.string(entry.value, "`name`");
                    draft.name = name.unwrap_or_default();
                }
                "steps" => draft.steps = self.steps(entry.value),
                _ => self.reader.report_unknown(&entry, "the plan", &PLAN_KEYS),
            }
        }
        draft
    }

    fn note(&mut self, place: String, entry: &TomlEntry<'_, '_>) {
        self.places.insert(place, entry.key_span.start);
    }

    fn steps(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<StepDraft> {
        let Some(steps) = value.get_ref().as_array() else {
            let message = "`steps` must be a list of tables: begin each with [[steps]]";
            self.reader.report(&value.span(), message);
            return Vec::new();
        };
        let numbered = steps.iter().enumerate();
        numbered.map(|(index, step)| self.step(index, step)).collect()
    }

    fn step(&mut self, index: usize, value: &Spanned<DeValue<'_>>) -> StepDraft {
        let place = format!("steps[{index}]");
        self.places.insert(place.clone(), value.span().start);
        let mut step = StepDraft::default();
        let fields = self.reader.table(value, &format!("`{place}`"));
        for entry in fields.unwrap_or_default() {
            self.note(format!("{place}.{}", entry.key), &entry);
            self.field(&mut step, &entry);
        }
        for (field, text) in [("agent", &step.agent), ("prompt", &step.prompt)] {
            if text.is_empty() && !self.places.contains_key(&format!("{place}.{field}")) {
                let message = format!("this step has no `{field}`");
                self.reader.report(&value.span(), message);
            }
        }
        step
    }

    fn field(&mut self, step: &mut StepDraft, entry: &TomlEntry<'_, '_>) {
        let (reader, value) = (&mut self.reader, entry.value);
        let what = format!("`{}`", entry.key);
        let any = 0..=u64::MAX;
        match entry.key {
            "name" => step.name = reader.string(value, &what),
            "agent" => step.agent = reader.string(value, &what).unwrap_or_default(),
            "prompt" => step.prompt = reader.string(value, &what).unwrap_or_default(),
            "model" => step.model = reader.filled_string(value, &what),
            "host" => step.host = reader.filled_string(value, &what),
            "depends_on" => step.depends_on = strings(reader, value, &what),
            "when" => step.when = reader.string(value, &what),
            "for_each" => step.for_each = reader.string(value, &what),
            "timeout_seconds" => step.timeout_seconds = reader.number(value, &what, &any),
            "retries" => step.retries = reader.number(value, &what, &any),
            "fallback" => step.fallback = strings(reader, value, &what),
            "fresh" => step.fresh = reader.boolean(value, &what).unwrap_or_default(),
            "approve" => step.approve = reader.string(value, &what),
            "gate" => step.gate = strings(reader, value, &what),
            "gate_seconds" => step.gate_seconds = reader.number(value, &what, &any),
            "repeat" => step.repeat = reader.number(value, &what, &any),
            "repeat_steps" => step.repeat_steps = strings(reader, value, &what),
            _ => reader.report_unknown(entry, "a step", &STEP_KEYS),
        }
    }
}

fn strings(reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>, what: &str) -> Vec<String> {
    let each = |reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>, what: &str| {
        reader.string(value, what)
    };
    reader.array(value, what, each).unwrap_or_default()
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Reads a text as a plan file.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_text(text: &str) -> Result<LocatedDraft, FileError> {
    parse("plan.toml", text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;
    use crate::team::Candidates;
    use crate::workflow::plan::validate;

    #[track_caller]
    fn refused(text: &str, expected: &[&str]) {
        let known =
            Candidates { profiles: vec![Name::parse("codex").unwrap()], ..Candidates::default() };
        let problems = match parse("plan.toml", text.to_owned()) {
            Err(error) => error.to_string(),
            Ok(written) => {
                let problems = validate(written.draft.clone(), &known).unwrap_err();
                written.locate(&problems).to_string()
            }
        };
        assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_plan_file_has_every_field_of_the_tool() {
        let text = r#"
            name = "two"
            [[steps]]
            agent = "codex"
            prompt = "one"
            [[steps]]
            name = "next"
            agent = "codex"
            prompt = "two"
            model = "m"
            host = "builder"
            depends_on = ["codex"]
            when = "steps.codex.status == done"
            for_each = "steps.codex.json"
            timeout_seconds = 60
            retries = 1
            fallback = ["claude"]
            fresh = true
            approve = "human"
            gate = ["cargo", "test"]
            gate_seconds = 5
            repeat = 3
            repeat_steps = ["codex"]
        "#;
        let draft = parse("plan.toml", text.into()).unwrap().draft;
        assert_eq!(draft.name, "two");
        let next = StepDraft {
            name: Some("next".into()),
            agent: "codex".into(),
            prompt: "two".into(),
            model: Some("m".into()),
            host: Some("builder".into()),
            depends_on: vec!["codex".into()],
            when: Some("steps.codex.status == done".into()),
            for_each: Some("steps.codex.json".into()),
            timeout_seconds: Some(60),
            retries: Some(1),
            fallback: vec!["claude".into()],
            fresh: true,
            approve: Some("human".into()),
            gate: vec!["cargo".into(), "test".into()],
            gate_seconds: Some(5),
            repeat: Some(3),
            repeat_steps: vec!["codex".into()],
        };
        assert_eq!(format!("{:?}", draft.steps[1]), format!("{next:?}"));
    }

    #[test]
    fn an_error_is_reported_with_line_column_and_the_nearest_key() {
        refused(
            "name = \"x\"\n[[steps]]\nagnet = \"codex\"\nprompt = 3\n[[step]]\n",
            &[
                "plan.toml:2:1: this step has no `agent`",
                "plan.toml:3:1: unknown key `agnet` in a step: did you mean `agent`?",
                "plan.toml:4:10: `prompt` must be a string, not an integer",
                "plan.toml:5:3: unknown key `step` in the plan: did you mean `steps`?",
            ],
        );
        refused(
            "name = ",
            &[
                "plan.toml:1:8: this is not TOML: string values must be quoted, expected literal string",
            ],
        );
        refused(
            "name = \"x\"\nsteps = 3\n",
            &["plan.toml:2:9: `steps` must be a list of tables: begin each with [[steps]]"],
        );
    }

    #[test]
    fn problems_of_the_plan_are_reported_at_their_lines() {
        refused(
            "name = \"x\"\n\n[[steps]]\nname = \"a\"\nagent = \"codx\"\nprompt = \"{{steps.b.output}}\"\n\
             depends_on = [\"c\"]\n[[steps]]\nname = \"a\"\nagent = \"codex\"\nprompt = \"\"\n",
            &[
                "plan.toml:11:1: prompt: it is empty: say what to do",
                "plan.toml:9:1: name: another step is already named `a`",
                "plan.toml:5:1: agent: `codx` is neither a live agent nor a profile: did you mean `codex`?",
                "plan.toml:7:1: depends_on[0]: no step is named `c`",
                "plan.toml:6:1: prompt: a placeholder names the step `b`, which does not exist",
            ],
        );
    }

    #[test]
    fn a_plan_file_is_inside_the_project() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&project).unwrap();
        let plan = "name = \"x\"\nsteps = []\n";
        std::fs::write(project.join("plan.toml"), plan).unwrap();
        std::fs::write(root.path().join("other.toml"), plan).unwrap();
        assert!(read_in(&project, "plan.toml").is_ok());
        let message = |given: &str| read_in(&project, given).err().unwrap().to_string();
        assert_eq!(message("../other.toml"), "the plan ../other.toml is outside the project");
        let other = root.path().join("other.toml");
        std::os::unix::fs::symlink(other, project.join("link.toml")).unwrap();
        assert_eq!(message("link.toml"), "the plan link.toml is outside the project");
        assert!(message("none.toml").starts_with("the plan none.toml does not exist: "));
        assert_eq!(message("."), "the plan . is not a file");
    }
}
