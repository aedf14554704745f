//! An agent message, and what it is in this team: an action is a signal, a conversation a thread, an issue what a message is about. The
//! project and the sprint, which the team does not know, and the role that a sender gives itself, are for its readers: its payload has them.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::named_member::{address_of_member, address_of_role, check_own_name, wrong};
use super::shared_thread::{MessageContext, thread_of};
use crate::bus::Membership;
use crate::domain::time::parse_time;
use crate::domain::wait_times;
use crate::web::api::json_object;
use crate::web::api::writing::{HowUrgent, NewAttachment, NewMessage};
use crate::web::problem::Problem;

/// How often the answer to a message is asked for, which is the same for all.
const RETRIES: u64 = 3;

/// A message between agents, with all fields of the specification.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct AgentMessage {
    /// The key's member, if it is named at all.
    #[serde(default, deserialize_with = "json_object::maybe")]
    sender: Option<AgentIdentifier>,
    /// The member to whom it goes.
    #[serde(default, deserialize_with = "json_object::maybe")]
    recipient: Option<AgentIdentifier>,
    /// Instead: a lane, role or capability.
    recipient_role: Option<String>,
    /// Instead: whether it is for all.
    #[serde(default)]
    recipient_all: bool,
    /// At most 1 MiB.
    content: String,
    #[serde(default, deserialize_with = "json_object::maybe")]
    metadata: Option<MessageMetadata>,
    /// The message or request that it answers.
    in_response_to: Option<String>,
    /// What it is for: a signal of the team.
    action: Option<String>,
    /// What kind of message it is, as its other fields say too. A `stream` without an action is `report_progress`.
    #[serde(default, deserialize_with = "json_object::maybe_word")]
    r#type: Option<MessageType>,
    /// At most 8.
    #[serde(default, deserialize_with = "json_object::several")]
    attachments: Vec<AgentAttachment>,
    #[serde(default, deserialize_with = "json_object::maybe")]
    context: Option<MessageContext>,
    /// To be left out: the bridge names each message.
    id: Option<Value>,
    /// How long to wait for the answer of one member, 1 to 120.
    wait_seconds: Option<u64>,
}

/// A member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentIdentifier {
    name: Option<String>,
    /// Its session, such as `s7`.
    agent_id: Option<String>,
    /// Of a recipient, one of its roles; a sender may give itself any.
    role: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessageType {
    Request,
    Response,
    Notification,
    Broadcast,
    Stream,
}

/// An attachment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentAttachment {
    /// code, file, image, document or reference.
    r#type: Option<String>,
    name: Option<String>,
    /// Its text. All texts of a message together have at most 64 KiB.
    content: Option<String>,
    /// Instead: a file of the project, by its path; another address, with `://`, is a reference.
    url: Option<String>,
    mime_type: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageMetadata {
    #[serde(default, deserialize_with = "json_object::maybe_word")]
    priority: Option<HowUrgent>,
    /// Whether an answer is awaited.
    #[serde(default)]
    requires_response: bool,
    /// After how many seconds without an answer the recipient is reminded, 1 to 86,400.
    response_timeout_seconds: Option<u64>,
    /// When it expires unseen, as an ISO 8601 time within a day from now, by the server's clock.
    expires_at: Option<String>,
    /// 0, if it is there.
    retry_count: Option<u64>,
    /// 3, if it is there: so often an answer is asked for.
    max_retries: Option<u64>,
    /// To be left out: the bridge dates each message.
    created_at: Option<Value>,
}

impl AgentMessage {
    /// Returns the address to which it goes, unless its path says that.
    pub(super) fn address(&self, me: &Membership) -> Result<String, Problem> {
        match (&self.recipient, &self.recipient_role, self.recipient_all) {
            (Some(AgentIdentifier { name, agent_id, role }), None, false) => {
                address_of_member(me, (name.clone(), agent_id.clone()), role.as_deref())
            }
            (None, Some(role), false) => address_of_role(me, role.clone()),
            (None, None, true) => Ok("all".to_owned()),
            _ => Err(wrong("A message has one recipient")
                .with_hint("name one of `recipient`, `recipient_role` and `recipient_all`")),
        }
    }

    /// Says whether it names a recipient other than all.
    pub(super) fn has_recipient(&self) -> bool {
        self.recipient.is_some() || self.recipient_role.is_some()
    }

    /// Returns its text if it has nothing else.
    pub(super) fn text_alone(&self) -> Option<String> {
        let metadata = self.metadata.clone().unwrap_or_default();
        let awaits = metadata.requires_response || metadata.response_timeout_seconds.is_some();
        let is_usual = matches!(metadata.priority, None | Some(HowUrgent::Normal));
        let has_more = self.in_response_to.is_some()
            || self.action.is_some()
            || self.context.is_some()
            || !self.attachments.is_empty()
            || self.sender.as_ref().is_some_and(|sender| sender.role.is_some())
            || self.r#type == Some(MessageType::Stream)
            || self.wait_seconds.is_some()
            || metadata.expires_at.is_some()
            || awaits
            || !is_usual;
        (!has_more).then(|| self.content.clone())
    }

