//! A wake that failed: an agent was given its messages in a turn of their own, that turn ended with an error, and they are unread again.
//!
//! The agent is idle then, and nothing wakes it for these messages alone.

use crate::bus::state::{Delivery, Session, State};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::member::Activity;
use crate::domain::text::counted::counted_as;
use crate::domain::text::visible_letters::quoted;
use crate::view::Texts;
use crate::view::shown::plain_error;

/// The most characters of an error.
const ERROR_CHARS: usize = 200;

/// Says why the last wake of an idle agent failed, if its messages are unread since then: the error, and how many they are.
pub(super) fn failed_wake(
    state: &State,
    session: &Session,
    texts: &mut dyn Texts,
) -> Option<String> {
    if session.activity != Activity::Idle || !session.queue.is_empty() {
        return None;
    }
    let returned = state.unread(&session.name).filter_map(|message| {
        match message.delivery(&session.name)? {
            Delivery::Unread { last: Some((of, call)) } if of == session.id => Some(call),
            _ => None,
        }
    });
    let returned: Vec<CallId> = returned.collect();
    let last = *returned.iter().max_by_key(|call| call.made_ms())?;
    // A call that brought messages into a turn of a task has no transcript of its own.
    let error = texts.error_of_turn(&TaskId::of_turn_by(last))?;
    let error = quoted(&plain_error(&error), ERROR_CHARS);
    // As many as its row counts: others may have come since then.
    let unread = state.member(&session.name).map_or(returned.len(), |member| member.unread.len());
    let unread = counted_as(unread, "message is unread", "messages are unread");
    Some(format!("its turn failed: {error}, so {unread}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Event, MessageSent};
    use crate::bus::state::BodyRef;
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::{MessageId, SessionId};
    use crate::domain::messaging::{Audience, DeliveryMethod};
    use crate::domain::name::Name;
    use crate::domain::time::{Now, Tick};
    use crate::view::tests::{entry, joined, starting};
    use crate::view::{Board, Looked, ProblemKind};

    struct Refused;

    impl Texts for Refused {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }

        fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
            Some(r#"{"kind":"end","error":"401 Unauthorized"}"#.to_owned())
        }
    }

    #[test]
    fn a_failed_wake_is_a_problem_and_is_not_told_again_in_the_row() {
        let mut state = State::default();
        joined(&mut state, 1, "lead");
        let session = SessionId(uuid::Uuid::from_u64_pair(0, 2));
        let call = CallId(uuid::Uuid::from_u64_pair(1, 1));
        let (id, ann) = (MessageId::from_bits(1), Name::parse("ann").unwrap());
        let mut starting = starting(session, "ann");
        starting.owner = SessionId(uuid::Uuid::from_u64_pair(0, 1));
        let lead = Name::parse("lead").unwrap();
        let to_ann = Audience::One(ann.clone());
        let sent = Event::MessageSent(MessageSent {
            to: vec![ann.clone()].into(),
            ..MessageSent::plain(id.clone(), lead, to_ann, "are you there?")
        });
        let events = [
            Event::MemberStarting(starting),
            Event::MemberActivity { session, activity: Activity::Idle },
            sent,
            Event::MessageHanded {
                ids: vec![id],
                member: ann,
                session,
                call,
                method: DeliveryMethod::Prompt,
            },
            Event::MessageReturned { session, call },
            Event::MemberActivity { session, activity: Activity::Idle },
        ];
        for (number, event) in (2..).zip(events) {
            state.apply(&entry(number, event), &[0], LogPosition::default());
        }
        let now = Now { wall_ms: 1, tick: Tick { boot: 1, ms: 1 } };
        let (state, is_held) = (&state, &|_| true);
        let looked = Looked { state, seq: 7, now, is_held, damaged_lines: 0, most_ended: 5 };
        let board = Board::of(&looked, &mut Refused);
        let words = "its turn failed: \"401 Unauthorized\", so 1 message is unread";
        assert_eq!(board.problems.len(), 1);
        assert!(board.problems[0].since.is_some());
        let advice = board.problems[0].advice().unwrap();
        assert!(advice.contains("`cli-team-bridge send ann TEXT`"), "{advice}");
        assert_eq!(
            (board.problems[0].kind, &*board.problems[0].words),
            (ProblemKind::WakeFailed, words)
        );
        let row = board.members.iter().find(|row| row.name == "ann").unwrap();
        assert!(!row.doing.contains("401"), "{}", row.doing);
    }
}
