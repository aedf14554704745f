//! A tool without its types, as the server calls it: made by itself for every [`Tool`].

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

    /// Returns what `tools/list` shows.
    fn definition(&self) -> model::Tool;

    /// Reads the arguments of a call, that fit the input schema, or says what is wrong with them.
    fn prepare(
        &self,
        schema: &JsonObject,
        arguments: JsonObject,
    ) -> Result<Box<dyn Prepared + '_>, ToolError>;
}

/// A call whose arguments have been read.
pub trait Prepared: Send {
    /// Returns how long it may take.
    fn patience(&self) -> CallTimeout;

    /// Does it.
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

/// Returns the effect of a tool in the words of MCP. Without any, a tool counts as one that destroys.
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
        // It is about the struct in our code; the tool has a description of its own.
        input.remove("description");
        let mut output = json_schema::output::<T::Output>(T::MAIL);
        output.remove("description");
        // Otherwise a client that searches for tools shows none of ours until its model looks for it.
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

    fn prepare(
        &self,
        schema: &JsonObject,
        mut arguments: JsonObject,
    ) -> Result<Box<dyn Prepared + '_>, ToolError> {
        check_arguments::check(T::NAME, schema, &arguments)?;
        // Not every field can be null; every one that may be left out can be left out.
        arguments.retain(|_, value| !value.is_null());
        let input = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::Arguments(format!("invalid arguments for `{}`: {error}", T::NAME))
        })?;
        Ok(Box::new(Ready { tool: self, input }))
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
