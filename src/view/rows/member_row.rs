//! A member as a row: one that is live, or one that left not long ago.

use schemars::JsonSchema;
use serde::Serialize;

use super::commitments::{HeldLease, OwedAnswer, leases_of, owed_by};
use super::failed_wake::failed_wake;
use crate::bus::state::{EndedSession, Session, State};
use crate::domain::ids::{CallId, SessionId, TaskId};
use crate::domain::is_zero::is_zero;
use crate::domain::limits;
use crate::domain::member::{MemberKind, Tools};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::text::visible_letters::{both_ends, quoted};
use crate::domain::time::{Now, Tick};
use crate::view::doing::{Doing, awaited};
use crate::view::{Moment, Spent, Texts, open_call, span_left};

/// The groups of members, in the order in which windows show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// It goes on only after a decision of a person.
    NeedsYou,
    Working,
    Idle,
    Ended,
}

impl Group {
    /// Returns its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::NeedsYou => "Needs you",
            Self::Working => "Working",
            Self::Idle => "Idle",
            Self::Ended => "Ended",
        }
    }
}

/// A turn without a task, in which an agent only read its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingTurn {
    /// The id of its transcript, which `task` shows.
    pub turn_id: String,
    /// When it began.
    pub began_at: Moment,
    /// When it ended; none while it runs.
    pub ended_at: Option<Moment>,
    /// What it left undone, in words, if it left its messages unread.
    pub left_unread: Option<&'static str>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemberRow {
    pub name: String,
    /// agent, peer or orchestrator.
    pub kind: String,
    /// The session that has this name. Another may have it next.
    #[serde(skip)]
    pub session: SessionId,
    /// The group to which its state belongs.
    pub group: Group,
    /// starting, running, idle, waiting, `waiting_permission`, stalled, stuck, stopping, hung, gone (its process has ended, which no
    /// session has recorded yet) or left.
    pub state: String,
    /// What it is doing, or why it left. A prompt is quoted.
    pub doing: String,
    /// The task in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When that turn began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_since: Option<Moment>,
    /// When it began to read messages in a turn without a task, if it does.
    #[serde(skip)]
    pub reading_since: Option<Moment>,
    /// The id of the transcript of its last turn, if that had no task.
    #[serde(skip)]
    pub last_turn: Option<String>,
    /// Its last turns without a task, in which it only read its messages, newest first.
    #[serde(skip)]
    pub reading_turns: Vec<ReadingTurn>,
    /// Of a stalled agent, in what it is silent, as far as its transcript shows that: a call of a tool, or its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_in: Option<String>,
    /// Why its last wake failed, if its messages are unread since then.
    #[serde(skip)]
    pub failed_wake: Option<String>,
    /// Tasks behind that one.
    pub queued: usize,
    /// Messages that it has not seen and that are not on their way to it.
    pub unread: usize,
    /// The member for whose message it waits, if that can be only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The same in words, with what that one does.
    #[serde(skip)]
    pub wait_words: Option<String>,
    /// Whether it has asked the user something that has no answer yet.
    #[serde(skip)]
    pub asks_user: bool,
    /// Since when it waits, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Moment>,
    /// What it owns: requests that it has claimed and not answered, and lanes, each with `@`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// Until when it owns those of its claims that a lease ends; not while it waits or is in its turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<HeldLease>,
    /// The answers that it owes, the most urgent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<OwedAnswer>,
    /// The agents that are in the turn of a task that it gave them, if it is no agent itself: only its client knows whether it waits for
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_work_for_it: Vec<String>,
    /// When it was last active; when it left, if it has.
    pub last_active: Moment,
    /// When something was last written in its name, also by the bridge of an orchestrator.
    #[serde(skip)]
    pub last_written: Moment,
    /// How long it has been live, or was.
    pub live_seconds: u64,
    /// Whether a script plays it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    /// The profile from which it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Whether it is the orchestrator that leads the team.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lead: bool,
    /// What it is for, in its user's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The model that it uses, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The machine on which it runs, on a bus that several share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Whether it has the bridge's tools: ready, missing or unproven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// How messages reach it, during a turn first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delivery: Vec<String>,
    /// How often its program was started again after a crash.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// What the turns of its session have used, as far as the state still has its tasks and the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Spent>,
}

impl MemberRow {
    /// Returns its kind, with the profile of an agent that is not named after it.
    pub fn kind_in_words(&self) -> String {
        let profile = self.profile.as_ref().filter(|profile| **profile != self.name);
        let profile = profile.map(|profile| format!(" ({profile})")).unwrap_or_default();
        let host =
            self.host.as_ref().map(|host| format!(" on {}", quoted(host, limits::WORD_BYTES)));
        let trial = if self.is_trial { " (trial)" } else { "" };
        format!("{}{profile}{trial}{}", self.kind, host.unwrap_or_default())
    }

