//! What is wrong on a bus, each with the member that it is about.

mod led;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use self::led::Bridge;
use crate::bus::state::{EndedSession, Message, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{Departure, Label, MemberKind};
use crate::domain::messaging::HeldWhy;
use crate::domain::text::counted::counted_as;
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::view::rows::ended_together::{EndedTogether, died_together, gone_together};
use crate::view::rows::member_row::moment_of;
use crate::view::rows::unanswered::unanswered;
use crate::view::shown::{end_in_full, end_in_words, interrupted};
use crate::view::waits::{Waits, circle_in_words};
use crate::view::{Group, MemberRow, Moment, Texts, Trouble};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The heartbeat of a process stands still.
    Hung,
    /// An agent shows no sign of life in its turn.
    Stalled,
    /// An agent does not end a turn whose task was abandoned.
    Stuck,
    /// A process has ended, and no session has recorded that yet.
    Gone,
    /// An agent has ended by itself, and no other has its name since then.
    Crashed,
    /// An agent could not read its messages in a turn of their own, so they are unread.
    WakeFailed,
    /// A member has not given the answer that it owed, and nobody waits for it any more.
    Unanswered,
    /// Messages to another project are still on their way.
    Kept,
    /// An idle agent owes an answer that is overdue, and the member that awaits it waits for that.
    Overdue,
    /// Members wait for each other, so none of them goes on before its wait ends.
    Circle,
    /// The log has lines that cannot be read.
    Damaged,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The member that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The agents that have ended with their bridge, where they are so many that one problem counts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What is wrong, in words.
    pub words: String,
    /// Since when it is so, as far as that is known and does not stand in the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// The session that has ended.
    #[serde(skip)]
    pub session: Option<SessionId>,
    /// The sessions of the agents that have ended with it.
    #[serde(skip)]
    pub agent_sessions: Vec<SessionId>,
}

impl Problem {
    /// Makes a problem of one member, or of none.
    pub(crate) fn of(kind: ProblemKind, member: Option<&str>, words: String) -> Self {
        Self {
            kind,
            member: member.map(str::to_owned),
            agents: Vec::new(),
            words,
            since: None,
            session: None,
            agent_sessions: Vec::new(),
        }
    }

    /// Says whether it is the same at another time, of the same events: but for how long it has been so.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let letters = |words: &str| -> String {
            words.chars().filter(|letter| !letter.is_ascii_digit()).collect()
        };
        // Only these say for how long. Other numbers count, also where no event has changed them, as that of damaged lines.
        let has_time = matches!(self.kind, ProblemKind::Kept | ProblemKind::Unanswered);
        let words = if has_time && letters(&self.words) == letters(&other.words) {
            self.words.clone()
        } else {
            other.words.clone()
        };
        *self == Self { words, ..other.clone() }
    }

    /// Says whether it is the end of this member.
    pub fn is_end_of(&self, row: &MemberRow) -> bool {
        // Another of the same name may have left since then.
        let is_own =
            self.session == Some(row.session) || self.agent_sessions.contains(&row.session);
        let has_ended = row.state == "gone" || row.state == "left";
        matches!(self.kind, ProblemKind::Gone | ProblemKind::Crashed) && is_own && has_ended
    }

    /// Says whether it stands among what needs a person: as the need of its member, or of the bridge that holds that.
    pub(super) fn is_among_needs(&self) -> bool {
        matches!(self.kind, ProblemKind::Hung | ProblemKind::Stalled | ProblemKind::Stuck)
    }

    /// Says what a person can do about it, where its words do not say so.
    pub fn advice(&self) -> Option<String> {
        let advice = match self.kind {
            ProblemKind::Circle => Some(
                "None of them goes on before its wait ends, and most ask anew. Cancel the task of one, or write to one with \
                 `cli-team-bridge send NAME TEXT --urgent`, which ends its wait.",
            ),
            ProblemKind::WakeFailed => Some(
                "Once that is mended, `cli-team-bridge send NAME TEXT` or a task wakes it, with what is unread.",
            ),
            ProblemKind::Unanswered => Some(
                "Nobody is reminded of it any more. `cli-team-bridge send NAME TEXT --urgent` asks again.",
            ),
            ProblemKind::Overdue => Some(
                "It is idle, and goes on when it is written to: `cli-team-bridge send NAME TEXT` wakes it.",
            ),
            ProblemKind::Kept => Some(
                "They are delivered when they can be, and kept for 30 days. `[projects]` in your own `config.toml` says where that project is.",
            ),
            ProblemKind::Gone | ProblemKind::Crashed if !self.agents.is_empty() => Some(
                "`cli-team-bridge log --kind member` names all of them, and `cli-team-bridge tasks` says what they were at.",
            ),
            _ => None,
        }?;
        let name = self.member.as_deref().unwrap_or("NAME");
        Some(advice.replace("NAME", name))
    }

    /// Returns what it is about, in a word.
    pub fn who(&self) -> &str {
        self.member.as_deref().unwrap_or(match self.kind {
            ProblemKind::Circle | ProblemKind::Unanswered | ProblemKind::Crashed => "team",
            _ => "bus",
        })
    }
}

