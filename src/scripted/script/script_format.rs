//! The format of a script: reads it, and refuses mistakes with their place.
//!
//! ```toml
//! [agents.writer.start]               # optional: how the process behaves
//! models = ["small", "large"]
//!
//! [[agents.writer.turns]]             # the first turn that fits a prompt and is not used up is played
//! when = "review"                     # the prompt contains this; without it every prompt fits
//! times = 1                           # how often it is played; without it, each time it fits
//! steps = [                           # each step is one verb, see `ScriptStep`
//!   { say = "I look at {{prompt}}." },
//!   { call = "send_message", with = { to = "reviewer", content = "done" } },
//! ]
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

use super::toml_fields::{Fields, Mistake, ScriptText, quoted, unknown};
use super::verbs::{ScriptStep, read_steps};

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("failed to read the script {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The script has a mistake.
    #[error("{0}")]
    Mistake(Mistake),
    /// No table of the script fits an agent.
    #[error("the script has no table for `{name}`, nor `default`; it has {tables}")]
    NoTable {
        /// The agent's name, or the name of the requested table.
        name: String,
        /// The tables of the script.
        tables: String,
    },
}

impl From<Mistake> for ScriptError {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

/// A whole script: one part per agent.
#[derive(Debug)]
pub struct Script {
    agents: BTreeMap<String, Arc<Part>>,
}

/// The part of one agent: a table of the script.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) start: Start,
    pub(crate) turns: Vec<ScriptedTurn>,
}

/// How the process of an agent behaves.
#[derive(Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of a script that are independent of each other"
)]
pub(crate) struct Start {
    /// Exits with this code as soon as the table is known: when the process starts, if it was named there or is the only table,
    /// `default`; else when a session opens.
    pub(crate) crash: Option<u8>,
    /// Written to stderr at the same moment, before a crash.
    pub(crate) stderr: Option<String>,
    pub(crate) servers: StartServers,
    pub(crate) ignore_eof: bool,
    pub(crate) ignore_term: bool,
    /// This many sessions open; a request for another one is never answered.
    pub(crate) sessions: Option<u32>,
    /// Sessions can be loaded and resumed.
    pub(crate) load: bool,
    /// Sessions can be loaded but not resumed; this text is replayed before the load is answered.
    pub(crate) history: Option<String>,
    /// The models to choose from; the first one is in use.
    pub(crate) models: Vec<String>,
    /// The modes to choose from, likewise.
    pub(crate) modes: Vec<String>,
    /// How it reacts to messages that are steered into its turns.
    pub(crate) steering: Steering,
    /// It asks for new messages after each tool call.
    pub(crate) drain: bool,
}

/// How the agent reacts to texts that the client steers into a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Steering {
    /// It does not offer steering.
    #[default]
    Absent,
    /// The text goes into the turn.
    Inject,
    /// It always answers that no turn runs.
    NoTurn,
    /// It answers with an empty success, and does nothing.
    Empty,
    /// It never answers, and does nothing.
    Silent,
    /// It answers with an error.
    Refuse,
}

impl Steering {
    /// All variants that a script can name.
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("inject", Self::Inject),
        ("no_turn", Self::NoTurn),
        ("empty", Self::Empty),
        ("silent", Self::Silent),
        ("refuse", Self::Refuse),
    ];
}

/// When the MCP servers of a session are started.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub(crate) enum StartServers {
    /// Before session/new is answered.
    #[default]
    Before,
    /// After session/new is answered.
    After,
    Never,
}

/// The answer to one kind of prompt.
#[derive(Debug, PartialEq)]
pub(crate) struct ScriptedTurn {
    pub(crate) when: Option<String>,
    pub(crate) times: Option<u32>,
    pub(crate) steps: Vec<ScriptStep>,
}

