//! What a message does in a disagreement: it opens one, is a word in it, ends it, or changes nothing.

use super::escalate::{end_unsaid, escalate, next_round, show_word};
use super::newest::Newest;
use super::through_lead::asked_orchestrators;
use super::told::{MINUTES, asked, over, tell};
use crate::bus::event::{ConflictOpened, ConflictResolved, Event, Position};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Conflict, Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep, Signal, SignalClass};
use crate::domain::name::Name;

/// The signal with which a party takes the position of the other.
const AGREES: &str = "agree_with";

/// What a message does in the disagreement of its thread.
pub(in crate::bus::rules) enum Part {
    Nothing,
    /// It disagrees with a message of another member.
    Opens {
        with: Name,
        disputed: MessageId,
        /// A disagreement that gives way to it, as both its parties have left.
        frees: Option<MessageId>,
    },
    /// It is a word of a party.
    Speaks {
        /// Who gets it.
        to: Vec<Name>,
    },
    /// A party takes the position of the other.
    Agrees {
        with: MessageId,
    },
    /// Who was asked decides.
    Decides,
    /// It takes a side, or decides, when all is over.
    TooLate,
    /// It takes a side that nobody asked for.
    Aside,
}

/// Finds what a message does, before it is posted. Whoever has to read it becomes a recipient.
pub(in crate::bus::rules) fn part_of(
    writer: &Writer<'_>,
    me: &Session,
    replied: &MessageId,
    post: &mut Post,
) -> Result<Part, Refusal> {
    let state = writer.state;
    let (class, thread) = (post.class(), post.thread.clone());
    let signal = post.more.as_ref().and_then(|more| more.signal.clone());
    let (Some(replied), Some(thread)) = (state.message(replied), thread) else {
        return Ok(Part::Nothing);
    };
    let by = replied.from.member();
    if let (SignalClass::Position, Some(signal)) = (class, &signal)
        && by == Some(&me.name)
    {
        return Err(Refusal::OwnPosition { signal: signal.clone(), id: replied.id.clone() });
    }
    let agrees = signal.as_ref().is_some_and(|signal| signal.as_str() == AGREES);
    let Some(conflict) = state.conflict(&thread) else {
        let Some(with) = by.filter(|_| class == SignalClass::Position && !agrees) else {
            return Ok(Part::Nothing);
        };
        // A thread has one disagreement, also when nothing more than that is known of it.
        return match state.message(&thread) {
            Some(first) if first.disputed => Ok(Part::TooLate),
            _ => opens(writer, me, replied, with, post),
        };
    };
    if !conflict.is_open() {
        let takes_side = matches!(class, SignalClass::Position | SignalClass::Decision);
        return Ok(if takes_side { Part::TooLate } else { Part::Nothing });
    }
    if class == SignalClass::Decision {
        return decides(writer, me, conflict, post);
    }
    if conflict.party(&me.name).is_none() {
        let takes_side = class == SignalClass::Position;
        return Ok(if takes_side { Part::Aside } else { Part::Nothing });
    }
    let of_other = by.is_some_and(|by| conflict.party(by).is_some());
    if agrees && of_other {
        check_lasts(post)?;
        add_readers(writer, conflict.names(), post);
        return Ok(Part::Agrees { with: replied.id.clone() });
    }
    if agrees {
        return Ok(Part::Nothing);
    }
    if class == SignalClass::Position {
        check_lasts(post)?;
        add_readers(writer, conflict.names(), post);
    }
    let is_heard = conflict.hears(&me.name, &post.to, class);
    Ok(if is_heard { Part::Speaks { to: post.to.clone() } } else { Part::Nothing })
}

/// Refuses a position or a decision that would expire.
fn check_lasts(post: &Post) -> Result<(), Refusal> {
    match &post.more {
        Some(more) if more.ttl_seconds.is_some() => Err(Refusal::LastsForGood),
        _ => Ok(()),
    }
}

fn opens(
    writer: &Writer<'_>,
    me: &Session,
    replied: &Message,
    with: &Name,
    post: &mut Post,
) -> Result<Part, Refusal> {
    check_lasts(post)?;
    let is_own =
        |conflict: &&Conflict| conflict.parties.first().is_some_and(|one| one.name == me.name);
    let limit = limits::OPEN_CONFLICTS_OF_ONE;
    if writer.state.open_conflicts().filter(is_own).count() >= limit {
        return Err(Refusal::TooManyConflicts { limit, own: true });
    }
    let limit = limits::OPEN_CONFLICTS;
    let frees = if writer.state.open_conflicts().count() < limit {
        None
    } else {
        let oldest = oldest_left(writer.state);
        Some(oldest.ok_or(Refusal::TooManyConflicts { limit, own: false })?.thread.clone())
    };
    add_readers(writer, [with], post);
    Ok(Part::Opens { with: with.clone(), disputed: replied.id.clone(), frees })
}

/// Finds the oldest disagreement whose parties have both left, though they may come back.
fn oldest_left(state: &State) -> Option<&Conflict> {
    let is_left = |conflict: &&Conflict| conflict.names().all(|name| state.live(name).is_none());
    let left = state.open_conflicts().filter(is_left);
    left.min_by_key(|conflict| (conflict.opened_ms, &conflict.thread))
}

fn decides(
    writer: &Writer<'_>,
    me: &Session,
    conflict: &Conflict,
    post: &mut Post,
) -> Result<Part, Refusal> {
    let is_asked = match &conflict.step {
        ConflictStep::Round(_) => false,
        ConflictStep::Arbiter(arbiter) => *arbiter == me.name,
        // An orchestrator passes on what its user says, unless it is about itself.
        ConflictStep::Human => {
            me.kind == MemberKind::Orchestrator && conflict.party(&me.name).is_none()
        }
    };
    if !is_asked {
        let (who, thread) = (asked(conflict), conflict.thread.clone());
        return Err(Refusal::NotAskedToDecide { who, thread });
    }
    check_lasts(post)?;
    add_readers(writer, conflict.names(), post);
    Ok(Part::Decides)
}

