//! The client's user, who is asked what agents want to be allowed, where the client can show a form.
//!
//! Clients that open a session with `initialize` are asked at once, by a request of ours. Newer ones take no requests: the next
//! call of a tool is answered with "input required", and they repeat it with the user's answers. A user who only closes the form
//! has not answered; then the question is the orchestrator's. Each question is put to the user once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
    InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ask_consent::Consents;
use super::lazy_membership::LazyMembership;
use crate::bus::rules::{Operation, PermissionReply};
use crate::bus::state::{Permission, State};
use crate::bus::{BusError, Membership};
use crate::domain::ids::{PermissionId, SessionId};
use crate::domain::permission::{Decision, known_kind};
use crate::team::UserReachable;

/// Forms in one answer: a client shows them one after the other, and the call waits for all.
const FORMS_AT_ONCE: usize = 4;

/// How often it is looked whether the bus is still the same one: a removed bus is rare, and a question waits for minutes.
const SEAT_LOOK: Duration = Duration::from_secs(5);

/// The field of a form that holds the decision.
pub(super) const DECISION: &str = "decision";

/// The user of one server's client.
pub(super) struct User {
    human: UserReachable,
    /// The files that this user was asked to agree to.
    pub(super) consents: Consents,
    /// The questions that this user was asked.
    put: Mutex<BTreeSet<PermissionId>>,
}

impl User {
    /// Makes a user; `human` hears whether the user can be asked at any time.
    pub(super) fn new(human: UserReachable) -> Self {
        Self { human, consents: Consents::default(), put: Mutex::default() }
    }

    /// Asks by requests of ours, as the questions come, until the client is gone. Returns at once where it shows no forms.
    pub(super) async fn ask_by_requests(
        &self,
        peer: Peer<RoleServer>,
        membership: LazyMembership,
        ending: CancellationToken,
    ) {
        let shows = |peer: &Peer<RoleServer>| {
            peer.peer_info().is_some_and(|client| shows_forms(&client.capabilities))
        };
        if !shows(&peer) {
            return;
        }
        let asking = async {
            while let Ok(held) = membership.membership().await {
                self.human.set_reachable(true);
                tokio::select! {
                    () = self.ask_all(&peer, &held) => return,
                    // On a bus that was removed nobody asks any more.
                    () = replaced(&membership, &held) => {}
                }
            }
        };
        tokio::select! {
            () = asking => {}
            () = ending.cancelled() => {}
        }
        // From now on an orchestrator is asked, if anybody still asks.
        self.human.set_reachable(false);
    }

