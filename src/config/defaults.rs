//! Every key of a configuration file: its values, its default, and its meaning in one sentence.
//!
//! The default of a setting is here and nowhere else. The readers, the errors, and the tables of docs/configuration.md are made from
//! these rows, whose types are in `key`. A number that other modules need as well, as an upper bound or a fallback, has its name in
//! `domain::limits`.

use super::key::{Choice, Key, Limit, Line, Number, Other, Row, Switch, WithoutConsent, table};
use super::profile::profile_choices::{Interrupt, MidTurn, Restart};
use super::window_keys;
use super::workflow_settings::Resume;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::permission::Policy;

// `[limits]`. The upper bounds keep the state of a bus at a size that every process of the team can hold.

/// Each agent is a program of some hundred megabytes.
pub(super) static AGENTS: Key<Number> = Key {
    name: "agents",
    values: Number { least: 1, most: 1_000, default: 10 },
    meaning: "agents of the team that live at the same time",
};

/// All tasks of an agent end in one append when the agent ends, which bounds their number.
pub(super) static QUEUED_TASKS: Key<Number> = Key {
    name: "queued_tasks",
    values: Number {
        least: 1,
        most: limits::MAX_QUEUED as u64,
        default: limits::MAX_QUEUED as u64,
    },
    meaning: "tasks that wait for one agent",
};

/// It bounds the state, the snapshot, and the time to open the bus.
pub(super) static UNREAD: Key<Number> = Key {
    name: "unread",
    values: Number { least: 1, most: 100_000, default: 10_000 },
    meaning: "unread messages of one member",
};

/// By default as long as messages for a chosen name wait.
pub(super) static RETENTION_DAYS: Key<Number> = Key {
    name: "retention_days",
    values: Number { least: 1, most: 36_500, default: 30 },
    meaning: "days after which old parts of the log may be removed",
};

/// More than a person follows. Two models that answer each other without an end are slowed down to it. Not even a lower rate is a
/// project's to set: 0 is none.
pub(super) static MESSAGES_PER_MINUTE: Key<Number> = Key {
    name: "messages_per_minute",
    values: Number { least: 0, most: 100_000, default: 60 },
    meaning: "messages a minute of one member; 0 is any number",
};

pub(super) static MESSAGE_BURST: Key<Number> = Key {
    name: "message_burst",
    values: Number { least: 1, most: 10_000, default: 20 },
    meaning: "messages of one member at once, before that rate counts",
};

/// Real agents are silent for 40 s while they retry their model server.
pub(super) static STALL_SECONDS: Key<Number> = Key {
    name: "stall_seconds",
    values: Number { least: 1, most: 86_400, default: 300 },
    meaning: "seconds without a sign of life after which a turn is reported as stalled",
};

/// More than a model writes. An agent that writes faster has to wait.
pub(super) static OUTPUT_PER_SECOND: Key<Number> = Key {
    name: "output_per_second",
    values: Number { least: 1_024, most: 1024 * 1024 * 1024, default: 4 * 1024 * 1024 },
    meaning: "bytes a second that the bridge reads of an agent's stdout",
};

pub(super) static ALLOW_NETWORK_FILE_SYSTEM: Key<Switch> = Key {
    name: "allow_network_file_system",
    values: Switch { default: false },
    meaning: "whether the bus may be on a network file system",
};

/// The numbers of `[limits]`, and how a project's file may change each without consent.
pub(super) static NUMBERS: [Limit; 8] = [
    Limit { key: &AGENTS, without_consent: WithoutConsent::Lower },
    Limit { key: &QUEUED_TASKS, without_consent: WithoutConsent::Lower },
    Limit { key: &UNREAD, without_consent: WithoutConsent::Lower },
    Limit { key: &RETENTION_DAYS, without_consent: WithoutConsent::Unchanged },
    Limit { key: &MESSAGES_PER_MINUTE, without_consent: WithoutConsent::Unchanged },
    Limit { key: &MESSAGE_BURST, without_consent: WithoutConsent::Lower },
    Limit { key: &STALL_SECONDS, without_consent: WithoutConsent::Lower },
    Limit { key: &OUTPUT_PER_SECOND, without_consent: WithoutConsent::Lower },
];

/// The limits of a bus on which no orchestrator has set any.
impl Default for TeamLimits {
    fn default() -> Self {
        let count = |key: &Key<Number>| usize::try_from(key.values.default).unwrap_or(usize::MAX);
        Self {
            agents: count(&AGENTS),
            queued_tasks: count(&QUEUED_TASKS),
            unread: count(&UNREAD),
            retention_days: u32::try_from(RETENTION_DAYS.values.default).unwrap_or(u32::MAX),
            // A team that nobody leads, and an old bus, are as they were.
            messages_per_minute: 0,
            message_burst: 0,
        }
    }
}

