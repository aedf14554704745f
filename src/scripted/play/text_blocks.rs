//! Conversion between texts and the protocol's content blocks.

use agent_client_protocol::v1::schema::{ContentBlock, ContentChunk, TextContent};

/// Makes a text a chunk of an answer or of a thought.
pub(crate) fn chunk(text: String) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

/// Returns the text of a prompt, one line per block; other blocks are left out.
pub(crate) fn text_of(prompt: &[ContentBlock]) -> String {
    let texts = prompt.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
