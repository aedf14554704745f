//! Why a member has ended, in words.

use std::collections::BTreeMap;

use crate::bus::state::{BodyRef, EndedSession, State, Task};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::task::TaskStatus;
use crate::domain::text::visible_letters::{both_ends, quoted};
use crate::view::rows::ended_together::EndedTogether;

/// Says why a member has ended; of a bridge, what that means, and for which agents if they are many.
pub(in crate::view) fn end_in_words(
    ended: &EndedSession,
    together: Option<&EndedTogether>,
) -> String {
    let reason = both_ends(&ended.reason(), limits::REASON_CHARS);
    if ended.kind == MemberKind::Agent {
        return reason;
    }
    let agents = match together {
        Some(all) => format!("{} have ended with it: {}", all.counted(), all.first_names()),
        None => "its agents have ended with it".to_owned(),
    };
    format!("{reason}, and {agents}. Nobody leads now: the next session of your client does")
}

/// Says why a member has ended that has no row of its own: with its profile, where that is not its name, and what it was at.
pub(in crate::view) fn end_in_full(ended: &EndedSession, prompt: Option<String>) -> String {
    let profile = ended.past.as_ref().map(|past| past.profile.as_str());
    let profile = profile.filter(|profile| *profile != ended.name.as_str());
    let profile = profile.map(|profile| format!("({profile}) ")).unwrap_or_default();
    let task = prompt.map(|words| format!(", in {}", quoted(&words, limits::PROMPT_CHARS)));
    format!("{profile}{}{}", end_in_words(ended, None), task.unwrap_or_default())
}

/// Returns the prompt of the task at which each session was when it ended.
pub(in crate::view) fn interrupted(state: &State) -> BTreeMap<SessionId, BodyRef> {
    let broken = |task: &&Task| task.status == TaskStatus::Interrupted && task.started_ms.is_some();
    let began = state.tasks().filter(broken);
    let mut last = BTreeMap::<SessionId, &Task>::new();
    for task in began {
        let newest = last.entry(task.session).or_insert(task);
        if newest.started_ms <= task.started_ms {
            *newest = task;
        }
    }
    last.into_iter().map(|(session, task)| (session, task.prompt)).collect()
}

#[cfg(test)]
mod tests {
    use crate::bus::event::{Body, Event, Finished, TaskReport};
    use crate::bus::state::State;
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::{SessionId, TaskId};
    use crate::domain::member::Departure;
    use crate::domain::task::TaskStatus;
    use crate::domain::time::{Now, Tick};
    use crate::view::tests::{Numbered, assigned, entry, starting};
    use crate::view::{Board, Looked};

    #[test]
    fn a_crash_without_a_row_says_its_profile_and_its_task() {
        let mut state = State::default();
        let mut happens =
            |seq, event| state.apply(&entry(seq, event), &[0], LogPosition::default());
        for number in 1..=7 {
            let (session, name) =
                (SessionId(uuid::Uuid::from_u64_pair(0, number)), format!("a{number}"));
            let id = TaskId::from_bits(number);
            let (departure, detail) = (Departure::Failed, Some("its model is gone".to_owned()));
            let finished = Event::TaskFinished(Finished {
                id: id.clone(),
                status: TaskStatus::Interrupted,
                output: Body::Text(String::new()),
                stop_reason: None,
                error: None,
                report: TaskReport::default(),
            });
            let events = [
                Event::MemberStarting(starting(session, &name)),
                Event::TaskAssigned(assigned(id.clone(), session, &name, None)),
                Event::TaskStarted { id },
                finished,
                Event::MemberLeft { session, departure, detail, alive_ms: None },
            ];
            for (place, event) in (0..).zip(events) {
                happens(10 * number + place, event);
            }
        }
        let now = Now { wall_ms: 1, tick: Tick { boot: 1, ms: 1 } };
        let (is_held, most_ended) = (&|_| true, 5);
        let looked = Looked { state: &state, seq: 99, now, is_held, damaged_lines: 0, most_ended };
        let shown = Board::of(&looked, &mut Numbered);
        assert_eq!(shown.members.len(), 5);
        let words: Vec<_> = shown.problems.iter().map(|one| one.words.as_str()).collect();
        let beside_row = "failed: its model is gone";
        let in_full = "(codex) failed: its model is gone, in \"text 5\"";
        assert_eq!(words[..5], [beside_row; 5], "{words:?}");
        assert_eq!(words[5..], [in_full; 2], "{words:?}");
    }
}