/// Makes the parties recipients of a message that concerns them, whomever it is addressed to.
pub(super) fn add_readers<'a>(
    writer: &Writer<'_>,
    parties: impl IntoIterator<Item = &'a Name>,
    post: &mut Post,
) {
    for name in parties {
        let is_author = post.from.member() == Some(name);
        if !is_author && !post.to.contains(name) && writer.accepts_notice(name) {
            post.to.push(name.clone());
        }
    }
}

/// Writes what follows from a message that was posted.
pub(in crate::bus::rules) fn follow(
    writer: &mut Writer<'_>,
    me: &Session,
    (thread, id, signal): (&MessageId, &MessageId, Option<&Signal>),
    part: Part,
) {
    match part {
        Part::Nothing => {}
        Part::Opens { with, disputed, frees } => {
            if let Some(left) = &frees {
                end_unsaid(writer, left);
            }
            open(writer, me, (thread, id), (&with, &disputed));
        }
        Part::Speaks { to } => {
            let is_position = signal.is_some_and(|signal| signal.class() == SignalClass::Position);
            speak(writer, thread, &Newest { by: &me.name, id, to: &to, is_position });
        }
        Part::Agrees { with } => {
            end(writer, thread, ConflictEnd::Agreed, Author::Member(me.name.clone()), &with);
        }
        Part::Decides => {
            end(writer, thread, ConflictEnd::Decided, Author::Member(me.name.clone()), id);
        }
        Part::TooLate => {
            let how = writer.state.conflict(thread).map(over).unwrap_or_default();
            let text = notice![
                "your message ",
                *id,
                " changes nothing: the disagreement in the thread of ",
                *thread,
                " is over",
                how,
                ". A new one begins with a new message"
            ];
            writer.notice(&me.name, text);
        }
        Part::Aside => {
            let text = notice![
                "your message ",
                *id,
                " is delivered, and changes nothing in the disagreement in the thread of ",
                *thread,
                ", to which you are no party"
            ];
            writer.notice(&me.name, text);
        }
    }
}

fn open(
    writer: &mut Writer<'_>,
    me: &Session,
    (thread, id): (&MessageId, &MessageId),
    (with, disputed): (&Name, &MessageId),
) {
    let first = writer.state.message(thread);
    let about = first.and_then(|first| first.more.as_ref()?.reference.clone());
    let position =
        |by: &Name, message: &MessageId| Position { by: by.clone(), message: message.clone() };
    writer.push(Event::ConflictOpened(ConflictOpened {
        thread: thread.clone(),
        parties: vec![position(&me.name, id), position(with, disputed)],
        about,
    }));
    let rounds = u64::from(limits::CONFLICT_ROUNDS);
    let text = notice![
        me.name,
        " disagrees with ",
        *with,
        " in the thread of ",
        *thread,
        ". Argue there; agree_with, in reply to the other's message, ends it. After ",
        rounds,
        " rounds, or ",
        MINUTES,
        " minutes of silence, somebody else decides"
    ];
    tell(writer, &[with, &me.name], thread, &text);
}

/// A party has spoken: once both have, the round is over. Whoever is asked to decide is shown it.
fn speak(writer: &mut Writer<'_>, thread: &MessageId, newest: &Newest<'_>) {
    let Some(conflict) = writer.state.conflict(thread) else { return };
    let ConflictStep::Round(round) = conflict.step else {
        return show_word(writer, conflict, newest);
    };
    let all_spoke =
        conflict.parties.iter().all(|party| party.has_spoken || party.name == *newest.by);
    if !all_spoke {
        return;
    }
    if round < limits::CONFLICT_ROUNDS {
        next_round(writer, conflict, round + 1);
    } else {
        escalate(writer, conflict, Some(newest));
    }
}

pub(super) fn end(
    writer: &mut Writer<'_>,
    thread: &MessageId,
    how: ConflictEnd,
    by: Author,
    message: &MessageId,
) {
    let Some(conflict) = writer.state.conflict(thread) else { return };
    let who = match &by {
        Author::Member(name) => notice![*name],
        _ => notice!["the user"],
    };
    let text = |binds: &'static str| match how {
        ConflictEnd::Agreed => notice![
            who,
            " agrees with ",
            *message,
            ": the disagreement in the thread of ",
            *thread,
            " is over"
        ],
        _ => notice![
            who,
            " has decided the disagreement in the thread of ",
            *thread,
            " with ",
            *message,
            binds
        ],
    };
    // Whoever was asked need not decide any more.
    let asked: Vec<Name> = match &conflict.step {
        ConflictStep::Round(_) => Vec::new(),
        ConflictStep::Arbiter(arbiter) => vec![arbiter.clone()],
        ConflictStep::Human => asked_orchestrators(writer, conflict),
    };
    let asked = asked.iter().filter(|name| by.member() != Some(*name));
    let asked = asked.filter(|name| conflict.party(name).is_none());
    let (parties, others): (Vec<_>, Vec<_>) = (conflict.names().collect(), asked.collect());
    let texts = (text(", which binds you"), text(", which binds them"));
    let message = Some(message.clone());
    writer.push(Event::ConflictResolved(ConflictResolved {
        thread: thread.clone(),
        how,
        by,
        message,
    }));
    tell(writer, &parties, thread, &texts.0);
    tell(writer, &others, thread, &texts.1);
}
