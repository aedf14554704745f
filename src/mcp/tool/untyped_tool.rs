//! A tool without its types, as the server calls it; implemented for every [`Tool`].

use std::borrow::Cow;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{self, JsonObject, MetaObject, ToolAnnotations};
use serde_json::{Value, json};

use super::typed_tool::{CallTimeout, Effect, InboxMode, Tool};
use super::{check_arguments, json_schema};
use crate::mcp::caller::Caller;
use crate::mcp::error::ToolError;

/// A tool, without its types.
pub trait AnyTool: Send + Sync {
    /// Returns its name.
    fn name(&self) -> &'static str;

    /// Says whether unread messages ride along.
    fn mail(&self) -> InboxMode;

    /// Returns its entry in `tools/list`, without what changes while the server runs.
    fn definition(&self) -> model::Tool;

    /// Returns an argument, and what its description says in addition at present.
    fn present_note(&self) -> Option<(&'static str, String)>;

    /// Parses the arguments of a call, which match the input schema, or returns their problem.
    fn prepare(
        &self,
        schema: &JsonObject,
        arguments: JsonObject,
    ) -> Result<Box<dyn Prepared + '_>, ToolError>;
}

/// A call whose arguments have been parsed.
pub trait Prepared: Send {
    /// Returns how long it may take.
    fn patience(&self) -> CallTimeout;

    /// Performs the call.
    fn run<'a>(
        self: Box<Self>,
        caller: &'a mut Caller,
    ) -> BoxFuture<'a, Result<JsonObject, ToolError>>
    where
        Self: 'a;
}

/// Returns the name of a tool as people read it: `assign_task` is "Assign task".
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns the effect of a tool as MCP's annotations. Without any, a tool counts as destructive.
fn annotations(effect: Effect) -> ToolAnnotations {
    match effect {
        Effect::Reads => ToolAnnotations::new().read_only(true),
        Effect::Changes => ToolAnnotations::new().read_only(false).destructive(false),
        Effect::Ends => ToolAnnotations::new().read_only(false).destructive(true),
    }
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn mail(&self) -> InboxMode {
        T::MAIL
    }

    fn definition(&self) -> model::Tool {
        let mut input = json_schema::input::<T::Input>();
        // It describes the struct in our code; the tool has a description of its own.
        input.remove("description");
        let mut output = json_schema::output::<T::Output>(T::MAIL);
        output.remove("description");
        // Otherwise a client that searches for tools shows none of ours until its model searches for it.
        let always_load = json!({ "anthropic/alwaysLoad": true });
        let Value::Object(meta) = always_load else {
            unreachable!("it is written as an object");
        };
        model::Tool::new(T::NAME, Cow::Borrowed(T::DESCRIPTION), Arc::new(input))
            .with_raw_output_schema(Arc::new(output))
            .with_title(title(T::NAME))
            .with_annotations(annotations(T::EFFECT))
            .with_meta(MetaObject(meta))
    }

    fn present_note(&self) -> Option<(&'static str, String)> {
        Tool::present_note(self)
    }

    fn prepare(
        &self,
        schema: &JsonObject,
        arguments: JsonObject,
    ) -> Result<Box<dyn Prepared + '_>, ToolError> {
        check_arguments::check(T::NAME, schema, &arguments)?;
        let mut arguments = Value::Object(arguments);
        forget_nulls(&mut arguments, schema);
        let input = serde_json::from_value(arguments).map_err(|error| {
            // The check lets such arguments through, which is a bug.
            tracing::error!("`{}` failed to parse its checked arguments: {error}", T::NAME);
            ToolError::UnreadArguments { tool: T::NAME }
        })?;
        Ok(Box::new(Ready { tool: self, input }))
    }
}

/// Removes every null that stands for a field left out: not every optional field accepts one. In an object with any fields a null is a
/// value.
fn forget_nulls(value: &mut Value, schema: &JsonObject) {
    let none = JsonObject::new();
    let part = |schema: &JsonObject, key: &str| schema.get(key).and_then(Value::as_object).cloned();
    match value {
        Value::Object(fields) if !json_schema::has_any_fields(schema) => {
            fields.retain(|_, value| !value.is_null());
            let properties = part(schema, "properties").unwrap_or_default();
            for (name, field) in fields {
                forget_nulls(field, part(&properties, name).as_ref().unwrap_or(&none));
            }
        }
        Value::Array(items) => {
            let item = part(schema, "items").unwrap_or_default();
            for value in items {
                forget_nulls(value, &item);
            }
        }
        _ => {}
    }
}

struct Ready<'t, T: Tool> {
    tool: &'t T,
    input: T::Input,
}

impl<T: Tool> Prepared for Ready<'_, T> {
    fn patience(&self) -> CallTimeout {
        self.tool.patience(&self.input)
    }

    fn run<'a>(
        self: Box<Self>,
        caller: &'a mut Caller,
    ) -> BoxFuture<'a, Result<JsonObject, ToolError>>
    where
        Self: 'a,
    {
        async move {
            let output = self.tool.run(caller, self.input).await?;
            match serde_json::to_value(output) {
                Ok(Value::Object(object)) => Ok(object),
                _ => unreachable!("the output of a tool is a struct of plain data"),
            }
        }
        .boxed()
    }
}
