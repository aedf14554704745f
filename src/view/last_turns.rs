//! The last turns of agents without a task: in them they read messages and may answer, which is told nowhere but in their transcripts.

use std::collections::BTreeMap;

use super::{MemberRow, NOT_TAKEN, REFUSED, ReadingTurn, Stretch, StretchKind};

/// The most turns without a task that a row has.
const MOST: usize = 5;

/// Adds the turns of the last stretches to the rows.
pub(super) fn add(members: &mut [MemberRow], by_member: &BTreeMap<&str, Vec<&Stretch>>) {
    for row in members.iter_mut().filter(|row| row.state != "left") {
        let own = by_member.get(row.name.as_str()).into_iter().flatten();
        let turns = own.filter_map(|one| match &one.kind {
            StretchKind::Work { .. } => Some((*one, None)),
            StretchKind::Reading { transcript } => Some((*one, Some(transcript))),
            _ => None,
        });
        let mut turns: Vec<_> = turns.collect();
        turns.sort_by_key(|(one, _)| one.from);
        let reading = turns.iter().rev().filter_map(|(one, transcript)| {
            let turn_id = (*transcript)?.clone();
            let left_unread = one.until.and_then(|_| left_unread(one.ended));
            Some(ReadingTurn { turn_id, began_at: one.from, ended_at: one.until, left_unread })
        });
        row.reading_turns = reading.take(MOST).collect();
        if row.task_id.is_some() {
            continue;
        }
        if let Some((last, Some(transcript))) = turns.last() {
            row.last_turn = Some((*transcript).clone());
            if last.until.is_none() {
                row.reading_since = Some(last.from);
            }
        }
    }
}

/// Says of a turn for messages that it did not read them, if it did not.
fn left_unread(ended: Option<&str>) -> Option<&'static str> {
    match ended? {
        REFUSED => Some("could not read its messages"),
        NOT_TAKEN => Some("did not take its messages"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{entry, row};
    use super::*;
    use crate::bus::event::Event;
    use crate::bus::state::{BodyRef, State};
    use crate::domain::ids::{CallId, SessionId, TaskId};
    use crate::domain::member::Activity;
    use crate::domain::messaging::DeliveryMethod;
    use crate::domain::name::Name;
    use crate::view::stretches::by_member;
    use crate::view::{Moment, Stretches, Texts};

    /// The transcript of each turn is this one.
    struct Transcript(&'static str);

    impl Texts for Transcript {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }

        fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
            Some(self.0.to_owned())
        }
    }

    #[test]
    fn a_turn_that_left_its_messages_unread_has_not_read_them() {
        let session = SessionId(uuid::Uuid::nil());
        let call = CallId(uuid::Uuid::from_u64_pair(1, 1));
        let handed = Event::MessageHanded {
            ids: Vec::new(),
            member: Name::parse("ann").unwrap(),
            session,
            call,
            method: DeliveryMethod::Prompt,
        };
        let returned = Event::MessageReturned { session, call };
        let rests = || Event::MemberActivity { session, activity: Activity::Idle };
        let said = |transcript, events: Vec<Event>| {
            let mut stretches = Stretches::new(9);
            for (number, event) in (1..).zip(events) {
                let mut texts = Transcript(transcript);
                stretches.take(&entry(number, event), &State::default(), &mut texts);
            }
            let mut rows = [row("ann", "idle")];
            add(&mut rows, &by_member(&stretches.all()));
            rows[0].reading_turns[0].left_unread
        };
        let refused = r#"{"kind":"end","error":"401 Unauthorized"}"#;
        let events = || vec![handed.clone(), returned.clone(), rests()];
        assert_eq!(said(refused, events()), Some("could not read its messages"));
        assert_eq!(said("", events()), Some("did not take its messages"));
        assert_eq!(said(refused, vec![handed.clone(), rests()]), None, "it failed afterwards");
    }

    #[test]
    fn turns_without_a_task_can_be_found_afterwards_also_behind_a_task() {
        let stretch = |kind, from, until: Option<i64>| Stretch {
            member: "ann".to_owned(),
            kind,
            from: Moment(from),
            until: until.map(Moment),
            ended: None,
        };
        let reads = |number: i64| {
            let transcript = format!("task-{number}");
            stretch(StretchKind::Reading { transcript }, number, Some(number + 1))
        };
        let mut all: Vec<_> = (0..9).map(reads).collect();
        all.push(stretch(StretchKind::Work { task: "task-w".to_owned(), words: None }, 20, None));
        let all: Vec<_> = all.iter().collect();
        let by_member = BTreeMap::from([("ann", all)]);
        let found = |task: Option<&str>| {
            let mut rows =
                [MemberRow { task_id: task.map(str::to_owned), ..row("ann", "running") }];
            add(&mut rows, &by_member);
            let [row] = rows;
            let turns: Vec<_> = row.reading_turns.into_iter().map(|turn| turn.turn_id).collect();
            (row.last_turn, turns)
        };
        let turns = || [8, 7, 6, 5, 4].map(|number| format!("task-{number}")).to_vec();
        assert_eq!(found(Some("task-w")), (None, turns()));
        assert_eq!(found(None), (None, turns()), "its last turn had a task");
    }
}