    /// Makes the row of a live session. `is_held` says whether its process lives, `usage` what its turns have used.
    pub fn of(
        state: &State,
        session: &Session,
        (is_held, usage): (bool, Spent),
        now: Now,
        texts: &mut dyn Texts,
    ) -> Self {
        let word = state_word(state, session, is_held);
        let is_agent = session.kind == MemberKind::Agent;
        let running = session.running.as_ref().and_then(|id| state.task(id));
        let of_call = || state.calls_in_flight_by(session.id, DeliveryMethod::Prompt).pop();
        let reading = if session.running.is_none() { of_call() } else { None };
        let turn_of_call = reading.map(TaskId::of_turn_by);
        let turn = session.running.as_ref().or(turn_of_call.as_ref());
        let failed_wake =
            if is_held && is_agent { failed_wake(state, session, texts) } else { None };
        let doing = if is_held {
            let read = |prompt| texts.first_of_prompt(prompt, limits::DOING_CHARS);
            Doing::look(state, session, now).in_words(read)
        } else {
            "its process has ended".to_owned()
        };
        Self {
            name: session.name.to_string(),
            kind: session.kind.as_str().to_owned(),
            session: session.id,
            group: group(word),
            state: word.to_owned(),
            doing,
            task_id: session.running.as_ref().map(ToString::to_string),
            task_since: running.and_then(|task| task.started_ms).map(Moment),
            reading_since: reading.and_then(CallId::made_ms).map(Moment),
            last_turn: turn_of_call.as_ref().map(ToString::to_string),
            reading_turns: Vec::new(),
            silent_in: turn.filter(|_| word == "stalled").and_then(|turn| silent_in(turn, texts)),
            failed_wake,
            queued: session.queue.len(),
            unread: state.member(&session.name).map_or(0, |member| member.unread.len()),
            waits_for: awaited(state, session).map(ToString::to_string),
            asks_user: state
                .questions_for_user()
                .any(|message| message.from.member() == Some(&session.name)),
            wait_words: None,
            waits_since: session.waits.last().and_then(|wait| wait.call.made_ms()).map(Moment),
            holds: state.owned_by(session),
            leases: leases_of(state, session, now),
            owes: owed_by(state, session, now, texts),
            at_work_for_it: Vec::new(),
            last_active: Moment(state.last_deed_ms(session, now)),
            last_written: Moment(session.last_ms),
            live_seconds: seconds(session.since, now.tick),
            is_trial: state.has_played_a_trial(session.id),
            profile: session.profile.clone(),
            lead: is_held && state.is_lead(session.id),
            roles: session.roles.clone(),
            model: session.model.clone(),
            cwd: session.cwd.clone(),
            host: state.host_of(session.id).map(|host| host.name.clone()),
            tools: is_agent.then(|| tools(session.tools).to_owned()),
            delivery: delivery_words(session).into_iter().map(str::to_owned).collect(),
            restarts: session.restarts,
            usage: Some(usage).filter(|usage| !usage.is_nothing()),
        }
    }

    /// Says whether it shows the same as at another time, of the same events: but for ages, and when something is due, which is reckoned
    /// from the time at which somebody looks.
    pub(in crate::view) fn is_same_as(&self, other: &Self) -> bool {
        let without_times = |row: &Self| {
            let mut row = row.clone();
            row.doing.retain(|letter| !letter.is_ascii_digit());
            row.live_seconds = 0;
            row.leases.iter_mut().for_each(|lease| lease.ends_at = Moment(0));
            row.owes.iter_mut().for_each(|owed| owed.due_at = None);
            row
        };
        without_times(self) == without_times(other)
    }

    /// Says whether it goes on only once the user has answered it: a question for permission, or one that it has asked before it began
    /// to wait or to do nothing.
    pub fn waits_for_user(&self) -> bool {
        match self.state.as_str() {
            "waiting_permission" => true,
            "waiting" | "idle" => self.asks_user,
            _ => false,
        }
    }

    /// Returns since when it does what it does now, as far as that is known.
    pub fn since(&self) -> Moment {
        self.waits_since.or(self.task_since).or(self.reading_since).unwrap_or(self.last_active)
    }

    /// Says what it owns, each claim with the time that its lease has left.
    pub fn holds_in_words(&self, now: Moment) -> Option<String> {
        self.first_held(usize::MAX, now)
    }

