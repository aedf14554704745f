//! The steps of a turn: one verb each, with its options.

use std::time::Duration;

use agent_client_protocol::v1::schema::ToolKind;
use toml::de::DeValue;

use super::script_template::{Pattern, Template, is_word};
use super::toml_fields::{Fields, Mistake, ScriptText, Value, quoted, unknown, whole};

/// The verbs, each with its options.
const VERBS: [(&str, &[&str]); 23] = [
    ("say", &[]),
    ("think", &[]),
    ("stream", &["chunk", "every_ms"]),
    ("call", &["with", "save", "expect_error"]),
    ("wait_for", &["save"]),
    ("ask_permission", &["kind", "paths", "call_id", "unannounced", "on_reject", "save"]),
    ("read_file", &["line", "limit", "save", "expect_error"]),
    ("write_file", &["content", "save", "expect_error"]),
    ("plan", &[]),
    ("usage", &[]),
    ("heed_ms", &["save"]),
    ("sleep_ms", &[]),
    ("fail", &["code"]),
    ("refuse", &[]),
    ("crash", &[]),
    ("fork", &[]),
    ("stderr", &[]),
    ("raw", &[]),
    ("hang", &[]),
    ("ignore_cancel", &[]),
    ("stop", &[]),
    ("repeat", &["steps"]),
    ("if", &["steps", "else"]),
];

/// Names that templates always have, so that no value is saved under them.
const RESERVED: [&str; 5] = ["prompt", "name", "model", "mode", "last"];

/// One action of an agent.
#[derive(Debug, PartialEq)]
pub(crate) enum ScriptStep {
    Say(Template),
    Think(Template),
    /// Says a text in pieces of `chunk` characters, with a pause between them.
    Stream {
        text: Template,
        chunk: usize,
        pause: Duration,
    },
    Call(Call),
    /// A call of `wait_for_message`, unless a matching message was attached to an earlier result of the turn.
    WaitFor(Call),
    AskPermission(AskPermission),
    /// A file read through the client.
    ReadFile(ReadFile),
    /// A file written through the client.
    WriteFile(WriteFile),
    Plan(Vec<Template>),
    Usage {
        used: u64,
        size: u64,
    },
    /// Waits for a text that gets into the turn.
    Heed {
        timeout: Duration,
        save: Option<String>,
    },
    Sleep(Duration),
    /// The prompt is answered with a JSON-RPC error.
    Fail {
        message: Template,
        code: i32,
    },
    Refuse,
    Crash(u8),
    /// Starts a shell command that keeps running.
    Fork(String),
    Stderr(Template),
    /// A line written to stdout exactly as it is.
    Raw(String),
    /// Waits until the turn is cancelled.
    Hang,
    IgnoreCancel,
    Stop,
    Repeat {
        times: u32,
        steps: Vec<ScriptStep>,
    },
    If {
        condition: Template,
        steps: Vec<ScriptStep>,
        otherwise: Vec<ScriptStep>,
    },
}

/// A call of a tool of the first MCP server.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) with: Vec<(String, Pattern)>,
    pub(crate) save: Option<String>,
    pub(crate) expect: Expect,
}

/// The required outcome of a call; any other fails the turn.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Expect {
    Result,
    Error,
}

/// A question to the client.
#[derive(Debug, PartialEq)]
pub(crate) struct AskPermission {
    pub(crate) title: Template,
    pub(crate) kind: ToolKind,
    /// The locations of the call; a relative path is relative to the working directory.
    pub(crate) paths: Vec<Template>,
    /// The id of the call, instead of a new one.
    pub(crate) call_id: Option<String>,
    /// The question is the first message about the call, and after a rejection there is none.
    pub(crate) unannounced: bool,
    pub(crate) on_reject: OnReject,
    pub(crate) save: Option<String>,
}

/// A file to read.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadFile {
    pub(crate) path: Template,
    /// The first line, from 1 on.
    pub(crate) line: Option<u32>,
    pub(crate) limit: Option<u32>,
    pub(crate) save: Option<String>,
    pub(crate) expect: Expect,
}