    /// Refuses what contradicts itself or is not for a program to say.
    pub(super) fn check(&self, me: &Membership) -> Result<(), Problem> {
        if let Some(sender) = &self.sender {
            if let Some(name) = &sender.name {
                check_own_name(me.name(), name)?;
            }
            if sender.agent_id.is_some() {
                let own = (Some(me.name().to_string()), sender.agent_id.clone());
                address_of_member(me, own, None)?;
            }
        }
        let metadata = self.metadata.clone().unwrap_or_default();
        for (field, given) in [("id", &self.id), ("created_at", &metadata.created_at)] {
            if given.is_some() {
                let hint = "leave it out; `Idempotency-Key` makes a repetition safe";
                return Err(refused("not-yours", "The bridge says this of each message itself")
                    .with_detail(format!("`{field}`"))
                    .with_hint(hint));
            }
        }
        for (field, given, only) in [
            ("retry_count", metadata.retry_count, 0),
            ("max_retries", metadata.max_retries, RETRIES),
        ] {
            if given.is_some_and(|given| given != only) {
                let title = "An answer is asked for three times";
                return Err(refused("wrong-retries", title)
                    .with_detail(format!("`{field}` is {only}, or is left out")));
            }
        }
        let title = "The type contradicts the rest of the message";
        match self.r#type {
            Some(MessageType::Response) if self.in_response_to.is_none() => {
                Err(refused("wrong-type", title)
                    .with_detail("a `response` names what it answers with `in_response_to`"))
            }
            Some(MessageType::Broadcast) if self.has_recipient() => {
                Err(refused("wrong-type", title).with_detail("a `broadcast` goes to all"))
            }
            _ => Ok(()),
        }
    }

    /// Returns it as a message of the team.
    pub(super) async fn into_message(
        self,
        to: String,
        me: &Membership,
        now_ms: i64,
    ) -> Result<NewMessage, Problem> {
        let metadata = self.metadata.unwrap_or_default();
        let usual = metadata.requires_response.then_some(wait_times::DEFAULT_RESPONSE_SECONDS);
        let context = self.context.unwrap_or_default();
        let reply_to = thread_of(me, self.in_response_to, &context).await?;
        let progress = (self.r#type == Some(MessageType::Stream)).then_some("report_progress");
        let mut payload = context.payload();
        if let Some(role) = self.sender.and_then(|sender| sender.role) {
            payload.insert("sender_role".to_owned(), Value::String(role));
        }
        Ok(NewMessage {
            to,
            content: self.content,
            reply_to,
            priority: metadata.priority,
            signal: self.action.or_else(|| progress.map(str::to_owned)),
            ttl_seconds: metadata.expires_at.map(|at| seconds_until(&at, now_ms)).transpose()?,
            response_seconds: metadata.response_timeout_seconds.or(usual),
            payload: Some(payload).filter(|payload: &Map<_, _>| !payload.is_empty()),
            attachments: self.attachments.into_iter().map(NewAttachment::from).collect(),
            reference: context.issue_id,
            wait_seconds: self.wait_seconds,
            ..NewMessage::default()
        })
    }
}

/// Returns the seconds until a time, of which a part counts as one.
fn seconds_until(text: &str, now_ms: i64) -> Result<u64, Problem> {
    let wrong = |detail: &str| {
        refused("wrong-time", "A time is out of its range").with_detail(detail.to_owned())
    };
    let at_ms = parse_time(text)
        .ok_or_else(|| wrong("`expires_at` is a time such as 2026-11-28T10:00:00Z"))?;
    let left_ms = u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or_default();
    match left_ms.div_ceil(1_000) {
        0 => Err(wrong("`expires_at` is over")),
        seconds => Ok(seconds),
    }
}

fn refused(kind: &'static str, title: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, title)
}

impl From<AgentAttachment> for NewAttachment {
    fn from(AgentAttachment { r#type, name, content, url, mime_type }: AgentAttachment) -> Self {
        let is_elsewhere = url.as_deref().is_some_and(|url| url.contains("://"));
        match url {
            // What is elsewhere is no file of the project: its address is the text.
            Some(url) if is_elsewhere && content.is_none() => Self {
                name: name.or_else(|| Some(url.clone())),
                kind: r#type.or_else(|| Some("reference".to_owned())),
                mime_type,
                content: Some(url),
                path: None,
            },
            path => Self { name, kind: r#type, mime_type, content, path },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_to_live_by_the_clock_of_the_server() {
        let check = |text: &str, expected: Result<u64, &str>| {
            // 2026-02-02T02:40:00.500Z
            let seconds = seconds_until(text, 1_770_000_000_500);
            assert_eq!(seconds.ok(), expected.ok(), "{text}");
        };
        check("2026-02-02T02:40:01.500Z", Ok(1));
        check("2026-02-02T02:40:01.501Z", Ok(2));
        check("2026-02-02T03:40:00+01:00", Err("is over"));
        check("2026-02-02T02:41:00.5", Ok(60));
        check("2026-02-02T02:40:00Z", Err("is over"));
        check("2026-02-02T02:40:00.500Z", Err("is over"));
        check("tomorrow", Err("a time such as"));
    }

    #[test]
    fn an_address_elsewhere_is_a_reference_and_a_path_a_file() {
        let attachment = |url: &str, content: Option<&str>| {
            let (url, content) = (Some(url.to_owned()), content.map(str::to_owned));
            let given = AgentAttachment { r#type: None, name: None, content, url, mime_type: None };
            let NewAttachment { name, kind, content, path, .. } = given.into();
            (name, kind, content, path)
        };
        let some = |text: &str| Some(text.to_owned());
        let issue = "https://tracker.example/456";
        assert_eq!(attachment(issue, None), (some(issue), some("reference"), some(issue), None));
        assert_eq!(attachment("src/a.rs", None), (None, None, None, some("src/a.rs")));
        // Both at once are refused where attachments are checked.
        assert_eq!(attachment(issue, Some("x")), (None, None, some("x"), some(issue)));
    }
}