    fn first_held(&self, most: usize, now: Moment) -> Option<String> {
        let held = self.holds.iter().take(most).map(|held| {
            let lease = self.leases.iter().find(|lease| lease.request_id == *held);
            let time = lease.map(|lease| format!(" ({} left)", span_left(lease.ends_at, now)));
            format!("{held}{}", time.unwrap_or_default())
        });
        let more = self.holds.len().saturating_sub(most);
        let held: Vec<_> = held.chain((more > 0).then(|| format!("{more} more"))).collect();
        (!held.is_empty()).then(|| format!("holds {}", held.join(", ")))
    }

    /// Says in a row what others count on it for: that it leads, the first answers that it owes, then the first of what it owns.
    pub fn commitments_in_words(&self, now: Moment) -> Vec<String> {
        let most = limits::COMMITMENTS_IN_ROW;
        let owes = self.owes.iter().take(most).map(|owed| owed.in_words(now));
        let more = self.owes.len().saturating_sub(most);
        let more = (more > 0).then(|| format!("owes {more} more"));
        let leads = self.lead.then(|| "leads".to_owned()).into_iter();
        leads.chain(owes).chain(more).chain(self.first_held(most, now)).collect()
    }

    /// Makes the row of a session that has left, with what its turns have used.
    pub fn of_ended(ended: &EndedSession, usage: Spent, now: Now) -> Self {
        let past = ended.past.as_ref();
        Self {
            name: ended.name.to_string(),
            kind: ended.kind.as_str().to_owned(),
            session: ended.session,
            group: Group::Ended,
            state: "left".to_owned(),
            doing: both_ends(&ended.reason(), limits::REASON_CHARS),
            task_id: None,
            task_since: None,
            reading_since: None,
            last_turn: None,
            reading_turns: Vec::new(),
            silent_in: None,
            failed_wake: None,
            queued: 0,
            unread: 0,
            waits_for: None,
            asks_user: false,
            wait_words: None,
            waits_since: None,
            holds: Vec::new(),
            leases: Vec::new(),
            owes: Vec::new(),
            at_work_for_it: Vec::new(),
            last_active: moment_of(ended.at, now),
            last_written: moment_of(ended.at, now),
            live_seconds: seconds(ended.since, ended.at),
            is_trial: false,
            profile: past.map(|past| past.profile.clone()),
            lead: false,
            roles: Vec::new(),
            model: past.and_then(|past| past.model.clone()),
            cwd: past.map(|past| past.cwd.clone()),
            host: None,
            tools: None,
            delivery: Vec::new(),
            restarts: 0,
            usage: Some(usage).filter(|usage| !usage.is_nothing()),
        }
    }
}

/// Says in what a stalled agent is silent, as the transcript of its turn shows it.
fn silent_in(turn: &TaskId, texts: &mut dyn Texts) -> Option<String> {
    let transcript = texts.last_of_transcript(turn).filter(|lines| !lines.is_empty())?;
    let call = open_call(&transcript);
    let call = call.map(|title| format!("its call {}", quoted(&title, limits::DOING_CHARS)));
    Some(call.unwrap_or_else(|| "its model".to_owned()))
}

/// Says whether the process of a live session lives. An agent ends with its bridge.
pub(in crate::view) fn is_there(
    state: &State,
    session: &Session,
    is_held: &dyn Fn(SessionId) -> bool,
) -> bool {
    let has_bridge = |owner| state.session(owner).is_none() || is_held(owner);
    is_held(session.id) && session.owner.is_none_or(has_bridge)
}

/// Returns the word for the state of a live session.
pub(super) fn state_word(state: &State, session: &Session, is_held: bool) -> &'static str {
    if !is_held {
        "gone"
    } else if !session.hung && !state.open_permissions_of(session.id).is_empty() {
        "waiting_permission"
    } else {
        session.status()
    }
}

fn group(word: &str) -> Group {
    match word {
        "waiting_permission" | "stuck" | "hung" | "stalled" => Group::NeedsYou,
        "gone" => Group::Ended,
        "starting" | "running" | "stopping" | "waiting" => Group::Working,
        _ => Group::Idle,
    }
}

fn tools(tools: Tools) -> &'static str {
    match tools {
        Tools::Unproven => "unproven",
        Tools::Ready => "ready",
        Tools::Missing => "missing",
    }
}

/// Returns the delivery methods of a session, those during a turn first: its bridge's, and those of its tools.
pub fn delivery_words(session: &Session) -> Vec<&'static str> {
    let (into_turn, others): (Vec<_>, Vec<_>) = session
        .methods
        .iter()
        .partition(|method| matches!(method, DeliveryMethod::Steer | DeliveryMethod::Drain));
    let interrupts = into_turn.is_empty() && !others.is_empty();
    let of_tools: &[DeliveryMethod] = if session.tools == Tools::Ready {
        &[DeliveryMethod::Piggyback, DeliveryMethod::Pull]
    } else {
        &[]
    };
    let words = |methods: Vec<DeliveryMethod>| methods.into_iter().map(DeliveryMethod::as_str);
    words(into_turn)
        .chain(interrupts.then_some("interrupt"))
        .chain(words(of_tools.to_vec()))
        .chain(words(others))
        .collect()
}

