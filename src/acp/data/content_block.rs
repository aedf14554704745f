//! A content block as text. Agents send images, sounds and resources too; people and models see one line for each.

use super::json_fields::string;
use serde_json::Value;

/// Returns the text of a content block, or its kind in brackets.
pub(crate) fn block_text(block: &Value) -> Option<String> {
    let what = match block.get("type")?.as_str()? {
        "text" => return string(block, "text"),
        "resource" => {
            let resource = block.get("resource")?;
            if let Some(text) = string(resource, "text") {
                return Some(text);
            }
            ("resource", string(resource, "uri"))
        }
        "resource_link" => ("resource", string(block, "uri")),
        other => (other, string(block, "mimeType")),
    };
    Some(match what {
        (kind, Some(detail)) => format!("[{kind} {detail}]"),
        (kind, None) => format!("[{kind}]"),
    })
}