// `[names]`.

pub(super) static POOL: Key<Other> = Key {
    name: "pool",
    values: Other { values: "a list of at most 100 words of 1 to 12 letters", default: "none" },
    meaning: "names for peers that are started without `--name`",
};

// `[conflict]`.

pub(super) static ARBITER: Key<Other> = Key {
    name: "arbiter",
    values: Other {
        values: "`\"@word\"`, a role or a capability, or the name of a member",
        default: "`\"@architect\"`",
    },
    meaning: "who decides what two members disagree about, unless somebody can do what that is about",
};

// `[workflows]`.

/// A workflow that resumes by itself may cost money that its user no longer wants to spend.
pub(super) static RESUME: Key<Choice<Resume>> = Key {
    name: "resume",
    values: Choice { words: &Resume::WORDS, default: Resume::Ask },
    meaning: "whether an orchestrator tells its client of an interrupted workflow, or resumes it by itself",
};

pub(super) static GATE_ENV: Key<Other> = Key {
    name: "gate_env",
    values: Other { values: VARIABLES, default: "none" },
    meaning: "variables of your environment that the commands of gates get",
};

// `[notify]`.

pub(super) static NOTIFY_ON: Key<Other> = Key {
    name: "on",
    values: Other {
        values: "a list of `\"permission\"`, `\"approval\"`, `\"question\"`, `\"decision\"`, `\"stuck\"`, `\"finished\"`, `\"failed\"`, `\"workflow\"`",
        default: "all",
    },
    meaning: "what you are notified of",
};

pub(super) static NOTIFY_COMMAND: Key<Other> = Key {
    name: "command",
    values: Other { values: "a list of texts: a program and its arguments", default: "none" },
    meaning: "a program to run, which reads the notification on stdin",
};

pub(super) static DESKTOP: Key<Other> = Key {
    name: "desktop",
    values: Other {
        values: "`\"osc9\"`, `\"osc777\"`, `\"notify-send\"`, `\"off\"`",
        default: "`\"off\"`",
    },
    meaning: "a notification of your terminal, by one of two escape sequences, or of your desktop",
};

pub(super) static WEBHOOK: Key<Line> = Key {
    name: "webhook",
    values: Line { most: limits::URL_CHARS, default: "none" },
    meaning: "a URL that gets a POST as ntfy takes it; needs `curl`",
};

pub(super) static WEBHOOK_SECRET_ENV: Key<Line> = Key {
    name: "webhook_secret_env",
    values: Line { most: limits::VARIABLE_CHARS, default: "none" },
    meaning: "the variable of your environment with the secret that signs each POST",
};

pub(super) static QUIET: Key<Line> = Key {
    name: "quiet",
    values: Line { most: 11, default: "none" },
    meaning: "hours of your local time without notifications, such as `\"22:00-07:00\"`; what came up is sent at their end",
};

/// Two agents often end within the same seconds.
pub(super) static BURST_SECONDS: Key<Number> = Key {
    name: "burst_seconds",
    values: Number { least: 0, most: 60 * 60, default: 10 },
    meaning: "the least time between two notifications; what comes up in between is sent as one",
};

/// Where notifications go, others may read them.
pub(super) static TEXTS: Key<Switch> = Key {
    name: "texts",
    values: Switch { default: false },
    meaning: "whether they include words of agents, such as the command that waits for permission, and webhooks the texts of messages",
};

// `[agents.NAME]`: a profile.

const VARIABLES: &str = "a list of names; a `*` may stand at the beginning, the end, or both";

pub(super) static COMMAND: Key<Other> = Key {
    name: "command",
    values: Other {
        values: "a program on PATH, an absolute path, or `\"$self\"` for this binary",
        default: "required",
    },
    meaning: "the program to start",
};

pub(super) static ARGS: Key<Other> = Key {
    name: "args",
    values: Other { values: "a list of texts", default: "none" },
    meaning: "its arguments",
};

pub(super) static ENV: Key<Other> = Key {
    name: "env",
    values: Other { values: "a table of texts", default: "none" },
    meaning: "variables that are set for the agent",
};

pub(super) static ENV_PASS: Key<Other> = Key {
    name: "env_pass",
    values: Other { values: VARIABLES, default: "none" },
    meaning: "variables of your environment that the agent gets",
};

pub(super) static PERMISSIONS: Key<Choice<Policy>> = Key {
    name: "permissions",
    values: Choice { words: &Policy::WORDS, default: Policy::Rules },
    meaning: "the policy for its questions for permission",
};

/// The maximum is a day.
pub(super) static PERMISSION_SECONDS: Key<Number> = Key {
    name: "permission_seconds",
    values: Number { least: 1, most: 24 * 60 * 60, default: 120 },
    meaning: "seconds after which a question without an answer counts as refused",
};