/// Collects what is wrong.
pub(super) fn of(
    state: &State,
    members: &[MemberRow],
    (damaged_lines, now): (u64, Now),
    texts: &mut dyn Texts,
) -> Vec<Problem> {
    let of_member = |member: &MemberRow| {
        let trouble = Trouble::of(&member.state, &member.kind)?;
        let kind = match trouble {
            Trouble::Stalled => ProblemKind::Stalled,
            Trouble::Stuck => ProblemKind::Stuck,
            Trouble::SilentBridge | Trouble::SilentProcess => ProblemKind::Hung,
            Trouble::Gone => ProblemKind::Gone,
        };
        if kind == ProblemKind::Gone && has_led_nothing(state, member, now) {
            return None;
        }
        let words = trouble.meaning_for(member.silent_in.as_deref());
        let since = Some(member.last_written);
        let session = Some(member.session).filter(|_| trouble == Trouble::Gone);
        Some(Problem { since, session, ..Problem::of(kind, Some(&member.name), words) })
    };
    let unwoken = members.iter().filter_map(|member| {
        let words = member.failed_wake.clone()?;
        let (kind, since) = (ProblemKind::WakeFailed, Some(member.last_active));
        Some(Problem { since, ..Problem::of(kind, Some(&member.name), words) })
    });
    let crashed = state.departed().rev();
    let crashed =
        crashed.filter(|ended| is_unmended(state, ended, now) && is_shown(state, ended, now));
    let crashed: Vec<_> = crashed.collect();
    let prompts = if crashed.is_empty() { BTreeMap::new() } else { interrupted(state) };
    let of_crashed: Vec<_> = crashed
        .iter()
        .map(|ended| {
            let has_row = members.iter().any(|row| row.session == ended.session);
            let prompt = prompts.get(&ended.session).filter(|_| !has_row);
            let prompt =
                prompt.and_then(|prompt| texts.first_of_prompt(*prompt, limits::PROMPT_CHARS));
            let words =
                if has_row { end_in_words(ended, None) } else { end_in_full(ended, prompt) };
            Problem {
                since: Some(moment_of(ended.at, now)),
                session: Some(ended.session),
                ..Problem::of(ProblemKind::Crashed, Some(ended.name.as_str()), words)
            }
        })
        .collect();
    let damaged = (damaged_lines > 0).then(|| {
        let words = counted_as(
            damaged_lines,
            "line of the log is damaged: `cli-team-bridge doctor` says where",
            "lines of the log are damaged: `cli-team-bridge doctor` says where",
        );
        Problem::of(ProblemKind::Damaged, None, words)
    });
    let of_members = members.iter().filter_map(of_member);
    let owed = unanswered(state, now, texts).into_iter();
    let owed =
        owed.map(|owed| Problem::of(ProblemKind::Unanswered, owed.member.as_deref(), owed.words));
    let of_members = of_members.chain(unwoken).chain(owed);
    let all = of_members.chain(of_waits(members)).chain(of_crashed).chain(damaged);
    let mut all: Vec<_> = all.chain(kept(state, now)).collect();
    for together in gone_together(state, members) {
        count(&mut all, ProblemKind::Gone, &together, |_| {
            let (agents, names) = (together.counted(), together.first_names());
            format!(
                "its process has ended, and {agents} with it: {names}; the next session will record that"
            )
        });
    }
    for together in died_together(state, &crashed) {
        let bridge = crashed.iter().find(|ended| Some(ended.session) == together.bridge);
        count(&mut all, ProblemKind::Crashed, &together, |before| {
            bridge.map_or_else(
                || before.words.clone(),
                |bridge| end_in_words(bridge, Some(&together)),
            )
        });
    }
    all
}

