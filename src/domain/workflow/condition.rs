//! Conditions of a plan (`when`), and references to what an earlier step gave.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::name::Name;

/// A part of what a step came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// What the agent said.
    Output,
    /// The word for how it ended.
    Status,
    /// The files that it changed.
    Files,
    /// The JSON in what the agent said, or a field of it as a path of keys and indices.
    Json(Vec<String>),
}

/// A part of what one step came to: `steps.NAME.FIELD`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReference {
    pub step: Name,
    pub field: Field,
}

/// A condition: `steps.NAME.FIELD == VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// What is looked at.
    pub source: StepReference,
    /// How it is compared.
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
    /// A text with that in it, or a list with that in it.
    #[serde(rename = "contains")]
    Contains,
}

impl Relation {
    /// All of them; what is the beginning of another comes after it.
    pub const ALL: [Self; 7] = [
        Self::Is,
        Self::IsNot,
        Self::AtMost,
        Self::AtLeast,
        Self::Less,
        Self::More,
        Self::Contains,
    ];

    /// Returns how it is written.
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
