//! Asks the client's user about permissions that agents request, if the client can show a form.
//!
//! Clients that open a session with `initialize` get a request of ours at once. Stateless clients take no requests: a call that waits, or
//! else the next call of a tool, is answered with "input required", and they repeat it with the user's answers. A user who only closes
//! the form has not answered; then the question goes to the orchestrator. The user gets each question once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    InputRequest, InputRequiredResult, InputResponses,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ask_consent::Consents;
use super::decision_form::{put_form, shows_forms, shows_forms_in_answers};
use super::lazy_membership::LazyMembership;
use super::question_form::{Circumstances, question_form, yes};
use crate::bus::rules::{Operation, PermissionReply};
use crate::bus::state::{Permission, State};
use crate::bus::{BusError, Membership};
use crate::domain::ids::{PermissionId, SessionId};
use crate::domain::limits;
use crate::domain::permission::Decision;
use crate::sys::clock;
use crate::sys::mutex::lock;
use crate::team::{Reach, UserReachable};

/// Forms in one answer: a client shows them one by one, and the call waits for all.
const FORMS_AT_ONCE: usize = 4;

/// The user of one server's client.
pub(super) struct User {
    human: UserReachable,
    /// The files about which this user was asked.
    pub(super) consents: Consents,
    /// The questions that this user was asked.
    asked: Mutex<BTreeSet<PermissionId>>,
}

impl User {
    /// Makes a user; `human` records when the user can be asked.
    pub(super) fn new(human: UserReachable) -> Self {
        Self { human, consents: Consents::default(), asked: Mutex::default() }
    }

    /// Sends the questions as requests of ours, as they come, until the client is gone. Returns at once if it cannot show forms.
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
                self.human.set(Reach::AtOnce);
                tokio::select! {
                    () = self.ask_all(&peer, &held) => return,
                    // A bus that was removed has no more questions.
                    () = membership.until_replaced(held.session()) => {}
                }
            }
        };
        tokio::select! {
            () = asking => {}
            () = ending.cancelled() => {}
        }
        // From now on questions go to an orchestrator.
        self.human.set(Reach::Never);
    }

    async fn ask_all(&self, peer: &Peer<RoleServer>, membership: &Membership) {
        let mut changes = membership.bus().changes();
        // Dropped with this future, and the open forms with it.
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

    /// Asks through the answer to a call: takes in the user's answers, or returns the questions that the user has to answer before the
    /// call runs.
    pub(super) async fn ask_by_answer(
        &self,
        request: &CallToolRequestParams,
        membership: &Membership,
        context: &RequestContext<RoleServer>,
    ) -> Option<InputRequiredResult> {
        if !shows_forms_in_answers(context) {
            return None;
        }
        // From now on a notice says that a call shows the question.
        self.human.set(Reach::WithNextCall);
        if let Some(answers) = &request.input_responses {
            self.take_answers(answers, membership).await;
            return None;
        }
        self.questions(membership)
    }

    /// Waits until there is a question that the user has not been asked.
    pub(super) async fn has_question(&self, membership: &Membership) {
        let mut changes = membership.bus().changes();
        loop {
            changes.mark_unchanged();
            if self.is_new_question_open(membership) {
                return;
            }
            if changes.changed().await.is_err() {
                // The bus has ended, and with it the wait.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the questions that the user has not been asked, as forms.
    pub(super) fn questions(&self, membership: &Membership) -> Option<InputRequiredResult> {
        let questions = self.new_questions(membership, FORMS_AT_ONCE);
        let forms: BTreeMap<_, _> = questions
            .iter()
            .filter_map(|permission| {
                let form = form(membership, permission)?;
                let form = InputRequest::Elicitation(ElicitRequest::new(form));
                Some((permission.id.to_string(), form))
            })
            .collect();
        (!forms.is_empty()).then(|| InputRequiredResult::from_input_requests(forms))
    }

    async fn take_answers(&self, answers: &InputResponses, membership: &Membership) {
        for (key, answer) in answers {
            let Ok(id) = PermissionId::parse(key) else {
                continue;
            };
            // An answer to a question that this user was not asked does not count.
            if !self.asked().contains(&id) {
                continue;
            }
            let result = serde_json::from_value(answer.clone()).ok();
            settle(membership, &id, result).await;
        }
    }

    /// Returns the open questions of this bridge's agents that the user has not been asked, and marks them as asked.
    fn new_questions(&self, membership: &Membership, limit: usize) -> Vec<Permission> {
        membership.bus().look(|state| {
            let mut asked = self.asked();
            asked.retain(|id| state.permission(id).is_some());
            let me = membership.session();
            let new = open_for(state, me, &asked).take(limit).cloned().collect::<Vec<_>>();
            asked.extend(new.iter().map(|permission| permission.id.clone()));
            new
        })
    }

    fn is_new_question_open(&self, membership: &Membership) -> bool {
        let me = membership.session();
        membership.bus().look(|state| open_for(state, me, &self.asked()).next().is_some())
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<PermissionId>> {
        // Every change is a single step, so a poisoned set is whole.
        lock(&self.asked)
    }
}

/// Returns the open questions of this bridge's agents, without those that the user was asked.
fn open_for<'s>(
    state: &'s State,
    me: SessionId,
    asked: &BTreeSet<PermissionId>,
) -> impl Iterator<Item = &'s Permission> {
    let is_held_by_me = move |permission: &&Permission| {
        let agent = state.session(permission.question.session);
        agent.is_some_and(|agent| agent.owner == Some(me))
    };
    let open = state.open_permissions().into_iter().filter(is_held_by_me);
    open.filter(|permission| !asked.contains(&permission.id))
}

/// Shows one form until it is filled in. An answer elsewhere withdraws the form.
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
        // The bus's deadline ends it; this one applies if the bus fails.
        let limit = Duration::from_millis(permission.timeout_ms).saturating_mul(2);
        put_form(&peer, form(&membership, &permission)?, limit).await
    };
    tokio::select! {
        () = answered => {}
        result = asking => settle(&membership, &permission.id, result).await,
    }
}