impl Script {
    /// Reads and checks a script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Checks the text of a script; the path is for messages only.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        let source = ScriptText { path, text };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            source.mistake(offset, error.message())
        })?;
        let document = Fields::document(source, table.get_ref());
        document.only("key", &["agents"])?;
        let Some(agents) = document.value("agents") else {
            return Err(document
                .mistake("a script needs a table `[agents.NAME]` for each agent")
                .into());
        };
        let tables = Fields::of(source, agents, "`agents`")?;
        let mut parts = BTreeMap::new();
        for (name, table) in tables.entries() {
            let part = Part::read(name, &Fields::of(source, table, &format!("`agents.{name}`"))?)?;
            parts.insert(name.to_owned(), Arc::new(part));
        }
        Ok(Self { agents: parts })
    }

    /// Returns the table of exactly this name.
    pub(crate) fn named(&self, table: &str) -> Result<Arc<Part>, ScriptError> {
        self.agents.get(table).cloned().ok_or_else(|| self.no_table(table))
    }

    /// Returns the table for a member: its own, else that of the name without its number (`codex` for `codex-2`), else `default`.
    pub(crate) fn for_member(&self, member: Option<&str>) -> Result<Arc<Part>, ScriptError> {
        let own = member
            .and_then(|name| self.agents.get(name).or_else(|| self.agents.get(unnumbered(name)?)));
        own.or_else(|| self.agents.get("default"))
            .cloned()
            .ok_or_else(|| self.no_table(member.unwrap_or("default")))
    }

    /// Returns the table that is known before any session names the agent: `default`, if it is the only one.
    pub(crate) fn certain(&self) -> Option<Arc<Part>> {
        self.agents.get("default").filter(|_| self.agents.len() == 1).cloned()
    }

    /// Returns the names of all tables.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// Says whether any agent of the script can load sessions.
    pub(crate) fn any_loads(&self) -> bool {
        self.agents.values().any(|part| part.start.load)
    }

    /// Says whether an agent of the script can load sessions but none can resume them.
    pub(crate) fn only_loads(&self) -> bool {
        let mut parts = self.agents.values();
        parts.any(|part| part.start.history.is_some())
    }

    /// Says whether any agent of the script offers to be steered.
    pub(crate) fn any_steers(&self) -> bool {
        let mut parts = self.agents.values();
        parts.any(|part| part.start.steering != Steering::Absent)
    }

    fn no_table(&self, name: &str) -> ScriptError {
        let tables: Vec<&String> = self.agents.keys().collect();
        let tables = if tables.is_empty() { "none".to_owned() } else { quoted(&tables) };
        ScriptError::NoTable { name: name.to_owned(), tables }
    }
}

/// Returns `codex` for `codex-2`.
fn unnumbered(name: &str) -> Option<&str> {
    let (name, number) = name.rsplit_once('-')?;
    (!number.is_empty() && number.chars().all(|char| char.is_ascii_digit())).then_some(name)
}

impl Part {
    fn read(name: &str, fields: &Fields<'_>) -> Result<Self, Mistake> {
        fields.only("key", &["start", "turns"])?;
        let start = match fields.value("start") {
            Some(start) => Start::read(&Fields::of(fields.source(), start, "`start`")?)?,
            None => Start::default(),
        };
        let turns = fields.list("turns")?.unwrap_or_default();
        let turns = turns
            .into_iter()
            .map(|turn| ScriptedTurn::read(&Fields::of(fields.source(), turn, "a turn")?))
            .collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), start, turns })
    }
}

impl Part {
    /// Returns the turn that answers a prompt: the first that fits it and is not used up. `played` says how often each was played.
    pub(crate) fn next_turn(&self, prompt: &str, played: &[u32]) -> Option<usize> {
        self.turns.iter().zip(played).position(|(turn, played)| {
            let is_left = turn.times.is_none_or(|times| *played < times);
            is_left && turn.when.as_ref().is_none_or(|when| prompt.contains(when))
        })
    }
}

