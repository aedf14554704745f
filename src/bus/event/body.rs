//! A text in an event: a short one in the line itself, a long one in a file of its own.

use serde::{Deserialize, Serialize};

use crate::domain::text::content_hash::ContentHash;

/// A text: in the event itself, or in a blob if it is long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(String),
    Blob {
        /// The name of the blob.
        id: uuid::Uuid,
        /// The length of the text in bytes.
        bytes: u64,
        /// The hash of the text; none in events of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<ContentHash>,
    },
}

impl Body {
    /// Returns the length of the text in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Blob { bytes, .. } => *bytes,
        }
    }
}