    async fn ask_all(&self, peer: &Peer<RoleServer>, membership: &Membership) {
        let mut changes = membership.bus().changes();
        // Dropped with this future, and the open forms with them.
        let mut forms = JoinSet::new();
        loop {
            changes.mark_unchanged();
            for permission in self.new_questions(membership, usize::MAX) {
                forms.spawn(ask_by_request(peer.clone(), membership.clone(), permission));
            }
            while forms.try_join_next().is_some() {}
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Asks by the answer to a call: takes in what the user says, or returns what the user is to be asked before the call is
    /// done.
    pub(super) async fn ask_by_answer(
        &self,
        request: &CallToolRequestParams,
        membership: &Membership,
        context: &RequestContext<RoleServer>,
    ) -> Option<InputRequiredResult> {
        if context.meta.protocol_version()? < ProtocolVersion::V_2026_07_28 {
            return None;
        }
        if let Some(answers) = &request.input_responses {
            self.hear(answers, membership).await;
            return None;
        }
        if !shows_forms(&context.client_capabilities()?) {
            return None;
        }
        let questions = self.new_questions(membership, FORMS_AT_ONCE);
        let forms: BTreeMap<_, _> = questions
            .iter()
            .filter_map(|permission| {
                let form = InputRequest::Elicitation(ElicitRequest::new(form(permission)?));
                Some((permission.id.to_string(), form))
            })
            .collect();
        (!forms.is_empty()).then(|| InputRequiredResult::from_input_requests(forms))
    }

    async fn hear(&self, answers: &InputResponses, membership: &Membership) {
        for (key, answer) in answers {
            let Ok(id) = PermissionId::parse(key) else {
                continue;
            };
            // What this user was never asked, nobody answers in the user's name.
            if !self.put().contains(&id) {
                continue;
            }
            let result = serde_json::from_value(answer.clone()).ok();
            settle(membership, &id, result).await;
        }
    }

    /// Returns the open questions of this bridge's agents that the user has not been asked, and notes them as asked.
    fn new_questions(&self, membership: &Membership, limit: usize) -> Vec<Permission> {
        let mut put = self.put();
        let me = membership.session();
        let new: Vec<_> = membership.bus().look(|state| {
            put.retain(|id| state.permission(id).is_some());
            let open = state.open_permissions().into_iter();
            open.filter(|permission| is_held_by(state, permission, me))
                .filter(|permission| !put.contains(&permission.id))
                .take(limit)
                .cloned()
                .collect()
        });
        put.extend(new.iter().map(|permission| permission.id.clone()));
        new
    }

    fn put(&self) -> MutexGuard<'_, BTreeSet<PermissionId>> {
        // Every change is whole by itself.
        self.put.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when another membership is taken.
async fn replaced(membership: &LazyMembership, held: &Membership) {
    let is_same = || membership.current().is_none_or(|current| current.session() == held.session());
    while is_same() {
        tokio::time::sleep(SEAT_LOOK).await;
    }
}

fn is_held_by(state: &State, permission: &Permission, me: SessionId) -> bool {
    let agent = state.session(permission.question.session);
    agent.is_some_and(|agent| agent.owner == Some(me))
}

pub(super) fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let forms = capabilities.elicitation.as_ref();
    // Without either word forms are meant.
    forms.is_some_and(|how| how.form.is_some() || how.url.is_none())
}

/// Shows one form until it is filled in, or the question is answered elsewhere, which takes the form back.
async fn ask_by_request(peer: Peer<RoleServer>, membership: Membership, permission: Permission) {
    let answered = async {
        let mut changes = membership.bus().changes();
        let is_open = || {
            membership.bus().look(|state| {
                state
                    .permission(&permission.id)
                    .is_some_and(|permission| permission.answer.is_none())
            })
        };
        while is_open() && changes.changed().await.is_ok() {}
    };
    let asking = async {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(&permission)?));
        // The bus's deadline ends it; this one is there in case the bus fails.
        let limit = Duration::from_millis(permission.timeout_ms).saturating_mul(2);
        let options = PeerRequestOptions::with_timeout(limit);
        let answer = match peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) => Some(result),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!("failed to ask the client's user: {error}");
                None
            }
        }
    };
    tokio::select! {
        () = answered => {}
        result = asking => settle(&membership, &permission.id, result).await,
    }
}

/// Writes what the user said; what is no answer leaves the question to the orchestrator.
async fn settle(membership: &Membership, id: &PermissionId, result: Option<ElicitResult>) {
    let decision = result.and_then(|result| match result.action {
        ElicitationAction::Accept => {
            let word = result.content?.get(DECISION)?.as_str()?.to_owned();
            Decision::parse(&word)
        }
        ElicitationAction::Decline => Some(Decision::Reject),
        _ => None,
    });
    let ask = match decision {
        Some(decision) => Operation::AnswerPermission(id.clone(), PermissionReply::Human(decision)),
        None => Operation::TellPermission(id.clone()),
    };
    match membership.ask(ask).await {
        // Somebody else was faster.
        Ok(_) | Err(BusError::Refused(_)) => {}
        Err(error) => tracing::warn!("failed to record the user's answer: {error}"),
    }
}

/// Writes the form of a question.
fn form(permission: &Permission) -> Option<ElicitRequestParams> {
    let question = &permission.question;
    let places = match question.paths.as_slice() {
        [] => String::new(),
        paths => format!(", at {paths:?}"),
    };
    // Quoted, so that what the agent wrote cannot pass for words of ours.
    let kind =
        known_kind(&question.kind).map_or_else(|| format!("{:?}", question.kind), str::to_owned);
    let message = format!(
        "The agent `{}` asks for permission ({kind}): {:?}{places}",
        question.agent, question.title
    );
    let offers: Vec<_> = permission.offers.iter().map(|offer| offer.as_str()).collect();
    // An answer that says no is always possible: by declining.
    let schema: Value = json!({
        "type": "object",
        "properties": { DECISION: { "type": "string", "title": "Decision", "enum": offers } },
        "required": [DECISION],
    });
    let schema: Result<ElicitationSchema, _> = serde_json::from_value(schema);
    match schema {
        Ok(requested_schema) => Some(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema,
        }),
        Err(error) => {
            tracing::error!("failed to build a form: {error}");
            None
        }
    }
}
