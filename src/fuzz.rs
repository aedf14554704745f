//! One function for each reader of outside data: no input may panic, and some readers must guarantee more.
//!
//! `fuzz/` runs them under a fuzzer. The test below runs the same functions over `fuzz/corpus` and some thousand mutations of it,
//! so that they stay correct. The outside data are the log of a bus, its snapshots, the output of agents, the requests of MCP
//! clients, configuration, plans, messages, and the files of clients.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::acp;
use crate::bus::LoadedMessage;
use crate::bus::rules::{self, Command, Operation};
use crate::bus::state::{BodyRef, Deliveries, Message, State};
use crate::bus::storage::file::line_format::{self, Decoded};
use crate::bus::storage::file::read_any_snapshot;
use crate::bus::storage::{LogPosition, Replica};
use crate::config;
use crate::delivery::message_frame::{BEGIN, END, frame};
use crate::delivery::recipient::Reader;
use crate::domain::ids::{CommandId, MessageId, RequestId};
use crate::domain::messaging::{Audience, Author, MessageKind, Priority};
use crate::domain::name::Name;
use crate::domain::time::{Now, Tick};
use crate::mcp::{self, AnyTool};
use crate::setup::edits::counted_parts;
use crate::workflow;

/// The function that runs on an input.
pub type Target = fn(&[u8]);

/// All targets, by the names of their folders in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 8] = [
    ("line", read_line),
    ("snapshot", read_snapshot),
    ("agent", read_agent),
    ("client", read_client),
    ("config", read_config),
    ("plan", read_plan),
    ("frame", write_frame),
    ("client_file", count_client_file),
];

/// Reads lines of a log, as they are and with a correct checksum, and applies their events.
pub fn read_line(bytes: &[u8]) {
    let mut state = State::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        take(&mut state, line);
        if let Some(sealed) = sealed(line) {
            take(&mut state, &sealed);
        }
    }
    look_at(&state);
}

fn take(state: &mut State, bytes: &[u8]) {
    let Decoded::Entry { entry, indices, .. } = line_format::decode(bytes) else {
        return;
    };
    assert_eq!(entry.events.len(), indices.len());
    let again = line_format::encode(&entry);
    let again = again.strip_suffix(b"\n").expect("a line ends with a newline");
    let Decoded::Entry { entry: read, .. } = line_format::decode(again) else {
        panic!("what was read cannot be written so that it is read again: {entry:?}");
    };
    assert_eq!(read, entry);
    state.apply(&entry, &indices, LogPosition::default());
}

/// Asks a state whether anything is due, as every process does.
fn look_at(state: &State) {
    let command = Command {
        id: CommandId(uuid::Uuid::nil()),
        by: None,
        received: Vec::new(),
        operation: Operation::Due,
    };
    let now = Now { wall_ms: 0, tick: Tick { boot: 1, ms: 1 } };
    // Both an answer and a refusal are fine.
    drop(rules::decide(state, now, &command));
}

/// Gives a line a correct checksum.
fn sealed(line: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?.trim_end();
    let mut sealed = line_format::seal(text.ends_with('}').then(|| text.to_owned())?);
    sealed.pop();
    Some(sealed)
}

/// Reads a snapshot, as it is and with a correct checksum.
pub fn read_snapshot(bytes: &[u8]) {
    let sealed = sealed(bytes).map(|mut sealed| {
        sealed.push(b'\n');
        sealed
    });
    for bytes in [Some(bytes.to_vec()), sealed].into_iter().flatten() {
        if let Some(Replica { state, .. }) = read_any_snapshot(&bytes) {
            look_at(&state);
        }
    }
}

/// Reads the output of an agent.
pub fn read_agent(bytes: &[u8]) {
    acp::read_all(bytes);
}

/// Reads the input from an MCP client: messages, and the arguments of every tool that an agent has.
pub fn read_client(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        mcp::opens(line);
        let arguments = serde_json::from_slice::<Value>(line).ok();
        let arguments = arguments.and_then(|arguments| match arguments {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        });
        check_arguments(&arguments.unwrap_or_default());
    }
}

/// A tool, and the schema of its arguments.
type WithSchema = (Box<dyn AnyTool>, Arc<Map<String, Value>>);

/// The tools of an agent, with the schemas of their arguments, which are slow to make.
static TOOLS: LazyLock<Vec<WithSchema>> = LazyLock::new(|| {
    let tools = mcp::tools::endpoint_tools::tools().into_iter();
    let with_schema = |tool: Box<dyn AnyTool>| {
        let schema = tool.definition().input_schema;
        (tool, schema)
    };
    tools.map(with_schema).collect()
});