/// Returns when a tick of this boot was, to the second: the two clocks are read one after the other, and boards of the same state are to
/// be the same.
pub(in crate::view) fn moment_of(tick: Tick, now: Now) -> Moment {
    let is_of_boot = tick.boot == now.tick.boot;
    let ago_ms = if is_of_boot { now.tick.ms.saturating_sub(tick.ms) } else { 0 };
    let wall_ms = now.wall_ms.saturating_sub_unsigned(ago_ms);
    Moment(wall_ms - wall_ms.rem_euclid(1_000))
}

/// Returns the seconds between two ticks; ticks of different boots cannot be compared.
fn seconds(from: Tick, to: Tick) -> u64 {
    if from.boot == to.boot { to.ms.saturating_sub(from.ms) / 1000 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Entry, Event, Joined, MessageSent, TaskAssigned};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::{MessageId, WorkflowId};
    use crate::domain::messaging::{Audience, MessageKind};
    use crate::domain::name::Name;
    use crate::view::NoTexts;
    use crate::view::tests::{assigned, entry, joining, starting};

    #[test]
    fn when_a_member_has_left_does_not_change_from_look_to_look() {
        let left = Tick { boot: 1, ms: 1_000 };
        for passed_ms in [0, 1, 400, 999, 4_321] {
            let tick = Tick { boot: 1, ms: 1_000 + passed_ms };
            let wall_ms = 60_000_300_i64.saturating_add_unsigned(passed_ms);
            assert_eq!(moment_of(left, Now { wall_ms, tick }), Moment(60_000_000), "{passed_ms}");
        }
    }

    #[test]
    fn what_only_a_person_can_end_needs_you() {
        let check = |word, expected| assert_eq!(group(word), expected, "{word}");
        for word in ["waiting_permission", "stuck", "hung", "stalled"] {
            check(word, Group::NeedsYou);
        }
        check("waiting", Group::Working);
        check("idle", Group::Idle);
        check("gone", Group::Ended);
        assert!(Group::NeedsYou < Group::Working && Group::Idle < Group::Ended);
    }

    #[test]
    fn what_its_bridge_writes_is_no_deed_of_an_orchestrator() {
        let session = |number| SessionId(uuid::Uuid::from_u64_pair(0, number));
        let (lead, agent) = (session(1), session(2));
        let (mut state, mut seq) = (State::default(), 0);
        let mut happens = |seconds: u32, event| {
            seq += 1;
            let (ts, ms) = (1_000 * i64::from(seconds), 1_000 * u64::from(seconds));
            let tick = Tick { boot: 1, ms };
            let entry = Entry { ts, tick, by: Some(lead), ..entry(seq, event) };
            state.apply(&entry, &[0], LogPosition::default());
            let now = Now { wall_ms: ts + 5_000, tick: Tick { boot: 1, ms: ms + 5_000 } };
            let (live, used) = (state.session(lead).unwrap(), Spent::default());
            let row = MemberRow::of(&state, live, (true, used), now, &mut NoTexts);
            (row.last_active.0 / 1_000, row.last_written.0 / 1_000)
        };
        let joined = Joined { kind: MemberKind::Orchestrator, ..joining(1, "lead") };
        assert_eq!(happens(10, Event::MemberJoined(joined)), (10, 10));
        assert_eq!(happens(20, Event::MemberStarting(starting(agent, "ann"))), (10, 20));
        let task = |number, workflow| {
            let task = assigned(TaskId::from_bits(number), agent, "ann", workflow);
            Event::TaskAssigned(TaskAssigned { by: Name::parse("lead").unwrap(), ..task })
        };
        assert_eq!(happens(30, task(1, None)), (30, 30));
        assert_eq!(happens(40, task(2, Some(WorkflowId::from_bits(1)))), (30, 40));
        assert_eq!(happens(50, Event::TaskStarted { id: TaskId::from_bits(1) }), (30, 50));
        let reminder = {
            let (id, from) = (MessageId::from_bits(9), Name::parse("lead").unwrap());
            let sent = MessageSent::plain(id, from, Audience::All, "x");
            Event::MessageSent(MessageSent { kind: MessageKind::Nudge, ..sent })
        };
        assert_eq!(happens(60, reminder), (30, 60), "the bridge reminds");
        assert_eq!(happens(70, Event::AgentStirred { session: lead }), (70, 70), "it has called");
    }
}
