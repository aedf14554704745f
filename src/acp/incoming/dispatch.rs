//! Dispatches the requests and notifications of an agent. Only this file knows their methods.
//!
//! It runs inside the protocol's serial dispatch, so every branch only queues an event ([`Queue::push`]) or answers at once.

use super::drain_request::{self, DrainQuestion};
use super::event_queue::{AgentEvent, Queue, weight};
use super::file_request::{FileQuestion, FileRequest, FileSystem};
use super::permission_request::{PermissionQuestion, PermissionRequest};
use crate::acp::data::session_update;
use crate::domain::text::redact::Secrets;
use crate::sys::clock;
use agent_client_protocol::{
    Agent, ConnectionTo, Dispatch, Error, HandleDispatchFrom, Handled, Responder, UntypedMessage,
};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Answers requests outside the protocol: method and parameters in, result out; `None`
/// means "method not found". It is called inside the dispatch, so it must not block.
#[derive(Clone)]
pub struct AnswerCustom(Arc<Answering>);

type Answering = dyn Fn(&str, &Value) -> Option<Value> + Send + Sync;

impl AnswerCustom {
    /// Answers with a function.
    pub fn new(answer: impl Fn(&str, &Value) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }
}

impl Default for AnswerCustom {
    /// Knows no method.
    fn default() -> Self {
        Self::new(|_, _| None)
    }
}

impl fmt::Debug for AnswerCustom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerCustom")
    }
}

/// The handler of all requests and notifications.
pub(crate) struct Inbound {
    events: Arc<Queue>,
    custom: AnswerCustom,
    file_system: FileSystem,
    secrets: Secrets,
}

impl Inbound {
    pub(crate) fn new(
        events: Arc<Queue>,
        custom: AnswerCustom,
        file_system: FileSystem,
        secrets: Secrets,
    ) -> Self {
        Self { events, custom, file_system, secrets }
    }

    fn notification(&self, message: UntypedMessage) {
        let (method, params) = message.into_parts();
        match method.as_str() {
            "session/update" => {
                let weight = weight(&params);
                let (session, update) = session_update::parse_notification(params, &self.secrets);
                let read = clock::now().tick;
                let event = AgentEvent::Update { session, update, read };
                self.events.push(event, weight);
            }
            // The protocol crate handles `$/cancel_request`; all other `$/` notifications may be ignored by definition.
            _ if method.starts_with("$/") => {}
            _ => {
                let weight = method.len();
                self.events.push(AgentEvent::UnknownNotification { method }, weight);
            }
        }
    }

    fn request(&self, message: UntypedMessage, responder: Responder) -> Result<(), Error> {
        let (method, params) = message.into_parts();
        if method == "session/request_permission" {
            let weight = weight(&params);
            return match PermissionRequest::parse(&params) {
                Some(request) => {
                    let question = PermissionQuestion::new(request, responder);
                    self.events.push(AgentEvent::PermissionAsked(question), weight);
                    Ok(())
                }
                None => responder.respond_with_error(Error::invalid_params()),
            };
        }
        let is_file = FileRequest::METHODS.contains(&method.as_str());
        if is_file && self.file_system == FileSystem::Offered {
            let weight = weight(&params);
            return match FileRequest::parse(&method, &params) {
                Some(request) => {
                    let question = FileQuestion::new(request, responder);
                    self.events.push(AgentEvent::FileAsked(question), weight);
                    Ok(())
                }
                None => responder.respond_with_error(Error::invalid_params()),
            };
        }
        if method == drain_request::METHOD {
            let weight = weight(&params);
            let question = DrainQuestion::new(&params, responder);
            self.events.push(AgentEvent::DrainAsked(question), weight);
            return Ok(());
        }
        if let Some(result) = (self.custom.0)(&method, &params) {
            return responder.respond(result);
        }
        let answered = responder.respond_with_error(Error::method_not_found());
        let weight = method.len();
        self.events.push(AgentEvent::UnknownRequest { method }, weight);
        answered
    }
}

impl HandleDispatchFrom<Agent> for Inbound {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        _connection: ConnectionTo<Agent>,
    ) -> Result<Handled<Dispatch>, Error> {
        match message {
            Dispatch::Notification(message) => self.notification(message),
            Dispatch::Request(message, responder) => self.request(message, responder)?,
            // A response is passed on to the request that waits for it.
            response @ Dispatch::Response(..) => {
                return Ok(Handled::No { message: response, retry: false });
            }
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl fmt::Debug {
        "everything an agent says by itself"
    }
}
/// Parses parameters as every message that they could be.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_any(params: serde_json::Value) {
    let secrets = Secrets::default();
    let _ = crate::acp::data::session_settings::SessionInfo::parse("s".into(), &params, &secrets);
    let _ = crate::acp::data::agent_info::AgentInfo::parse(&params, &secrets);
    let _ = crate::acp::data::prompt_result::PromptOutcome::parse(&params, &secrets);
    let _ = crate::acp::data::text_bounds::error_data(&params, &secrets);
    if let Some(request) = super::permission_request::PermissionRequest::parse(&params) {
        let ours = crate::acp::OurTools { server: "bridge", tools: &["send_message"] };
        let mut calls = crate::acp::ToolCalls::default();
        let call = calls.see(request.tool_call.clone());
        let _ = crate::acp::is_our_tool(&request, Some(call), ours);
    }
    let _ = crate::acp::data::session_update::parse_notification(params, &secrets);
}