fn check_arguments(arguments: &Map<String, Value>) {
    for (tool, schema) in TOOLS.iter() {
        let prepared = tool.prepare(schema, arguments.clone());
        let problem = prepared.err().map(|error| error.to_string());
        assert_ne!(problem.as_deref(), Some(""));
        // The check names every problem; the parser, whose words no model sees, finds no more.
        assert!(!problem.is_some_and(|problem| problem.contains("cannot read these arguments")));
    }
}

/// Reads a configuration file.
pub fn read_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match config::read_text(text) {
        Ok(config) => assert!(config.profile("codex").is_ok(), "the built-in profiles stay"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Counts the parts of a client's file, which decides whether setup makes a tree of it.
pub fn count_client_file(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        counted_parts::check(text);
    }
}

/// Reads a plan file, and checks the plan.
pub fn read_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let problem = match workflow::plan::toml_plan::read_text(text) {
        Err(error) => error.to_string(),
        Ok(written) => {
            match workflow::plan::validate(
                written.draft.clone(),
                &crate::team::Candidates::default(),
            ) {
                Ok(_) => return,
                Err(problems) => written.locate(&problems).to_string(),
            }
        }
    };
    assert!(!problem.is_empty());
}

/// Writes two messages into their frame: no text can leave it.
pub fn write_frame(bytes: &[u8]) {
    let (you, from) = (name("qwen"), name("codex"));
    let half = bytes.len() / 2;
    let letters = [&bytes[..half], &bytes[half..]].map(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        letter(&from, &you, text, bytes.len())
    });
    let text = frame(&letters, Reader::new(&you, "mcp__bridge__"), bytes.len() % 2);
    let lines: Vec<_> = text.lines().collect();
    let [first, within @ .., last] = lines.as_slice() else {
        panic!("a frame has two lines: {text:?}");
    };
    assert_eq!((*first, *last), (BEGIN, END));
    let (speaks, more) = ("[codex → you] ", "1 more: call mcp__bridge__check_messages");
    let speakers = within.iter().filter(|line| line.starts_with(speaks));
    assert_eq!(speakers.count(), 2, "{text:?}");
    for line in within {
        let stays = line.starts_with(speaks) || line.starts_with("  ") || *line == more;
        assert!(stays, "{line:?} stands alone in {text:?}");
    }
    let is_shown = |c: char| !c.is_control() || c == '\n' || c == '\t';
    assert!(text.chars().all(is_shown), "{text:?}");
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("it is a name")
}

