//! Parses one line of a client: a message, a line to ignore, or an error with the id of its request.
//!
//! A model waits behind every request. So an unreadable request is answered, too, as JSON-RPC 2.0 requires.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, InitializeRequestParams, RequestId,
};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::mcp::tool::described;
use crate::sys::bounded_lines::mend_half_characters;

/// Characters of the parser's error that are shown: it quotes the invalid text.
const REASON_CHARS: usize = 200;

/// The methods whose parameters we know; any other one is unknown whatever its parameters are.
const METHODS: [&str; 5] = ["initialize", "ping", "server/discover", "tools/call", "tools/list"];

/// A parsed line.
#[derive(Debug)]
pub(crate) enum ParsedLine {
    Message(Box<ClientJsonRpcMessage>),
    /// Neither a request nor a known message.
    Ignored,
    /// A request that cannot be read.
    Refused(Refused),
}

/// An error that answers a line.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    /// The request's id, or null if it has none or none that can be read.
    pub(crate) id: Value,
    /// The reason.
    pub(crate) error: ErrorData,
}

impl Refused {
    pub(crate) fn new(id: Option<Value>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { id: id.unwrap_or_default(), error: ErrorData::new(code, message.into(), None) }
    }
}

/// Parses a line; invalid UTF-8 and half characters are replaced.
pub(crate) fn read(line: &[u8]) -> ParsedLine {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return ParsedLine::Ignored;
    }
    let text = String::from_utf8_lossy(line);
    if let Some(message) = message(&text) {
        return message;
    }
    let mended = mend_half_characters(&text);
    if let Some(message) = mended.as_deref().and_then(message) {
        return message;
    }
    let text = mended.as_deref().unwrap_or(&text);
    match serde_json::from_str(text) {
        Ok(value) => not_a_message(&value),
        Err(error) => {
            let mut scan = IdScan::default();
            scan.feed(text.as_bytes());
            let message = format!("this is not JSON: {}", shown(&error));
            ParsedLine::Refused(Refused::new(scan.id(), ErrorCode::PARSE_ERROR, message))
        }
    }
}

fn message(text: &str) -> Option<ParsedLine> {
    let message: ClientJsonRpcMessage = serde_json::from_str(text).ok()?;
    let ClientJsonRpcMessage::Request(request) = &message else {
        return Some(ParsedLine::Message(Box::new(message)));
    };
    let id = request.id.clone().into_json_value();
    match &request.request {
        ClientRequest::CustomRequest(custom) if METHODS.contains(&custom.method.as_str()) => {
            Some(invalid_params(id, &custom.method, custom.params.as_ref()))
        }
        ClientRequest::ListToolsRequest(_) if has_invalid_cursor(text) => {
            Some(invalid_params(id, "tools/list", Some(&Value::Object(Map::new()))))
        }
        _ => Some(ParsedLine::Message(Box::new(message))),
    }
}

/// Says whether a request for the tools has a cursor that is no string, which the library takes for none.
fn has_invalid_cursor(text: &str) -> bool {
    let request: Value = serde_json::from_str(text).unwrap_or_default();
    let cursor = request.pointer("/params/cursor");
    cursor.is_some_and(|cursor| !cursor.is_string() && !cursor.is_null())
}

/// Refuses the parameters of a known method.
fn invalid_params(id: Value, method: &str, params: Option<&Value>) -> ParsedLine {
    let message = params_problem(method, params);
    ParsedLine::Refused(Refused::new(Some(id), ErrorCode::INVALID_PARAMS, message))
}

fn params_problem(method: &str, params: Option<&Value>) -> String {
    let Some(params) = params else {
        return match method {
            "tools/call" => {
                "`tools/call` needs `params` with `name`, the name of a tool".to_owned()
            }
            _ => format!("`{method}` needs `params`"),
        };
    };
    let Some(object) = params.as_object() else {
        return format!("`params` of `{method}` must be an object, not {}", described(params));
    };
    if let Some(meta) = object.get("_meta")
        && !meta.is_object()
    {
        return format!("`_meta` of `{method}` must be an object, not {}", described(meta));
    }
    match method {
        "tools/call" => call_problem(object.get("name"), object.get("arguments")),
        "tools/list" => "`cursor` of `tools/list` must be a string".to_owned(),
        "initialize" => match InitializeRequestParams::deserialize(params) {
            // The parser's words: they are for the author of a client, and no model sees them.
            Err(error) => format!("invalid `params` for `initialize`: {}", shown(&error)),
            Ok(_) => "invalid `params` for `initialize`".to_owned(),
        },
        _ => format!("invalid `params` for `{method}`"),
    }
}

/// A model reads this: some write the arguments themselves.
fn call_problem(name: Option<&Value>, arguments: Option<&Value>) -> String {
    match (name, arguments) {
        (Some(Value::String(_)), Some(arguments)) if !arguments.is_object() => {
            let kind = described(arguments);
            format!("`arguments` of `tools/call` must be an object, not {kind}")
        }
        (Some(Value::String(_)), _) => "invalid `params` for `tools/call`".to_owned(),
        (Some(name), _) => {
            format!("`name` of `tools/call` must be the name of a tool, not {}", described(name))
        }
        (None, _) => "`tools/call` needs `name`, the name of a tool".to_owned(),
    }
}

fn shown(error: &serde_json::Error) -> String {
    error.to_string().chars().take(REASON_CHARS).collect()
}

