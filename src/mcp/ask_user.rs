//! Asks the client's user what agents want permission for, what members ask, and what they disagree about, if the client can show a form.
//!
//! Clients that open a session with `initialize` get a request of ours at once. Stateless clients take no requests: a call that waits, or
//! else the next call of a tool, is answered with "input required", and they repeat it with the user's answers. A user who only closes
//! the form has not answered; then a permission goes to the orchestrator, and the rest stays in its inbox and in all windows. The user gets each question once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, InputRequest, InputRequiredResult, InputResponses,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ask_consent::Consents;
use super::decision_form::{put_form, shows_forms, shows_forms_in_answers};
use super::lazy_membership::LazyMembership;
use super::user_question::{UserQuestion, is_known, open_questions};
use crate::bus::Membership;
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::team::{Reach, UserReachable};

/// Forms in one answer: a client shows them one by one, and the call waits for all.
const FORMS_AT_ONCE: usize = 4;

/// Forms about questions of members that are open before the user's eyes at once. The others wait, as members could ask without end.
const OPEN_FORMS: usize = 8;

/// The user of one server's client.
pub(super) struct User {
    human: UserReachable,
    /// The files about which this user was asked.
    pub(super) consents: Consents,
    /// The keys of the questions that this user was asked.
    asked: Mutex<BTreeSet<String>>,
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
        let (mut permissions, mut others) = (JoinSet::new(), JoinSet::new());
        loop {
            changes.mark_unchanged();
            let room = OPEN_FORMS.saturating_sub(others.len());
            for question in self.new_questions(membership, (usize::MAX, room)) {
                let is_permission = matches!(question, UserQuestion::Permission(_));
                let asking = ask_by_request(peer.clone(), membership.clone(), question);
                if is_permission {
                    permissions.spawn(asking)
                } else {
                    others.spawn(asking)
                };
            }
            tokio::select! {
                outcome = changes.changed() => if outcome.is_err() {
                    return;
                },
                Some(_) = permissions.join_next() => {}
                Some(_) = others.join_next() => {}
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
        let questions = self.new_questions(membership, (FORMS_AT_ONCE, FORMS_AT_ONCE));
        let forms: BTreeMap<_, _> = questions
            .iter()
            .filter_map(|question| {
                let form = question.form(membership.bus())?;
                let form = InputRequest::Elicitation(ElicitRequest::new(form));
                Some((question.key(), form))
            })
            .collect();
        (!forms.is_empty()).then(|| InputRequiredResult::from_input_requests(forms))
    }

    async fn take_answers(&self, answers: &InputResponses, membership: &Membership) {
        for (key, answer) in answers {
            // An answer to a question that this user was not asked does not count.
            if !self.asked().contains(key) {
                continue;
            }
            let me = membership.session();
            let open = membership.bus().look(|state| open_questions(state, me));
            let Some(question) = open.into_iter().find(|question| question.key() == *key) else {
                continue;
            };
            let result = serde_json::from_value(answer.clone()).ok();
            question.settle(membership, result).await;
        }
    }

    /// Returns the open questions that the user has not been asked, so many permissions and so many others at most, and marks them as
    /// asked. A question stays marked until it is answered, also while whoever asked it is away.
    fn new_questions(
        &self,
        membership: &Membership,
        (mut permissions, mut others): (usize, usize),
    ) -> Vec<UserQuestion> {
        let me = membership.session();
        membership.bus().look(|state| {
            let mut asked = self.asked();
            asked.retain(|key| is_known(state, key));
            let mut new = open_questions(state, me);
            new.retain(|question| {
                let room = match question {
                    UserQuestion::Permission(_) => &mut permissions,
                    UserQuestion::Member { .. } | UserQuestion::Dispute { .. } => &mut others,
                };
                let is_new = *room > 0 && !asked.contains(&question.key());
                *room -= usize::from(is_new);
                is_new
            });
            asked.extend(new.iter().map(UserQuestion::key));
            new
        })
    }

    fn is_new_question_open(&self, membership: &Membership) -> bool {
        let me = membership.session();
        let open = membership.bus().look(|state| open_questions(state, me));
        let asked = self.asked();
        open.iter().any(|question| !asked.contains(&question.key()))
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // Every change is a single step, so a poisoned set is whole.
        lock(&self.asked)
    }
}

/// Shows one form until it is filled in. An answer elsewhere withdraws the form.
async fn ask_by_request(peer: Peer<RoleServer>, membership: Membership, question: UserQuestion) {
    let answered = async {
        let mut changes = membership.bus().changes();
        let is_open = || membership.bus().look(|state| question.is_open(state));
        while is_open() && changes.changed().await.is_ok() {}
    };
    let limit = match &question {
        // The bus's deadline ends it; this one applies if the bus fails.
        UserQuestion::Permission(permission) => {
            Duration::from_millis(permission.timeout_ms).saturating_mul(2)
        }
        UserQuestion::Member { .. } | UserQuestion::Dispute { .. } => wait_times::USER_ANSWERS,
    };
    let result = match question.form(membership.bus()) {
        Some(form) => put_form(&peer, form, limit, answered).await,
        None => None,
    };
    question.settle(&membership, result).await;
}