/// A message whose kind and length follow from a number.
fn letter(from: &Name, you: &Name, text: String, number: usize) -> LoadedMessage {
    let id = MessageId::from_bits(1);
    let (kind, request) = if number.is_multiple_of(3) {
        (MessageKind::Request, Some(RequestId::from_bits(2)))
    } else {
        (MessageKind::Message, None)
    };
    let header = Message {
        id: id.clone(),
        seq: 1,
        sent_ms: 0,
        kind,
        from: Author::Member(from.clone()),
        audience: Audience::One(you.clone()),
        request,
        task: None,
        claimed_by: None,
        reply_to: None,
        thread: id,
        priority: if number.is_multiple_of(5) { Priority::Urgent } else { Priority::Normal },
        quiet: false,
        resolved: false,
        disputed: false,
        replaced: false,
        more: None,
        body: BodyRef { place: LogPosition::default(), index: 0, bytes: text.len() as u64 },
        deliveries: Deliveries::default(),
    };
    let total = text.len() + number % 7;
    LoadedMessage { header, text, offset: 0, total, lost: None, is_again: false, more: None }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use super::*;
    use crate::bus::storage::file::written_snapshot;
    use crate::sys::random_ids;

    /// How many mutations per target, unless `BRIDGE_FUZZ_ROUNDS` names another number.
    const ROUNDS: usize = 1_000;

    /// The longest input: longer ones find little more, and take long.
    const LONGEST: usize = 16 * 1024;

    /// The words that a mutation inserts: those that readers look for.
    const WORDS: [&[u8]; 20] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"\n",
        b"\r",
        b"\\ud83d",
        b"\xff",
        b"null",
        b"-1",
        b"18446744073709551615",
        b"1e400",
        b"\x00",
        "\u{2028}".as_bytes(),
        "\u{85}".as_bytes(),
        END.as_bytes(),
        b"\\u0000",
        b"= ",
    ];

    /// Reproducible random numbers.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, end: usize) -> usize {
            // xorshift64*: good enough to choose by.
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
            usize::try_from(drawn).unwrap() % end.max(1)
        }

        fn mutated(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
            let mut input = corpus[self.below(corpus.len())].clone();
            for _ in 0..=self.below(4) {
                let at = self.below(input.len() + 1);
                let end = (at + self.below(32)).min(input.len());
                match self.below(6) {
                    0 if at < input.len() => input[at] ^= 1 << self.below(8),
                    1 => drop(input.drain(at..end)),
                    2 => drop(input.splice(at..at, input[at..end].to_vec())),
                    3 => {
                        let other = &corpus[self.below(corpus.len())];
                        let from = self.below(other.len() + 1);
                        let to = (from + self.below(256)).min(other.len());
                        drop(input.splice(at..end, other[from..to].iter().copied()));
                    }
                    4 => input.insert(at, u8::try_from(self.below(256)).unwrap()),
                    _ => {
                        let word = WORDS[self.below(WORDS.len())];
                        drop(input.splice(at..end, word.iter().copied()));
                    }
                }
            }
            input.truncate(LONGEST);
            input
        }
    }

    /// Returns the inputs in the folder of a target, and those derived from other files.
    fn corpus(target: &str) -> Vec<Vec<u8>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |folder: &str| {
            let files = fs::read_dir(root.join(folder)).unwrap();
            let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            // So that a seed gives the same run everywhere.
            files.sort();
            files.retain(|file| file.is_file());
            files.into_iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>()
        };
        let mut corpus = read(&format!("fuzz/corpus/{target}"));
        match target {
            "plan" => corpus.extend(read("examples/workflows")),
            "config" => corpus.extend(read("agents")),
            "snapshot" => {
                for lines in read("fuzz/corpus/line") {
                    corpus.push(snapshot_of(&lines));
                }
            }
            _ => {}
        }
        corpus
    }

    fn snapshot_of(lines: &[u8]) -> Vec<u8> {
        let mut replica = Replica::default();
        for line in lines.split(|byte| *byte == b'\n') {
            let sealed = sealed(line).unwrap_or_default();
            if let Decoded::Entry { entry, indices, .. } = line_format::decode(&sealed) {
                replica.state.apply(&entry, &indices, LogPosition::default());
            }
        }
        written_snapshot(&replica)
    }

    #[test]
    fn no_input_breaks_a_reader() {
        let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
        let drawn = random_ids::session().0.as_u64_pair().1;
        let seed = setting("BRIDGE_FUZZ_SEED").unwrap_or(drawn);
        let rounds =
            setting("BRIDGE_FUZZ_ROUNDS").map_or(ROUNDS, |rounds| usize::try_from(rounds).unwrap());
        eprintln!("BRIDGE_FUZZ_SEED={seed}");
        for (name, target) in TARGETS {
            let mut chance = Chance(seed | 1);
            let corpus = corpus(name);
            let mutated = (0..rounds).map(|_| chance.mutated(&corpus));
            for input in corpus.iter().cloned().chain(mutated) {
                let ran = catch_unwind(AssertUnwindSafe(|| target(&input)));
                let shown = || String::from_utf8_lossy(&input).into_owned();
                assert!(ran.is_ok(), "`{name}`, BRIDGE_FUZZ_SEED={seed}: {:?}", shown());
            }
        }
    }

    #[test]
    fn the_corpus_reaches_the_readers() {
        for lines in corpus("line") {
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let decoded = line_format::decode(&sealed(line).unwrap());
                assert!(
                    matches!(decoded, Decoded::Entry { .. }),
                    "{}",
                    String::from_utf8_lossy(line)
                );
            }
        }
        assert!(corpus("snapshot").iter().any(|bytes| read_any_snapshot(bytes).is_some()));
        assert!(corpus("agent").iter().any(|bytes| acp::read_all(bytes) > 0));
        let opens = |bytes: &Vec<u8>| bytes.split(|byte| *byte == b'\n').any(mcp::opens);
        assert!(corpus("client").iter().any(opens));
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        assert!(corpus("config").iter().any(|bytes| config::read_text(&text(bytes)).is_ok()));
        assert!(
            corpus("plan")
                .iter()
                .any(|bytes| workflow::plan::toml_plan::read_text(&text(bytes)).is_ok())
        );
    }
}