/// A file to write.
#[derive(Debug, PartialEq)]
pub(crate) struct WriteFile {
    pub(crate) path: Template,
    pub(crate) content: Template,
    pub(crate) save: Option<String>,
    pub(crate) expect: Expect,
}

/// What the agent does after a rejection.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum OnReject {
    Stop,
    Continue,
}

/// Reads a list of steps.
pub(crate) fn read_steps(fields: &Fields<'_>, key: &str) -> Result<Vec<ScriptStep>, Mistake> {
    let steps = fields.list(key)?.unwrap_or_default();
    steps
        .into_iter()
        .map(|step| ScriptStep::read(&Fields::of(fields.source(), step, "a step")?))
        .collect()
}

impl ScriptStep {
    fn read(fields: &Fields<'_>) -> Result<Self, Mistake> {
        let (verb, options) = find_verb(fields)?;
        let known: Vec<&str> = options.iter().copied().chain([verb]).collect();
        fields.only(&format!("option of `{verb}`"), &known)?;
        Ok(match verb {
            "say" => Self::Say(template(fields, verb)?),
            "think" => Self::Think(template(fields, verb)?),
            "stream" => Self::Stream {
                text: template(fields, verb)?,
                // About twenty characters arrive at once in a model's token stream.
                chunk: number(fields, "chunk", 1..=MANY)?.unwrap_or(20),
                pause: milliseconds(fields, "every_ms")?.unwrap_or(Duration::from_millis(10)),
            },
            "call" => Self::Call(Call {
                tool: plain(fields, verb)?,
                with: fields
                    .value("with")
                    .map_or(Ok(Vec::new()), |with| arguments(fields, with))?,
                save: save(fields)?,
                expect: expect(fields)?,
            }),
            "wait_for" => Self::WaitFor(wait_for(fields)?),
            "ask_permission" => Self::AskPermission(AskPermission {
                title: template(fields, verb)?,
                kind: tool_kind(fields)?,
                paths: match fields.value("paths") {
                    Some(_) => templates(fields, "paths")?,
                    None => Vec::new(),
                },
                call_id: fields.text("call_id")?.map(str::to_owned),
                unannounced: fields.boolean("unannounced")?.unwrap_or_default(),
                on_reject: on_reject(fields)?,
                save: save(fields)?,
            }),
            "read_file" => Self::ReadFile(ReadFile {
                path: template(fields, verb)?,
                line: number(fields, "line", 0..=MANY)?,
                limit: number(fields, "limit", 0..=MANY)?,
                save: save(fields)?,
                expect: expect(fields)?,
            }),
            "write_file" => Self::WriteFile(WriteFile {
                path: template(fields, verb)?,
                content: template(fields, "content")?,
                save: save(fields)?,
                expect: expect(fields)?,
            }),
            "plan" => Self::Plan(templates(fields, verb)?),
            "usage" => usage(fields)?,
            "heed_ms" => Self::Heed {
                timeout: milliseconds(fields, verb)?.expect("the verb is there"),
                save: save(fields)?,
            },
            "sleep_ms" => Self::Sleep(milliseconds(fields, verb)?.expect("the verb is there")),
            "fail" => Self::Fail {
                message: template(fields, verb)?,
                // -32603 is JSON-RPC's "internal error".
                code: number(fields, "code", i64::from(i32::MIN)..=i64::from(i32::MAX))?
                    .unwrap_or(-32603),
            },
            "crash" => Self::Crash(fields.exit_code(verb)?.expect("the verb is there")),
            "fork" => Self::Fork(plain(fields, verb)?),
            "stderr" => Self::Stderr(template(fields, verb)?),
            "raw" => Self::Raw(plain(fields, verb)?),
            "repeat" => Self::Repeat {
                times: number(fields, verb, 0..=MANY)?.expect("the verb is there"),
                steps: read_steps(fields, "steps")?,
            },
            "if" => Self::If {
                condition: template(fields, verb)?,
                steps: read_steps(fields, "steps")?,
                otherwise: read_steps(fields, "else")?,
            },
            switch => {
                if fields.boolean(switch)? == Some(false) {
                    return Err(fields.mistake_at(
                        switch,
                        format!("`{switch}` can only be `true`: leave it out"),
                    ));
                }
                match switch {
                    "refuse" => Self::Refuse,
                    "hang" => Self::Hang,
                    "ignore_cancel" => Self::IgnoreCancel,
                    _ => Self::Stop,
                }
            }
        })
    }
}

