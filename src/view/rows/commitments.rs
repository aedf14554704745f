//! What others count on a member for: the answers that it owes, and what it owns, each with the time that it has for it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{Session, State};
use crate::domain::is_zero::is_zero;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::Now;
use crate::view::{Moment, Texts, span_left};

/// The most characters of a question, and of a prompt that stands beside a commitment.
pub(in crate::view) const SHORT_WORDS: usize = 60;

/// An answer that a member owes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwedAnswer {
    /// The message that it answers.
    pub message_id: String,
    /// The member that awaits it.
    pub to: String,
    /// How many others owe it too: the first answer counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: usize,
    /// The beginning of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// When it is due; of one that is overdue, when the next reminder is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Moment>,
    /// The reminders so far: it is overdue if there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub reminders: u32,
}

/// A claim of a request that ends if its owner gives no sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldLease {
    pub request_id: String,
    /// When it ends without a sign of its owner.
    pub ends_at: Moment,
}

/// Returns the answers that a live member owes, overdue ones first, then by their time.
pub(super) fn owed_by(
    state: &State,
    session: &Session,
    now: Now,
    texts: &mut dyn Texts,
) -> Vec<OwedAnswer> {
    // What the user is asked the user owes, not whoever passes it on.
    let owed = state.answers_owed_by(&session.name);
    let owed = owed.filter(|(message, _)| !message.audience.is_human());
    let owed = owed.map(|(message, awaited)| OwedAnswer {
        message_id: message.id.to_string(),
        to: awaited.from.to_string(),
        others: awaited.to.len().saturating_sub(1),
        text: texts.first_words(message.body, SHORT_WORDS),
        due_at: state.answer_due_ms(&message.id, now).map(Moment),
        reminders: awaited.reminders,
    });
    let mut owed: Vec<_> = owed.collect();
    owed.sort_by_key(|one| (one.reminders == 0, one.due_at));
    owed
}

/// Returns the claims of a live member that a lease ends, the next one first.
pub(super) fn leases_of(state: &State, session: &Session, now: Now) -> Vec<HeldLease> {
    let held = state.claimed_by(session.id).filter_map(|request| {
        let ends_at = Moment(state.lease_ends_ms(request, now)?);
        Some(HeldLease { request_id: request.id.to_string(), ends_at })
    });
    let mut held: Vec<_> = held.collect();
    held.sort_by_key(|one| one.ends_at);
    held
}

impl OwedAnswer {
    /// Says whether it is overdue.
    pub fn is_overdue(&self) -> bool {
        self.reminders > 0
    }

