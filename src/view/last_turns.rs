//! The last turns of agents that have no task in their turn: in a turn without a task they read messages and may answer, which is
//! told nowhere but in its transcript.

use std::collections::BTreeMap;

use super::{MemberRow, Stretch, StretchKind};

/// Adds the turns of the last stretches to the rows.
pub(super) fn add(members: &mut [MemberRow], by_member: &BTreeMap<&str, Vec<&Stretch>>) {
    let is_free = |row: &&mut MemberRow| row.task_id.is_none() && row.state != "left";
    for row in members.iter_mut().filter(is_free) {
        let own = by_member.get(row.name.as_str()).into_iter().flatten();
        let turns = own.filter_map(|one| match &one.kind {
            StretchKind::Work { .. } => Some((one, None)),
            StretchKind::Reading { transcript } => Some((one, Some(transcript))),
            _ => None,
        });
        let Some((last, Some(transcript))) = turns.max_by_key(|(one, _)| one.from) else {
            continue;
        };
        row.last_turn = Some(transcript.clone());
        if last.until.is_none() {
            row.reading_since = Some(last.from);
        }
    }
}
