//! One method of one path of the API: its handler, who may use it, and what its description says. The router and the `OpenAPI` document are
//! both made of these.

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::check_caller::check_scope;
use super::idempotent::once;
use super::read_request::no_parameters;
use crate::domain::access_key::KeyScope;
use crate::web::server_state::ServerState;

/// Makes the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One method of one path.
pub(super) struct Endpoint {
    pub(super) method: Method,
    /// Below `/api/v1`.
    pub(super) path: &'static str,
    /// What it does, in a sentence.
    pub(super) summary: &'static str,
    /// What a key needs for it; none if every key may.
    pub(super) scope: Option<KeyScope>,
    /// Its parameters, as the fields of a type.
    pub(super) query: Option<SchemaOf>,
    pub(super) body: Option<SchemaOf>,
    /// Whether it has to have a body, if it may.
    pub(super) needs_body: bool,
    /// The status of an answer that is no problem.
    pub(super) status: StatusCode,
    pub(super) answer: Answer,
    handler: MethodRouter<ServerState>,
}

/// What an endpoint answers with.
pub(super) enum Answer {
    Json(SchemaOf),
    Nothing,
    /// A stream of events, whose data is of a type.
    Events(SchemaOf),
}

impl Endpoint {
    /// Makes one that reads.
    pub(super) fn get<A: JsonSchema>(
        path: &'static str,
        summary: &'static str,
        handler: MethodRouter<ServerState>,
    ) -> Self {
        Self {
            method: Method::GET,
            path,
            summary,
            scope: Some(KeyScope::Read),
            query: None,
            body: None,
            needs_body: true,
            status: StatusCode::OK,
            answer: Answer::Json(SchemaGenerator::subschema_for::<A>),
            handler,
        }
    }

    /// Makes one that changes something.
    pub(super) fn post<A: JsonSchema>(
        scope: KeyScope,
        path: &'static str,
        summary: &'static str,
        handler: MethodRouter<ServerState>,
    ) -> Self {
        Self { method: Method::POST, scope: Some(scope), ..Self::get::<A>(path, summary, handler) }
    }

    /// Says what a key needs for it.
    pub(super) fn needs(self, scope: KeyScope) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Says that every key may use it.
    pub(super) fn for_every_key(self) -> Self {
        Self { scope: None, ..self }
    }

    /// Says that it answers with a stream of events, whose data is of the type that it was made with.
    pub(super) fn streams(self) -> Self {
        match self.answer {
            Answer::Json(data) | Answer::Events(data) => {
                Self { answer: Answer::Events(data), ..self }
            }
            Answer::Nothing => self,
        }
    }

    /// Says which parameters it has.
    pub(super) fn asks<Q: JsonSchema>(self) -> Self {
        Self { query: Some(SchemaGenerator::subschema_for::<Q>), ..self }
    }

    /// Says what its body is.
    pub(super) fn takes<B: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<B>), ..self }
    }

    /// Says what its body is, if it has one.
    pub(super) fn may_take<B: JsonSchema>(self) -> Self {
        Self { needs_body: false, ..self.takes::<B>() }
    }

    /// Says that it makes something.
    pub(super) fn creates(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// Says that its answer has no body.
    pub(super) fn answers_nothing(self) -> Self {
        Self { status: StatusCode::NO_CONTENT, answer: Answer::Nothing, ..self }
    }

    /// Adds it to a router, for those who may use it.
    pub(super) fn add_to(
        self,
        router: Router<ServerState>,
        state: &ServerState,
    ) -> Router<ServerState> {
        // What has parameters refuses the unknown ones itself.
        let handler = match self.query {
            Some(_) => self.handler,
            None => self.handler.route_layer(from_fn(no_parameters)),
        };
        let Some(scope) = self.scope else { return router.route(self.path, handler) };
        let check = from_fn_with_state((state.clone(), scope), check_scope);
        let handler = match self.method {
            Method::POST => handler.route_layer(from_fn_with_state(state.clone(), once)),
            _ => handler,
        };
        // The layer that is added last is the first that a request meets.
        router.route(self.path, handler.route_layer(check))
    }
}