pub(super) static GUARDED: Key<Other> = Key {
    name: "guarded",
    values: Other { values: "a list of names, or of names with `/` between them", default: "none" },
    meaning: "parts of paths in the project whose edits are asked about, besides the built-in ones",
};

pub(super) static FILE_SYSTEM: Key<Switch> = Key {
    name: "file_system",
    values: Switch { default: false },
    meaning: "whether it may read and write files of the project through the bridge",
};

/// A first start with `npx`, a cold disk and a login take more than a minute. The maximum is an hour.
pub(super) static START_SECONDS: Key<Number> = Key {
    name: "start_seconds",
    values: Number { least: 1, most: 60 * 60, default: 120 },
    meaning: "seconds without a sign of life that it may take to answer `initialize`, and again to open a session",
};

/// How documents and errors describe the values that are labels.
const LABELS: &str = "a list of at most 16 words of letters, digits, `.`, `_` and `-`";

pub(super) static ROLES: Key<Other> = Key {
    name: "roles",
    values: Other {
        values: "a list of at most 32 words of letters, digits, `.`, `_` and `-`",
        default: "none",
    },
    meaning: "what it is for, in words by which the team addresses it (`@reviewer`)",
};

pub(super) static LANE: Key<Other> = Key {
    name: "lane",
    values: Other { values: "a word of letters, digits, `.`, `_` and `-`", default: "none" },
    meaning: "the part of the work that it does, for the team to see",
};

pub(super) static CAPABILITIES: Key<Other> = Key {
    name: "capabilities",
    values: Other { values: LABELS, default: "none" },
    meaning: "what it can do, for the team to see",
};

pub(super) static TOPICS: Key<Other> = Key {
    name: "topics",
    values: Other { values: LABELS, default: "none" },
    meaning: "what it wants to hear of, for the team to see",
};

pub(super) static DEFAULT_MODEL: Key<Line> = Key {
    name: "default_model",
    values: Line { most: limits::MODEL_BYTES, default: "the agent's own" },
    meaning: "the model, of those that the agent offers, unless the task names one",
};

pub(super) static MODE: Key<Line> = Key {
    name: "mode",
    values: Line { most: limits::MODEL_BYTES, default: "the agent's own" },
    meaning: "the mode of its sessions, of those that the agent offers",
};

pub(super) static MODES: Key<Other> = Key {
    name: "modes",
    values: Other { values: "a table of modes by policy", default: "none" },
    meaning: "modes that replace `mode` under single policies",
};

pub(super) static RESTART: Key<Choice<Restart>> = Key {
    name: "restart",
    values: Choice { words: &Restart::WORDS, default: Restart::Never },
    meaning: "whether it is started again when its process ends by itself",
};

pub(super) static INSTALL: Key<Line> = Key {
    name: "install",
    values: Line { most: limits::PROFILE_WORDS_CHARS, default: "none" },
    meaning: "the command that installs the program, shown where it is missing",
};

pub(super) static LOGIN: Key<Line> = Key {
    name: "login",
    values: Line { most: limits::PROFILE_WORDS_CHARS, default: "none" },
    meaning: "how to log in, shown where a login is missing: completes \"to log in, …\"",
};

/// The maximum is ten seconds: an agent that is not ready by then has another problem.
pub(super) static SETTLE_MS: Key<Number> = Key {
    name: "settle_ms",
    values: Number { least: 0, most: 10_000, default: 0 },
    meaning: "milliseconds that the first prompt waits after the tools are listed, for agents that show them to their model late",
};

pub(super) static ONE_SESSION: Key<Switch> = Key {
    name: "one_session",
    values: Switch { default: false },
    meaning: "whether its process mixes up sessions: a task with `fresh` then begins in a new process",
};

pub(super) static USER_ENTRY_WINS: Key<Switch> = Key {
    name: "user_entry_wins",
    values: Switch { default: false },
    meaning: "whether an MCP server `bridge` in its user's own settings takes the place of the bridge's: its process then gets the \
              identity of its session too, with which such an entry serves the same tools",
};

pub(super) static MID_TURN: Key<Choice<MidTurn>> = Key {
    name: "mid_turn",
    values: Choice { words: &MidTurn::WORDS, default: MidTurn::Steer },
    meaning: "how messages get into a running turn: `steer` where the agent offers it, `steer_between_calls` the same but never \
              during a tool call unless urgent, `drain` where the agent asks for them",
};

pub(super) static INTERRUPT: Key<Choice<Interrupt>> = Key {
    name: "interrupt",
    values: Choice { words: &Interrupt::WORDS, default: Interrupt::High },
    meaning: "which messages interrupt it at work: `high` and urgent ones, only `urgent` ones, or none; the others come at its next \
              step",
};