/// A step repeated, or a text cut, more often than this is a typo.
const MANY: i64 = 1_000_000;

fn find_verb(fields: &Fields<'_>) -> Result<(&'static str, &'static [&'static str]), Mistake> {
    let keys = fields.keys();
    let found: Vec<_> =
        VERBS.iter().filter(|(verb, _)| keys.iter().any(|(key, _)| key == verb)).collect();
    match found.as_slice() {
        [(verb, options)] => Ok((*verb, *options)),
        [] => {
            let Some((first, offset)) = keys.first() else {
                return Err(fields.mistake("a step needs a verb, as in `{ say = \"…\" }`"));
            };
            let verbs: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
            Err(fields.source().mistake(*offset, unknown("verb", first, &verbs)))
        }
        several => {
            let verbs: Vec<&str> = several.iter().map(|(verb, _)| *verb).collect();
            Err(fields
                .mistake(format!("a step must have one verb; this one has {}", quoted(&verbs))))
        }
    }
}

fn plain(fields: &Fields<'_>, key: &str) -> Result<String, Mistake> {
    let text = fields.text(key)?;
    text.map(str::to_owned).ok_or_else(|| fields.mistake(format!("`{key}` is missing")))
}

fn template(fields: &Fields<'_>, key: &str) -> Result<Template, Mistake> {
    Template::parse(&plain(fields, key)?).map_err(|message| fields.mistake_at(key, message))
}

fn number<T: TryFrom<i64>>(
    fields: &Fields<'_>,
    key: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<T>, Mistake> {
    let Some(number) = fields.integer(key, range)? else {
        return Ok(None);
    };
    let number = T::try_from(number);
    number.map(Some).map_err(|_| fields.mistake_at(key, format!("`{key}` is out of range")))
}

fn milliseconds(fields: &Fields<'_>, key: &str) -> Result<Option<Duration>, Mistake> {
    const HOUR: i64 = 60 * 60 * 1000;
    Ok(number(fields, key, 0..=HOUR)?.map(Duration::from_millis))
}

fn save(fields: &Fields<'_>) -> Result<Option<String>, Mistake> {
    let Some(name) = fields.text("save")? else {
        return Ok(None);
    };
    if !is_word(name) {
        return Err(fields.mistake_at(
            "save",
            format!(
                "`{name}` is not a valid name: use letters, digits, \
                `_` and `-`"
            ),
        ));
    }
    if RESERVED.contains(&name) {
        return Err(
            fields.mistake_at("save", format!("`{name}` is reserved: save under another name"))
        );
    }
    Ok(Some(name.to_owned()))
}

fn arguments<'s>(
    fields: &Fields<'s>,
    with: &'s Value<'s>,
) -> Result<Vec<(String, Pattern)>, Mistake> {
    match pattern(fields.source(), with)? {
        Pattern::Table(arguments) => Ok(arguments),
        _ => Err(fields.mistake_at("with", "`with` must be a table of arguments")),
    }
}