impl Start {
    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        fields.only(
            "key",
            &[
                "crash",
                "stderr",
                "mcp",
                "mcp_late",
                "ignore_eof",
                "ignore_term",
                "sessions",
                "load",
                "history",
                "models",
                "modes",
                "steering",
                "drain",
            ],
        )?;
        let steering = match fields.text("steering")? {
            None => Steering::default(),
            Some(word) => {
                let words = Steering::WORDS;
                let found = words.iter().find(|(known, _)| *known == word);
                let known = words.map(|(known, _)| known);
                found.map(|(_, steering)| *steering).ok_or_else(|| {
                    fields.mistake_at("steering", unknown("value of `steering`", word, &known))
                })?
            }
        };
        let servers = match fields.text("mcp")? {
            None => StartServers::Before,
            Some("ignore") => StartServers::Never,
            Some(other) => {
                return Err(fields.mistake_at("mcp", unknown("value of `mcp`", other, &["ignore"])));
            }
        };
        let late = fields.boolean("mcp_late")?.unwrap_or_default();
        let servers = match (servers, late) {
            (StartServers::Never, true) => {
                return Err(fields
                    .mistake_at("mcp_late", "`mcp = \"ignore\"` starts no server, not even late"));
            }
            (StartServers::Before, true) => StartServers::After,
            (servers, _) => servers,
        };
        Ok(Self {
            crash: fields.exit_code("crash")?,
            stderr: fields.text("stderr")?.map(str::to_owned),
            servers,
            ignore_eof: fields.boolean("ignore_eof")?.unwrap_or_default(),
            ignore_term: fields.boolean("ignore_term")?.unwrap_or_default(),
            sessions: fields
                .integer("sessions", 1..=i64::from(u32::MAX))?
                .map(|sessions| u32::try_from(sessions).expect("the range was checked")),
            load: fields.boolean("load")?.unwrap_or_default() || fields.value("history").is_some(),
            history: fields.text("history")?.map(str::to_owned),
            models: texts(fields, "models")?,
            modes: texts(fields, "modes")?,
            steering,
            drain: fields.boolean("drain")?.unwrap_or_default(),
        })
    }
}

impl ScriptedTurn {
    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        fields.only("key", &["when", "times", "steps"])?;
        let times = fields.integer("times", 1..=i64::from(u32::MAX))?;
        if fields.value("steps").is_none() {
            return Err(fields.mistake("a turn needs `steps`"));
        }
        Ok(Self {
            when: fields.text("when")?.map(str::to_owned),
            times: times.map(|times| u32::try_from(times).expect("the range was checked")),
            steps: read_steps(fields, "steps")?,
        })
    }
}