/// Records the user's answer; without one, the question stays with the orchestrator.
async fn settle(membership: &Membership, id: &PermissionId, result: Option<ElicitResult>) {
    let decision = result.and_then(|result| match result.action {
        ElicitationAction::Accept => {
            membership.bus().look(|state| state.permission(id).and_then(yes))
        }
        ElicitationAction::Decline => Some(Decision::Reject),
        _ => None,
    });
    let ask = match decision {
        Some(decision) => Operation::AnswerPermission(id.clone(), PermissionReply::Human(decision)),
        None => Operation::NotifyOfPermission(id.clone()),
    };
    match membership.ask(ask).await {
        // Another answer came first.
        Ok(_) | Err(BusError::Refused(_)) => {}
        Err(error) => tracing::warn!("failed to record the user's answer: {error}"),
    }
}

/// Makes the form of a question.
fn form(membership: &Membership, permission: &Permission) -> Option<ElicitRequestParams> {
    let question = &permission.question;
    let bus = membership.bus();
    let (directory, prompt) = bus.look(|state| {
        let directory = state.session(question.session).and_then(|agent| agent.cwd.clone());
        let task = question.task.as_ref().and_then(|task| state.task(task));
        (directory, task.map(|task| task.prompt))
    });
    // Without its first words the form still says what is asked.
    let read = |prompt| bus.beginning(prompt, limits::FORM_TASK_CHARS).ok().flatten();
    let task = prompt.and_then(read);
    let passed = clock::now().wall_ms.saturating_sub(permission.asked_ms);
    let left = permission.timeout_ms.saturating_sub(u64::try_from(passed).unwrap_or(0));
    question_form(permission, &Circumstances { directory, task, seconds_left: left.div_ceil(1000) })
}