fn pattern(source: ScriptText<'_>, value: &Value<'_>) -> Result<Pattern, Mistake> {
    let mistake = |message: String| source.mistake(value.span().start, message);
    Ok(match value.get_ref() {
        DeValue::String(text) => Pattern::Text(Template::parse(text).map_err(mistake)?),
        DeValue::Integer(integer) => {
            let number =
                whole(integer).ok_or_else(|| mistake("a number that is too large".to_owned()))?;
            Pattern::Fixed(number.into())
        }
        DeValue::Float(float) => {
            let number: Option<f64> = float.as_str().parse().ok();
            Pattern::Fixed(
                number.ok_or_else(|| mistake("a number that cannot be read".to_owned()))?.into(),
            )
        }
        DeValue::Boolean(value) => Pattern::Fixed((*value).into()),
        DeValue::Datetime(time) => Pattern::Fixed(time.to_string().into()),
        DeValue::Array(list) => {
            Pattern::List(list.iter().map(|it| pattern(source, it)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let pairs =
                table.iter().map(|(key, it)| Ok((key.get_ref().to_string(), pattern(source, it)?)));
            Pattern::Table(pairs.collect::<Result<_, _>>()?)
        }
    })
}

/// `wait_for` is a short form of a call of `wait_for_message`.
fn wait_for(fields: &Fields<'_>) -> Result<Call, Mistake> {
    let value = fields.value("wait_for").expect("the verb is there");
    let filters = Fields::of(fields.source(), value, "`wait_for`")?;
    filters.only("option of `wait_for`", &["from", "request_id", "seconds"])?;
    let mut with = Vec::new();
    for key in ["from", "request_id"] {
        if filters.value(key).is_some() {
            with.push((key.to_owned(), Pattern::Text(template(&filters, key)?)));
        }
    }
    let Some(seconds) = filters.integer("seconds", 0..=MANY)? else {
        return Err(filters.mistake("`wait_for` needs `seconds`: how long to wait"));
    };
    with.push(("timeout_seconds".to_owned(), Pattern::Fixed(seconds.into())));
    Ok(Call {
        tool: "wait_for_message".to_owned(),
        with,
        save: save(fields)?,
        expect: Expect::Result,
    })
}

fn tool_kind(fields: &Fields<'_>) -> Result<ToolKind, Mistake> {
    const KINDS: [(&str, ToolKind); 10] = [
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("delete", ToolKind::Delete),
        ("move", ToolKind::Move),
        ("search", ToolKind::Search),
        ("execute", ToolKind::Execute),
        ("think", ToolKind::Think),
        ("fetch", ToolKind::Fetch),
        ("switch_mode", ToolKind::SwitchMode),
        ("other", ToolKind::Other),
    ];
    let Some(word) = fields.text("kind")? else {
        return Ok(ToolKind::Other);
    };
    let kind = KINDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
    kind.ok_or_else(|| {
        fields.mistake_at("kind", unknown("kind", word, &KINDS.map(|(name, _)| name)))
    })
}

fn on_reject(fields: &Fields<'_>) -> Result<OnReject, Mistake> {
    match fields.text("on_reject")? {
        None | Some("stop") => Ok(OnReject::Stop),
        Some("go_on") => Ok(OnReject::Continue),
        Some(other) => Err(fields
            .mistake_at("on_reject", unknown("value of `on_reject`", other, &["stop", "go_on"]))),
    }
}

fn expect(fields: &Fields<'_>) -> Result<Expect, Mistake> {
    Ok(match fields.boolean("expect_error")? {
        Some(true) => Expect::Error,
        _ => Expect::Result,
    })
}

/// Reads a list of texts that must not be missing.
fn templates(fields: &Fields<'_>, key: &str) -> Result<Vec<Template>, Mistake> {
    let entries = fields.list(key)?.expect("the key is there");
    let read = |entry: &Value<'_>| {
        let text = entry.get_ref().as_str().ok_or_else(|| {
            format!(
                "`{key}` must be a list of \
            strings"
            )
        });
        text.and_then(Template::parse)
            .map_err(|message| fields.source().mistake(entry.span().start, message))
    };
    entries.into_iter().map(read).collect()
}

fn usage(fields: &Fields<'_>) -> Result<ScriptStep, Mistake> {
    let value = fields.value("usage").expect("the verb is there");
    let usage = Fields::of(fields.source(), value, "`usage`")?;
    usage.only("option of `usage`", &["used", "size"])?;
    match (number(&usage, "used", 0..=i64::MAX)?, number(&usage, "size", 0..=i64::MAX)?) {
        (Some(used), Some(size)) => Ok(ScriptStep::Usage { used, size }),
        _ => Err(usage.mistake("`usage` needs `used` and `size`, in tokens")),
    }
}
