//! Conditions of a plan (`when`), and references to the result of an earlier step.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::name::Name;

/// A part of the result of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The agent's output.
    Output,
    /// The word for its status.
    Status,
    /// The files that the step changed.
    Files,
    /// The JSON in the agent's output, or a field of it as a path of keys and indices.
    Json(Vec<String>),
}

/// A part of the result of one step: `steps.NAME.FIELD`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReference {
    pub step: Name,
    pub field: Field,
}

/// A condition: `steps.NAME.FIELD == VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// The value to compare.
    pub source: StepReference,
    pub relation: Relation,
    pub value: String,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// The same text, or the same number.
    #[serde(rename = "==")]
    Is,
    #[serde(rename = "!=")]
    IsNot,
    /// A smaller or the same number.
    #[serde(rename = "<=")]
    AtMost,
    /// A greater or the same number.
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = ">")]
    More,
    /// A text that contains the value, or a list that does.
    #[serde(rename = "contains")]
    Contains,
}

impl Relation {
    /// All relations, in the order for a parser: `<` comes after `<=`, its longer form.
    pub const ALL: [Self; 7] = [
        Self::Is,
        Self::IsNot,
        Self::AtMost,
        Self::AtLeast,
        Self::Less,
        Self::More,
        Self::Contains,
    ];

    /// Returns its notation in a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Is => "==",
            Self::IsNot => "!=",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::More => ">",
            Self::Contains => "contains",
        }
    }
}

impl fmt::Display for StepReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps.{}.", self.step)?;
        match &self.field {
            Field::Output => f.write_str("output"),
            Field::Status => f.write_str("status"),
            Field::Files => f.write_str("files"),
            Field::Json(path) => {
                f.write_str("json")?;
                path.iter().try_for_each(|key| write!(f, ".{key}"))
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, relation, value } = self;
        write!(f, "{source} {} {value}", relation.as_str())
    }
}