/// Puts one problem in the place of those of many agents that have ended together: that of their bridge, if there is one, whose words
/// `with_agents` extends.
fn count(
    problems: &mut Vec<Problem>,
    kind: ProblemKind,
    together: &EndedTogether,
    with_agents: impl FnOnce(&Problem) -> String,
) {
    let is_one = |problem: &Problem| {
        problem.kind == kind && together.agents.values().any(|one| problem.session == Some(*one))
    };
    let Some(first) = problems.iter().position(is_one) else { return };
    let agents = together.agents.keys().cloned().collect();
    let agent_sessions = together.agents.values().copied().collect();
    let of_bridge = |problem: &&mut Problem| {
        problem.kind == kind && together.bridge.is_some() && problem.session == together.bridge
    };
    if let Some(bridge) = problems.iter_mut().find(of_bridge) {
        bridge.words = with_agents(bridge);
        (bridge.agents, bridge.agent_sessions) = (agents, agent_sessions);
    } else {
        let (counted, names) = (together.counted(), together.first_names());
        let words = format!("{counted} have ended with their bridge: {names}");
        let since = problems[first].since;
        let all = Problem { agents, since, agent_sessions, ..Problem::of(kind, None, words) };
        problems.insert(first, all);
    }
    problems.retain(|problem| !is_one(problem));
}

/// Returns the projects to which messages have been on their way for too long.
fn kept(state: &State, now: Now) -> Vec<Problem> {
    let mut by_project: BTreeMap<&Label, Vec<&Message>> = BTreeMap::new();
    for message in state.outbox() {
        if let Some(address) = message.audience.elsewhere() {
            by_project.entry(&address.tag).or_default().push(message);
        }
    }
    let problems = by_project.into_iter().filter_map(|(tag, messages)| {
        let oldest = messages.first()?;
        let waits_ms = now.wall_ms.saturating_sub(oldest.sent_ms);
        if waits_ms < wait_times::KEPT_SHOWN_MS {
            return None;
        }
        let why = messages.iter().find_map(|message| state.crossed(&message.id)?.held);
        let why = why.map_or("no session has taken them there yet", HeldWhy::in_words);
        let count = counted_as(messages.len() as u64, "message has", "messages have");
        let minutes = waits_ms / 60_000;
        let words = format!("{count} been on the way to `{tag}:` for {minutes} min: {why}");
        Some(Problem::of(ProblemKind::Kept, None, words))
    });
    problems.collect()
}

/// Returns the circles in which members wait for each other.
fn circles(members: &[MemberRow]) -> Vec<Problem> {
    let waits = Waits::of(members);
    let circles = waits.circles(members).into_iter();
    let circles =
        circles.map(|circle| Problem::of(ProblemKind::Circle, None, circle_in_words(&circle)));
    circles.collect()
}