/// Reads a list of texts, which may be missing.
fn texts(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, Mistake> {
    let mut texts = Vec::new();
    for text in fields.list(key)?.unwrap_or_default() {
        let Some(text) = text.get_ref().as_str() else {
            return Err(fields.mistake_at(key, format!("`{key}` must be a list of strings")));
        };
        texts.push(text.to_owned());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the whole message for a script, or that there is none.
    fn check(script: &str, expected: &str) {
        let result = Script::parse(Path::new("team.toml"), script);
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(message, expected, "{script}");
    }

    fn check_step(step: &str, expected: &str) {
        check(&format!("[[agents.a.turns]]\nsteps = [\n  {step},\n]"), expected);
    }

    #[test]
    fn the_example_is_a_script() {
        let script =
            Script::parse(Path::new("team.toml"), include_str!("../../../examples/team.toml"))
                .unwrap();
        assert_eq!(
            script.agents.keys().collect::<Vec<_>>(),
            ["default", "editor", "reviewer", "verifier", "writer"]
        );
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place_and_the_nearest_one() {
        check("[agent.a]", "team.toml:1:2: unknown key `agent`; did you mean `agents`?");
        check(
            "[agents.a]\n\nturn = []",
            "team.toml:3:1: unknown key `turn`; did you mean `turns`?",
        );
        check(
            "[agents.a.start]\nignore_term = true\nignore_oef = true",
            "team.toml:3:1: unknown key `ignore_oef`; did you mean `ignore_eof`?",
        );
        check(
            "[[agents.a.turns]]\nwhen = 'é'\ntime = 1\nsteps = []",
            "team.toml:3:1: unknown key `time`; did you mean `times`?",
        );
    }

    #[test]
    fn an_unknown_verb_or_option_is_refused_with_its_place_and_the_nearest_one() {
        check_step("{ sai = 'x' }", "team.toml:3:5: unknown verb `sai`; did you mean `say`?");
        check_step(
            "{ call = 'x', wiht = {} }",
            "team.toml:3:17: unknown option of `call` `wiht`; did you mean `with`?",
        );
        check_step(
            "{ wait_for = { form = 'x', seconds = 1 } }",
            "team.toml:3:18: unknown option of `wait_for` `form`; did you mean `from`?",
        );
        check_step(
            "{ usage = { xyz = 1 } }",
            "team.toml:3:15: unknown option of `usage` `xyz`; use one of `used`, `size`",
        );
        check_step(
            "{ ask_permission = 'x', kind = 'edti' }",
            "team.toml:3:34: unknown kind `edti`; did you mean `edit`?",
        );
    }

    #[test]
    fn a_step_has_exactly_one_verb() {
        check_step(
            "{ say = 'x', stop = true }",
            "team.toml:3:3: a step must have one verb; this one has `say`, `stop`",
        );
        check_step("{}", "team.toml:3:3: a step needs a verb, as in `{ say = \"…\" }`");
        check_step("'say'", "team.toml:3:3: a step must be a table, not a string");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused() {
        check_step("{ say = 3 }", "team.toml:3:11: `say` must be a string, not an integer");
        check_step("{ crash = 300 }", "team.toml:3:13: `crash` is 300; it must be 0 to 255");
        check_step(
            "{ refuse = false }",
            "team.toml:3:14: `refuse` can only be `true`: leave it out",
        );
        check_step("{ say = '{{name' }", "team.toml:3:11: a `{{` without a closing `}}`");
        check_step(
            "{ call = 'x', with = { a = ['{{}}'] } }",
            "team.toml:3:31: `{{}}` is not a name: write `{{name.field.0}}`",
        );
        check_step(
            "{ call = 'x', save = 'last' }",
            "team.toml:3:24: `last` is reserved: save under another name",
        );
        check_step(
            "{ wait_for = {} }",
            "team.toml:3:16: `wait_for` needs `seconds`: how long to wait",
        );
        check("[[agents.a.turns]]\nwhen = 'x'", "team.toml:1:1: a turn needs `steps`");
        check("agents = 3", "team.toml:1:10: `agents` must be a table, not an integer");
        check("", "team.toml:1:1: a script needs a table `[agents.NAME]` for each agent");
    }

    #[test]
    fn invalid_toml_is_refused_with_its_place() {
        check("[agents.a]\nturns = [", "team.toml:2:10: unclosed array, expected `]`");
    }

    #[test]
    fn a_missing_script_is_named() {
        let error = Script::load(Path::new("/nowhere/team.toml")).unwrap_err();
        assert_eq!(error.to_string(), "failed to read the script /nowhere/team.toml");
    }

    #[test]
    fn a_numbered_member_plays_the_table_of_its_name_then_the_default() {
        let script = Script::parse(
            Path::new("t"),
            "agents.codex = {}\nagents.default = {}\nagents.b-3 = {}",
        )
        .unwrap();
        for (member, table) in [
            ("codex", "codex"),
            ("codex-12", "codex"),
            ("b-3", "b-3"),
            ("b", "default"),
            ("codex-x", "default"),
        ] {
            assert_eq!(script.for_member(Some(member)).unwrap().name, table);
        }
        assert_eq!(script.for_member(None).unwrap().name, "default");
    }
}
