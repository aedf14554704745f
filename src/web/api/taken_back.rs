//! What programs may read no more: the text of a message that its sender took back, or that expired, before anybody was shown it. No
//! member reads it, and so does no key; the user has the whole log.

use std::collections::BTreeMap;

use super::read_answers::{extra, snapshot};
use crate::search::{HitKind, SearchHit};
use crate::view::Letter;
use crate::web::pages::View;
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// Returns a message without what nobody may read.
pub(super) fn readable(letter: Letter) -> Letter {
    if letter.taken_back {
        Letter {
            text: None,
            lost: None,
            reference: None,
            payload: None,
            payload_bytes: None,
            attachments: Vec::new(),
            ..letter
        }
    } else {
        letter
    }
}

/// Leaves out the hits in messages that nobody may read. The snapshot has the last messages; the others are looked up.
pub(super) async fn readable_hits(
    state: &ServerState,
    hits: Vec<SearchHit>,
) -> Result<Vec<SearchHit>, Problem> {
    let mut fates: BTreeMap<_, _> = snapshot(state).await?.letters.iter().map(fate).collect();
    let mut readable = Vec::new();
    for hit in hits {
        let seq = hit.seq.filter(|_| hit.kind == HitKind::Message);
        if let (Some(seq), false) = (seq, fates.contains_key(&hit.id)) {
            let page = extra(state, View::Conversation, Some(seq.saturating_add(1))).await?.older;
            fates.extend(page.iter().flat_map(|page| &page.letters).map(fate));
        }
        if fates.get(&hit.id) != Some(&true) {
            readable.push(hit);
        }
    }
    Ok(readable)
}

fn fate(letter: &Letter) -> (String, bool) {
    (letter.message_id.clone(), letter.taken_back)
}