/// Returns the waits that nobody ends by itself.
fn of_waits(members: &[MemberRow]) -> Vec<Problem> {
    let mut problems = overdue(members);
    problems.extend(circles(members));
    problems
}

/// Returns the idle agents for whose overdue answer somebody waits.
fn overdue(members: &[MemberRow]) -> Vec<Problem> {
    let waits = |name: &str, whom: &str| {
        let mut live = members.iter().filter(|row| row.group != Group::Ended);
        live.any(|row| row.name == name && row.waits_for.as_deref() == Some(whom))
    };
    let idle = members.iter().filter(|row| {
        row.kind == "agent" && row.state == "idle" && row.queued == 0 && row.failed_wake.is_none()
    });
    let owed = idle.filter_map(|row| {
        let mut overdue = row.owes.iter().filter(|owed| owed.is_overdue());
        let owed = overdue.find(|owed| waits(&owed.to, &row.name))?;
        let words = format!("{}; {} waits for it", owed.in_words(row.last_active), owed.to);
        let (kind, since) = (ProblemKind::Overdue, Some(row.last_active));
        Some(Problem { since, ..Problem::of(kind, Some(&row.name), words) })
    });
    owed.collect()
}

/// Looks anew for the waits that nobody ends, after members were found to wait on.
pub(super) fn replace_waits(problems: &mut Vec<Problem>, members: &[MemberRow]) {
    let is_wait =
        |problem: &Problem| matches!(problem.kind, ProblemKind::Circle | ProblemKind::Overdue);
    problems.retain(|problem| !is_wait(problem));
    let is_later = |problem: &Problem| {
        matches!(problem.kind, ProblemKind::Crashed | ProblemKind::Damaged | ProblemKind::Kept)
    };
    let at = problems.iter().position(is_later).unwrap_or(problems.len());
    problems.splice(at..at, of_waits(members));
}

/// Says whether windows show the end of a member. The end of an agent is news, and that of a bridge which nobody has followed; other
/// members leave by themselves, and so do those of a trial that is over, which its tasks and its workflow tell of.
pub(super) fn is_shown(state: &State, ended: &EndedSession, now: Now) -> bool {
    let is_unmended = is_unmended(state, ended, now);
    let shown_ms =
        if is_unmended { wait_times::CRASH_SHOWN_MS } else { wait_times::DEPARTED_SHOWN_MS };
    (ended.kind == MemberKind::Agent || is_unmended)
        && !state.is_of_ended_trial(ended.session)
        && ended.at.boot == now.tick.boot
        && now.tick.ms.saturating_sub(ended.at.ms) <= shown_ms
}

/// Says whether an agent has ended by itself, and no other has had its name since then; or a bridge that led something, and there is none
/// since then.
fn is_unmended(state: &State, ended: &EndedSession, now: Now) -> bool {
    let last = || state.departed().rev().find(|other| other.name == ended.name);
    has_crashed(ended)
        && state.live(&ended.name).is_none()
        && (ended.kind == MemberKind::Agent
            || !has_bridge(state) && Bridge::of_ended(ended).led_anything(state, now))
        && last().is_none_or(|last| last.session == ended.session)
}

/// Says whether a member is a bridge that leads nothing.
fn has_led_nothing(state: &State, member: &MemberRow, now: Now) -> bool {
    let session = state.session(member.session);
    let bridge = session.filter(|session| session.kind == MemberKind::Orchestrator);
    bridge.is_some_and(|bridge| !Bridge::of_session(bridge).led_anything(state, now))
}

fn has_bridge(state: &State) -> bool {
    state.live_sessions().iter().any(|session| session.kind == MemberKind::Orchestrator)
}

/// Says whether an agent or a bridge has ended by itself.
fn has_crashed(ended: &EndedSession) -> bool {
    matches!(ended.kind, MemberKind::Agent | MemberKind::Orchestrator)
        && matches!(ended.departure, Departure::Failed | Departure::Dead)
}

#[cfg(test)]
mod tests;
