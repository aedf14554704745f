//! The description of the API (`OpenAPI` 3.1), made of the list of its paths and of the types that they take and answer with.

use axum::http::Method;
use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use super::endpoint::{Answer, Endpoint};
use super::idempotent::MOST;
use crate::domain::access_key::KeyScope;
use crate::web::problem::Problem;

/// The media type of a body and of an answer.
const JSON: &str = "application/json";

/// Describes the API.
pub(super) fn document(endpoints: &[Endpoint]) -> Value {
    let mut schemas =
        Schemas { taken: generator(Contract::Deserialize), given: generator(Contract::Serialize) };
    let problem = schemas.given.subschema_for::<Problem>();
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        let method = endpoint.method.as_str().to_ascii_lowercase();
        path[method] = operation(endpoint, &mut schemas);
    }
    let mut definitions = schemas.given.take_definitions(true);
    definitions.extend(schemas.taken.take_definitions(true));
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "The API of cli-team-bridge",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A team of coding agents, to look at and to act on. Each key is a member of the team and has scopes; `x-scope` names the one that an operation needs.",
        },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "key": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer", "description": "A key that `cli-team-bridge key new NAME` has made." },
            },
            "responses": {
                "Problem": {
                    "description": "What is wrong, and what to do about it (RFC 9457).",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "schemas": definitions,
        },
    })
}

/// The schemas of all types so far: of those that programs send, and of those that they get.
struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

fn generator(contract: Contract) -> SchemaGenerator {
    settings(contract).into_generator()
}

fn settings(contract: Contract) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
        settings.contract = contract;
    })
}

fn operation(endpoint: &Endpoint, schemas: &mut Schemas) -> Value {
    let content = match &endpoint.answer {
        Answer::Nothing => None,
        Answer::Json(schema) => Some(json!({ JSON: { "schema": schema(&mut schemas.given) } })),
        Answer::Events(data) => {
            let data = data(&mut schemas.given);
            let schema = json!({ "type": "string", "contentMediaType": "text/event-stream" });
            Some(json!({ "text/event-stream": { "schema": schema, "x-data": data } }))
        }
    };
    let mut answer = json!({ "description": endpoint.summary });
    if let Some(content) = content {
        answer["content"] = content;
    }
    let mut operation = json!({
        "operationId": operation_id(&endpoint.method, endpoint.path),
        "summary": endpoint.summary,
        "responses": {
            endpoint.status.as_str(): answer,
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    if let Some(scope) = endpoint.scope {
        operation["x-scope"] = json!(scope.as_str());
        operation["description"] = json!(needs(scope));
    }
    let parameters = parameters(endpoint);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = endpoint.body {
        let schema = body(&mut schemas.taken);
        operation["requestBody"] =
            json!({ "required": endpoint.needs_body, "content": { JSON: { "schema": schema } } });
    }
    operation
}

fn needs(scope: KeyScope) -> String {
    let switch = match scope {
        KeyScope::Read => "",
        KeyScope::Write | KeyScope::Assign => ", and `web --write`",
        KeyScope::Answer => ", and `web --answer`",
    };
    format!("Needs a key with the scope `{}`{switch}.", scope.as_str())
}

/// Returns `post_messages_id_ack` for a POST of `/messages/{id}/ack`.
fn operation_id(method: &Method, path: &str) -> String {
    let words = path.split('/').map(|part| part.trim_matches(['{', '}'])).collect::<Vec<_>>();
    format!("{}{}", method.as_str().to_ascii_lowercase(), words.join("_")).replace('.', "_")
}

/// Returns the parameters: those within the path, and the fields of the query.
fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let parts = endpoint.path.split('/');
    let named = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<_> = named
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        })
        .collect();
    if endpoint.method == Method::POST {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "A text of your choice. A request that is repeated with it, as after a broken connection, is answered with what came of the first, and not done again.",
            "schema": { "type": "string", "minLength": 1, "maxLength": MOST },
        }));
    }
    let Some(query) = endpoint.query else { return parameters };
    let inline = settings(Contract::Deserialize).with(|settings| settings.inline_subschemas = true);
    let schema = query(&mut inline.into_generator()).to_value();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let mut field = field.clone();
        let description = field.as_object_mut().and_then(|field| field.remove("description"));
        let is_required = required.iter().any(|required| required == name);
        let mut parameter =
            json!({ "name": name, "in": "query", "required": is_required, "schema": field });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameters.push(parameter);
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_named_after_its_path() {
        assert_eq!(operation_id(&Method::GET, "/status"), "get_status");
        assert_eq!(operation_id(&Method::POST, "/messages/{id}/ack"), "post_messages_id_ack");
    }
}
