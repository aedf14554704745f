//! `send_message`: a message to one member, or to a group.
//!
//! An orchestrator's model may take a profile for a member, which is then named as what it is.

mod await_answer;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::await_answer::{Answer, answer_to, check, sent_before};
use super::attachments::given;
use super::more_fields::{MoreFields, envelope};
use crate::bus::rules::Refusal;
use crate::bus::state::{Session, State};
use crate::bus::{BusError, Outgoing, SentMessage};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::priority_word::PriorityWord;
use crate::mcp::{CallTimeout, Caller, Tool, ToolError};

#[derive(Default)]
pub(crate) struct SendMessage {
    /// The team of a caller that can start agents.
    pub(crate) leading: Option<OrchestratorTeam>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A name from `list_agents`; or @role, @lane, @capability, #topic, all, human.
    to: String,
    content: String,
    /// The id of the message or request you answer.
    reply_to: Option<String>,
    /// high and urgent interrupt a working team-mate; default normal.
    priority: Option<PriorityWord>,
    /// What it is for, such as question, `request_review`, answer, ack, `report_progress`, alert, handoff or x-own.
    signal: Option<String>,
    /// Rarely needed.
    more: Option<MoreFields>,
    /// Wait so long for the answer of one member; at most 120.
    wait_seconds: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The id of your message.
    message_id: String,
    /// Whether it is in the inbox of a live member. If not, it is kept until that name returns.
    delivered: bool,
    /// Its recipients.
    recipients: Vec<Recipient>,
    /// How many wait for somebody who fits, if you wrote to a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<usize>,
    /// Who got a copy because you mention them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mentions: Vec<String>,
    /// The request that it opened, if it is work for a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Whether you have just sent the same, so that this is that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// If you wait for the answer.
    #[serde(flatten)]
    answer: Option<Answer>,
}

#[derive(Serialize, JsonSchema)]
struct Recipient {
    /// The name.
    name: String,
    /// Its session, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// live or absent; hung or full (its inbox) if it does not have the message; queued or relayed to another project.
    state: &'static str,
}

impl SendMessage {
    /// Says what to do with a name that only a profile has.
    fn named(&self, error: BusError) -> ToolError {
        if let BusError::Refused(Refusal::UnknownMember { name, .. }) = &error
            && let Some(leading) = &self.leading
            && let Ok(name) = Name::parse(name)
            && leading.has_profile(&name)
        {
            return ToolError::Arguments(format!(
                "`{name}` is a profile, and no agent has that name: start one with assign_task"
            ));
        }
        error.into()
    }
}

fn is_group(state: &State, sent: &SentMessage) -> bool {
    let audience = state.message(&sent.id).map(|message| &message.audience);
    audience.is_some_and(|audience| !audience.is_one() && audience.elsewhere().is_none())
}

/// Returns the recipients; of a group also those that it did not reach.
fn recipients(state: &State, sent: &SentMessage) -> Vec<Recipient> {
    let message = state.message(&sent.id);
    if let Some(address) = message.and_then(|message| message.audience.elsewhere()) {
        let there = if state.is_relayed(&sent.id) { "relayed" } else { "queued" };
        return vec![Recipient { name: address.to_string(), id: None, state: there }];
    }
    let of_group = state.message(&sent.id).filter(|_| is_group(state, sent));
    let id = |live: &Session| live.number.map(|number| number.to_string());
    let reached = sent.recipients.iter().map(|(name, is_live)| Recipient {
        name: name.to_string(),
        id: state.live(name).filter(|_| *is_live).and_then(id),
        state: if *is_live { "live" } else { "absent" },
    });
    let missed = of_group.into_iter().flat_map(|message| state.missed_by(message));
    let missed =
        missed.map(|(live, state)| Recipient { name: live.name.to_string(), id: id(live), state });
    reached.chain(missed).collect()
}

/// Says what becomes of a message to the user, who has no inbox: its counts alone would read as a failure.
fn note_to_user(caller: &Caller, sent: &SentMessage) -> Option<String> {
    let me = caller.membership().session();
    let (is_to_user, is_agent) = caller.bus().look(|state| {
        let is_to_user = state.message(&sent.id).is_some_and(|sent| sent.audience.is_human());
        (is_to_user, state.session(me).is_some_and(|live| live.kind == MemberKind::Agent))
    });
    let note = if is_agent {
        "it waits for the user"
    } else {
        "it waits for your user; what you say in your own answer reaches them too"
    };
    is_to_user.then(|| note.to_owned())
}

impl Tool for SendMessage {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "send_message";
    const DESCRIPTION: &'static str = "Send a message to a team-mate or a group, who reads it at \
        its next step and may answer. To answer a message or deliver a claimed request, give its id as \
        reply_to.";

    fn patience(&self, input: &Input) -> CallTimeout {
        await_answer::patience(input.wait_seconds)
    }

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let Input { to, content, reply_to, priority, signal, mut more, wait_seconds } = input;
        check(wait_seconds, &to)?;
        let sent = if let Some(id) = sent_before(caller) {
            caller.call.sent_by_interrupted(id)
        } else {
            // The files last: what is wrong with the rest needs no look at the disk.
            let attached = more.as_mut().map(MoreFields::take_attachments).unwrap_or_default();
            let (priority, mut more) = envelope(&content, priority, signal.as_deref(), more)?;
            let attachments = given(caller, attached).await?;
            if !attachments.is_empty() {
                more.get_or_insert_default().attachments = attachments;
            }
            let message = Outgoing { to, content, reply_to, priority, more };
            caller.call.send_out(message).await.map_err(|error| self.named(error))?
        };
        let (recipients, is_group) =
            caller.bus().look(|state| (recipients(state, &sent), is_group(state, &sent)));
        let answer = match wait_seconds {
            Some(seconds) => {
                Some(answer_to(caller, self.leading.as_ref(), (&sent.id, seconds)).await?)
            }
            None => note_to_user(caller, &sent).map(Answer::only_note),
        };
        Ok(Output {
            delivered: sent.recipients.iter().any(|(_, is_live)| *is_live),
            message_id: sent.id.into(),
            recipients,
            mentions: sent.mentions.iter().map(ToString::to_string).collect(),
            request_id: sent.request.map(Into::into),
            queued: is_group.then_some(usize::from(sent.is_queued)),
            duplicate: sent.is_double.then_some(true),
            answer,
        })
    }
}