/// The maximum keeps the introduction of an agent within its budget.
pub(super) static TOOL_PREFIX: Key<Line> = Key {
    name: "tool_prefix",
    values: Line { most: 24, default: "none" },
    meaning: "what its model sees before the names of the bridge's tools; prompts use it too",
};

/// The minimum is one message with its header and a useful part of its text. The maximum is the longest message.
pub(super) static RESULT_BYTES: Key<Number> = Key {
    name: "result_bytes",
    values: Number {
        least: 4 * 1024,
        most: limits::MAX_CONTENT_BYTES as u64,
        default: limits::ANSWER_BYTES as u64,
    },
    meaning: "bytes of the longest tool result that its model sees whole, as JSON; the bridge cuts longer ones",
};

/// By default as much as several turns would bring otherwise. The bounds are those of `result_bytes`.
pub(super) static PROMPT_BYTES: Key<Number> = Key {
    name: "prompt_bytes",
    values: Number {
        least: RESULT_BYTES.values.least,
        most: RESULT_BYTES.values.most,
        default: 64 * 1024,
    },
    meaning: "bytes of the messages with which it is woken at once",
};

// `[webhooks.NAME]`.

pub(super) static WEBHOOK_URL: Key<Line> = Key {
    name: "url",
    values: Line { most: limits::URL_CHARS, default: "needed" },
    meaning: "where its messages go: each is a POST of JSON; needs `curl`",
};

pub(super) static WEBHOOK_TO: Key<Line> = Key {
    name: "to",
    values: Line { most: limits::ADDRESS_CHARS, default: "needed" },
    meaning: "the address of its messages: the name of a member, `\"@word\"`, `\"#topic\"`, `\"all\"` or `\"human\"`",
};

pub(super) static SECRET_ENV: Key<Line> = Key {
    name: "secret_env",
    values: Line { most: limits::VARIABLE_CHARS, default: "none" },
    meaning: "the variable of your environment with the secret that signs each POST",
};

/// Returns the tables of the configuration file for the documentation, with their headings: one row per key, in Markdown.
pub fn key_tables() -> [(&'static str, String); 8] {
    [
        ("[agents.NAME]", table(&PROFILE)),
        ("[limits]", table(&LIMITS)),
        ("[names]", table(&NAMES)),
        ("[conflict]", table(&CONFLICT)),
        ("[workflows]", table(&WORKFLOWS)),
        ("[notify]", table(&NOTIFY)),
        ("[webhooks.NAME]", table(&WEBHOOKS)),
        ("[top.keys]", window_keys::table()),
    ]
}

/// The keys of a profile, in the order in which errors and documents list them.
pub(super) static PROFILE: [&(dyn Row + Sync); 27] = [
    &COMMAND,
    &ARGS,
    &ENV,
    &ENV_PASS,
    &PERMISSIONS,
    &PERMISSION_SECONDS,
    &GUARDED,
    &FILE_SYSTEM,
    &START_SECONDS,
    &ROLES,
    &LANE,
    &CAPABILITIES,
    &TOPICS,
    &DEFAULT_MODEL,
    &MODE,
    &MODES,
    &RESTART,
    &INSTALL,
    &LOGIN,
    &SETTLE_MS,
    &ONE_SESSION,
    &USER_ENTRY_WINS,
    &MID_TURN,
    &INTERRUPT,
    &TOOL_PREFIX,
    &RESULT_BYTES,
    &PROMPT_BYTES,
];

/// The keys of `[limits]`.
pub(super) static LIMITS: [&(dyn Row + Sync); 9] = [
    &AGENTS,
    &QUEUED_TASKS,
    &UNREAD,
    &RETENTION_DAYS,
    &MESSAGES_PER_MINUTE,
    &MESSAGE_BURST,
    &STALL_SECONDS,
    &OUTPUT_PER_SECOND,
    &ALLOW_NETWORK_FILE_SYSTEM,
];

/// The keys of `[names]`.
pub(super) static NAMES: [&(dyn Row + Sync); 1] = [&POOL];

/// The keys of `[conflict]`.
pub(super) static CONFLICT: [&(dyn Row + Sync); 1] = [&ARBITER];

/// The keys of `[workflows]`.
pub(super) static WORKFLOWS: [&(dyn Row + Sync); 2] = [&RESUME, &GATE_ENV];

/// The keys of `[notify]`.
pub(super) static NOTIFY: [&(dyn Row + Sync); 8] = [
    &NOTIFY_ON,
    &NOTIFY_COMMAND,
    &DESKTOP,
    &WEBHOOK,
    &WEBHOOK_SECRET_ENV,
    &QUIET,
    &BURST_SECONDS,
    &TEXTS,
];

/// The keys of a webhook.
pub(super) static WEBHOOKS: [&(dyn Row + Sync); 3] = [&WEBHOOK_URL, &WEBHOOK_TO, &SECRET_ENV];