/// Refuses JSON that is no message, with the reason.
fn not_a_message(value: &Value) -> ParsedLine {
    let refused = |id, message: &str| {
        ParsedLine::Refused(Refused::new(id, ErrorCode::INVALID_REQUEST, message))
    };
    let Value::Object(object) = value else {
        let message = match value {
            Value::Array(_) => "batches are not supported: send one message per line",
            _ => "a message must be a JSON object",
        };
        return refused(None, message);
    };
    let id = object.get("id");
    let method = object.get("method");
    if method.is_some() && id.is_none() {
        tracing::debug!("ignored an invalid notification");
        return ParsedLine::Ignored;
    }
    if method.is_none() && (object.contains_key("result") || object.contains_key("error")) {
        tracing::debug!("ignored an invalid response");
        return ParsedLine::Ignored;
    }
    let id = id.and_then(as_id);
    let Some(method) = method.and_then(Value::as_str) else {
        return refused(id, "`method` must be a string");
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused(id, "`jsonrpc` must be \"2.0\"");
    }
    match id {
        None => refused(None, "`id` must be a string or an integer"),
        Some(id) if !is_usable(&id) => {
            let most = i64::MAX;
            refused(Some(id), &format!("`id` must be a string or an integer of at most {most}"))
        }
        Some(id) if METHODS.contains(&method) => invalid_params(id, method, object.get("params")),
        Some(id) => refused(Some(id), "`params` must be an object"),
    }
}

/// Returns a value with which a request can be answered. JSON-RPC 2.0 allows any number as an id, also one that we refuse.
fn as_id(value: &Value) -> Option<Value> {
    (value.is_string() || value.is_number()).then(|| value.clone())
}

/// Says whether a request with this id can be served: MCP allows strings and integers, and the library reads 64 signed bits.
fn is_usable(id: &Value) -> bool {
    serde_json::from_value::<RequestId>(id.clone()).is_ok()
}

/// The longest id that is searched for in an unparsable line.
const ID_BYTES: usize = 256;

/// Searches for the `id` of a request in bytes that no parser accepts: too many, or broken, or nested too deeply.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: usize,
    text: Text,
    /// The part that is being read at depth 1.
    part: Part,
    /// The name or the value, at depth 1, as it is written.
    word: Vec<u8>,
    id: Option<Value>,
    has_method: bool,
}

/// Whether a string is being read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// The part of an object that is being read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Name,
    Id,
    OtherValue,
}

impl IdScan {
    /// Scans the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// Returns the id. A line without `method` may be an answer, whose id is one of ours, not the sender's.
    pub(crate) fn id(self) -> Option<Value> {
        self.id.filter(|_| self.has_method)
    }

    fn step(&mut self, byte: u8) {
        if self.text != Text::Outside {
            self.keep(byte);
            self.text = match (self.text, byte) {
                (Text::Inside, b'\\') => Text::Escaped,
                (Text::Inside, b'"') => Text::Outside,
                _ => Text::Inside,
            };
            return;
        }
        match byte {
            b'"' => {
                self.text = Text::Inside;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.part == Part::Name => {
                let name = self.word.trim_ascii();
                self.has_method |= name == b"\"method\"";
                self.part = if name == b"\"id\"" { Part::Id } else { Part::OtherValue };
                self.word.clear();
            }
            b',' if self.depth == 1 => self.end_value(),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < ID_BYTES {
            self.word.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.part == Part::Id && self.id.is_none() {
            let value = serde_json::from_slice(&self.word).ok();
            self.id = value.as_ref().and_then(as_id);
        }
        self.part = Part::Name;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(bytes: &[u8]) -> Option<Value> {
        let mut scan = IdScan::default();
        let (one, two) = bytes.split_at(bytes.len() / 2);
        scan.feed(one);
        scan.feed(two);
        scan.id()
    }

    #[test]
    fn an_id_is_found_anywhere() {
        let check = |line: &str, expected: Option<Value>| {
            assert_eq!(found(line.as_bytes()), expected, "{line}");
        };
        check(r#"{"id":7,"method":"x","#, Some(json!(7)));
        check(
            r#"{"method":"x","params":{"id":3,"a":["}"]}, "id" : "b\",\"" }"#,
            Some(json!("b\",\"")),
        );
        check(r#"{"a":"\"id\":4","method":"x","id":-5}"#, Some(json!(-5)));
        // Cut off, so the id may continue.
        check(r#"{"method":"x","id":57"#, None);
        check(r#"{"id":7,"result":{}}"#, None);
        check(r#"{"id":{"id":8},"method":"x"}"#, None);
        check(r#"{"id":1.5,"method":"x"}"#, Some(json!(1.5)));
        check(r#"{"id":18446744073709551615,"method":"x","#, Some(json!(u64::MAX)));
        check(r#"[{"id":1,"method":"x"}]"#, None);
        check("}}}]:,\"", None);
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_reading_panic(line in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
            read(&line);
            found(&line);
        }

        #[test]
        fn a_request_that_is_cut_after_its_id_is_answered_with_it(id in proptest::num::i64::ANY, at in 1_usize..40) {
            let line = json!({ "id": id, "method": "tools/call", "params": { "name": "list_agents", "arguments": {} } });
            let line = line.to_string();
            let line = &line.as_bytes()[..line.len() - at];
            let ParsedLine::Refused(refused) = read(line) else {
                return Err(proptest::test_runner::TestCaseError::fail("it cannot be read"));
            };
            proptest::prop_assert_eq!(refused.id, json!(id));
            proptest::prop_assert_eq!(refused.error.code, ErrorCode::PARSE_ERROR);
        }
    }
}