    /// Says to whom it is owed, until when, and to what.
    pub fn in_words(&self, now: Moment) -> String {
        let others = match self.others {
            0 => String::new(),
            some => format!(", or {} of its group", counted(some, "other")),
        };
        let time = match (self.is_overdue(), self.due_at) {
            (true, _) => format!(", overdue ({})", counted(self.reminders, "reminder")),
            (false, Some(due)) => format!(" within {}", span_left(due, now)),
            (false, None) => String::new(),
        };
        let text = self.text.as_ref().map(|text| format!(": {}", quoted(text, SHORT_WORDS)));
        format!("owes {} an answer{others}{time}{}", self.to, text.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Body, Entry, Envelope, Event, LaneMoved, MessageSent, RequestOpened};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::{MessageId, RequestId, SessionId};
    use crate::domain::member::Label;
    use crate::domain::messaging::Audience;
    use crate::domain::name::Name;
    use crate::domain::time::Tick;
    use crate::view::tests::{entry, joined};
    use crate::view::{Board, Looked, MemberRow, NoTexts};

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    /// Asks ben, who owes an answer within five minutes.
    fn question() -> Event {
        let more = Envelope { response_seconds: Some(300), ..Envelope::default() };
        let to_ben = Audience::One(name("ben"));
        Event::MessageSent(MessageSent {
            to: vec![name("ben")].into(),
            more: Some(Box::new(more)),
            ..MessageSent::plain(MessageId::from_bits(1), name("ann"), to_ben, "may I merge?")
        })
    }

    /// Ann and ben; ben owes an answer, owns a lane, and has claimed a request with a lease of five minutes.
    fn state() -> State {
        let mut state = State::default();
        joined(&mut state, 1, "ann");
        joined(&mut state, 2, "ben");
        let session = SessionId(uuid::Uuid::from_u64_pair(0, 2));
        let id = RequestId::from_bits(7);
        let opened = RequestOpened {
            id: id.clone(),
            message: MessageId::from_bits(7),
            from: name("ann"),
            to: vec![name("ben")].into(),
            only: None,
            description: Body::Text("review it".to_owned()),
            context: None,
            nudge_ms: 60_000,
            ttl_ms: 60_000,
            lease_ms: Some(300_000),
            urgency: None,
        };
        let events = [
            question(),
            Event::LaneClaimed(LaneMoved { session, lane: Label::parse("docs").unwrap() }),
            Event::RequestOpened(opened),
            Event::RequestClaimed { id, by: name("ben"), session },
        ];
        for (number, event) in (3..).zip(events) {
            apply(&mut state, number, 0, event);
        }
        state
    }

    fn apply(state: &mut State, number: u64, ms: u64, event: Event) {
        let ts = i64::try_from(ms).unwrap();
        let entry = Entry { ts, tick: Tick { boot: 1, ms }, ..entry(number, event) };
        state.apply(&entry, &[0], LogPosition::default());
    }

    fn board(state: &State, ms: u64) -> Board {
        let now = Now { wall_ms: i64::try_from(ms).unwrap(), tick: Tick { boot: 1, ms } };
        let looked =
            Looked { state, seq: 6, now, is_held: &|_| true, damaged_lines: 0, most_ended: 5 };
        Board::of(&looked, &mut NoTexts)
    }

    fn of_ben(board: &Board) -> &MemberRow {
        board.members.iter().find(|row| row.name == "ben").unwrap()
    }

    /// Returns what the row of ben says so many milliseconds later.
    fn words(state: &State, ms: u64) -> String {
        let board = board(state, ms);
        board.now_words(of_ben(&board))
    }

    #[test]
    fn a_row_says_what_its_member_owes_and_owns_and_for_how_long() {
        let state = state();
        let request = RequestId::from_bits(7);
        assert_eq!(
            words(&state, 60_000),
            format!(
                "last active 59 s ago; owes ann an answer within 4 min; \
                 holds {request} (4 min left), @docs"
            )
        );
    }

    #[test]
    fn a_claimed_request_says_how_long_its_lease_lasts() {
        let board = board(&state(), 60_000);
        let request = &board.requests[0];
        assert_eq!(request.lease_in_words(board.at).as_deref(), Some("lease 4 min left"));
        assert_eq!(request.lease_ends_at, Some(of_ben(&board).leases[0].ends_at));
    }

    #[test]
    fn a_board_of_the_same_events_is_the_same_later_and_not_once_a_process_has_ended() {
        let state = state();
        let early = board(&state, 10_000);
        // By another clock, what is due then is reckoned anew.
        let now = Now { wall_ms: 70_003, tick: Tick { boot: 1, ms: 70_000 } };
        let later = |is_held: bool| {
            let is_held = |_| is_held;
            let (seq, damaged_lines, most_ended) = (6, 0, 5);
            let looked =
                Looked { state: &state, seq, now, is_held: &is_held, damaged_lines, most_ended };
            Board::of(&looked, &mut NoTexts)
        };
        assert_ne!(words(&state, 10_000), words(&state, 70_000));
        assert!(early.is_same_as(&later(true)) && later(true).is_same_as(&early));
        assert!(!early.is_same_as(&later(false)));
    }

    #[test]
    fn an_answer_that_is_overdue_comes_first() {
        let mut state = state();
        apply(&mut state, 7, 300_000, Event::MessageReminded { id: MessageId::from_bits(1) });
        let said = words(&state, 301_000);
        assert!(
            said.starts_with("owes ann an answer, overdue (1 reminder); last active"),
            "{said}"
        );
    }

    #[test]
    fn a_row_names_the_first_commitments_and_counts_the_others() {
        let mut row = of_ben(&board(&state(), 60_000)).clone();
        row.owes = vec![row.owes[0].clone(); 5];
        row.holds = (0..4).map(|lane| format!("@lane{lane}")).collect();
        let words = row.commitments_in_words(Moment(0));
        assert_eq!(words.len(), 5, "{words:?}");
        assert_eq!(words[3], "owes 2 more");
        assert_eq!(words[4], "holds @lane0, @lane1, @lane2, 1 more");
        row.lead = true;
        assert_eq!(row.commitments_in_words(Moment(0))[0], "leads");
    }
}
