//! What turns have used: tokens and money, for one task, for a member, and over the whole log by agent, profile or day.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::event::{Entry, Event};
use crate::bus::state::{State, Task};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::task::TaskStatus;
use crate::domain::task::result::Usage;
use crate::domain::time::iso8601;

/// What no sum has, for whoever looks at one.
pub const NOT_COUNTED: &str = "Counted are turns that have ended, as far as their agents report tokens and costs; a running turn \
                               counts when it ends.";

/// The name of an agent or a profile of which the log says no more.
const UNKNOWN: &str = "unknown";

/// Tokens and money, as far as the agents report them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Spent {
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// All tokens, as the agents count them.
    pub total_tokens: u64,
    /// Money by currency (ISO 4217), in units of the currency.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, f64>,
    /// Money by currency, in millionths, which add up exactly.
    #[serde(skip)]
    micros: BTreeMap<String, u64>,
}

impl Spent {
    /// Returns what one task has used.
    pub fn of(usage: &Usage) -> Self {
        let mut spent = Self::default();
        spent.add(usage);
        spent
    }

    /// Says whether no agent has reported anything.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a task has used.
    pub fn add(&mut self, usage: &Usage) {
        let (input, output) = (usage.input_tokens, usage.output_tokens);
        let parts = input.unwrap_or_default().saturating_add(output.unwrap_or_default());
        self.input_tokens = self.input_tokens.saturating_add(input.unwrap_or_default());
        self.output_tokens = self.output_tokens.saturating_add(output.unwrap_or_default());
        self.total_tokens = self.total_tokens.saturating_add(usage.total_tokens.unwrap_or(parts));
        if let Some(cost) = &usage.cost {
            let sum = self.micros.entry(cost.currency.clone()).or_default();
            *sum = sum.saturating_add(cost.micros);
            self.cost.insert(cost.currency.clone(), units(*sum));
        }
    }

    /// Returns what all of these have used.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for spent in all {
            sum.input_tokens = sum.input_tokens.saturating_add(spent.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(spent.output_tokens);
            sum.total_tokens = sum.total_tokens.saturating_add(spent.total_tokens);
            for (currency, amount) in &spent.micros {
                let micros = sum.micros.entry(currency.clone()).or_default();
                *micros = micros.saturating_add(*amount);
                sum.cost.insert(currency.clone(), units(*micros));
            }
        }
        sum
    }

    /// Returns it in words, such as `3,400 tokens, 0.25 USD`; empty if nothing was reported.
    pub fn in_words(&self) -> String {
        let tokens = (self.total_tokens > 0).then(|| match self.total_tokens {
            1 => "1 token".to_owned(),
            many => format!("{} tokens", thousands(many)),
        });
        let money = self.cost.iter().map(|(currency, amount)| format!("{amount:.2} {currency}"));
        tokens.into_iter().chain(money).collect::<Vec<_>>().join(", ")
    }
}

/// Writes a number with a comma between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn units(micros: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no sum of costs is so large")]
    let micros = micros as f64;
    micros / 1e6
}

/// By what usage is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpentBy {
    Agent,
    Profile,
    /// By the day, in UTC, on which a turn ended.
    Day,
}

/// What one agent, one profile or one day has used, in turns of tasks and in those in which agents only read their messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct UsageRow {
    /// The name of the agent or of the profile, or the day; with `(trial)` if scripts played the agents.
    pub name: String,
    /// Tasks that ended.
    pub tasks: u64,
    /// Those of them that are done.
    pub done: u64,
    #[serde(flatten)]
    pub spent: Spent,
}

/// An agent, as the rows name it.
#[derive(Clone)]
struct KnownAgent {
    name: String,
    profile: String,
    /// Whether a script plays it.
    is_trial: bool,
}

/// Sums up the usage over the entries of a log.
pub struct UsageFold {
    by: SpentBy,
    /// The session of each task that has not ended.
    open: BTreeMap<TaskId, SessionId>,
    /// Each agent that has not left.
    agents: BTreeMap<SessionId, KnownAgent>,
    /// The workflows in which scripts play the agents.
    trials: BTreeSet<WorkflowId>,
    rows: BTreeMap<String, UsageRow>,
}

impl UsageFold {
    /// Begins with nothing.
    pub fn new(by: SpentBy) -> Self {
        let (open, agents, rows) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { by, open, agents, trials: BTreeSet::new(), rows }
    }

    /// Takes an entry. `state` names the agents and the tasks that began before the first entry.
    pub fn take(&mut self, entry: &Entry, state: &State) {
        for event in &entry.events {
            match event {
                Event::MemberStarting(starting) => {
                    let (name, profile) = (starting.name.to_string(), starting.profile.clone());
                    let agent = KnownAgent { name, profile, is_trial: false };
                    self.agents.insert(starting.session, agent);
                }
                Event::MemberLeft { session, .. } => {
                    // All its tasks have ended before.
                    self.agents.remove(session);
                }
                Event::TaskAssigned(task) => {
                    self.open.insert(task.id.clone(), task.session);
                    let is_trial =
                        task.workflow.as_ref().is_some_and(|id| self.is_trial(id, state));
                    let agent = self.agents.entry(task.session).or_insert_with(|| {
                        let (name, profile) =
                            (task.agent.to_string(), profile_of(state, task.session));
                        KnownAgent { name, profile, is_trial: false }
                    });
                    agent.is_trial |= is_trial;
                }
                Event::WorkflowCreated(created) if created.is_trial => {
                    self.trials.insert(created.id.clone());
                }
                Event::TaskFinished(end) => {
                    let known = || state.task(&end.id).map(|task| task.session);
                    let Some(session) = self.open.remove(&end.id).or_else(known) else {
                        continue;
                    };
                    let row = self.row(session, state.task(&end.id), entry.ts, state);
                    row.tasks += 1;
                    row.done += u64::from(end.status == TaskStatus::Done);
                    if let Some(usage) = &end.report.usage {
                        row.spent.add(usage);
                    }
                }
                Event::TurnUsed { session, usage, .. } => {
                    self.row(*session, None, entry.ts, state).spent.add(usage);
                }
                _ => {}
            }
        }
    }

    /// Returns the row to which a turn of a session counts.
    fn row(
        &mut self,
        session: SessionId,
        task: Option<&Task>,
        ended: i64,
        state: &State,
    ) -> &mut UsageRow {
        let known = self.agents.get(&session).cloned();
        let agent = known.unwrap_or_else(|| {
            let of_task = task.map(|task| task.agent.to_string());
            let live = || state.session(session).map(|live| live.name.to_string());
            let name = of_task.or_else(live).unwrap_or_else(|| UNKNOWN.to_owned());
            let of_task = task.and_then(|task| state.profile_of(task)).map(str::to_owned);
            let profile = of_task.unwrap_or_else(|| profile_of(state, session));
            let workflow = task.and_then(|task| task.workflow.as_ref());
            let is_trial = workflow.is_some_and(|id| self.is_trial(id, state));
            KnownAgent { name, profile, is_trial }
        });
        let name = match self.by {
            SpentBy::Agent => agent.name,
            SpentBy::Profile => agent.profile,
            SpentBy::Day => iso8601(ended).chars().take(10).collect(),
        };
        // What scripts do is no work of the agents whose parts they play.
        let name = format!("{name}{}", if agent.is_trial { " (trial)" } else { "" });
        let row = self.rows.entry(name.clone()).or_default();
        row.name = name;
        row
    }

    /// Says whether scripts play the agents of a workflow.
    fn is_trial(&self, id: &WorkflowId, state: &State) -> bool {
        let in_state = || state.workflow(id).is_some_and(|workflow| workflow.is_trial);
        self.trials.contains(id) || in_state()
    }

    /// Returns the rows, in the order of their names.
    pub fn rows(&self) -> Vec<UsageRow> {
        self.rows.values().cloned().collect()
    }
}

/// Returns the profile of a live agent.
fn profile_of(state: &State, session: SessionId) -> String {
    let live = state.session(session).and_then(|live| live.profile.clone());
    live.unwrap_or_else(|| UNKNOWN.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Body, Created, Finished, Skip, Starting, TaskAssigned, TaskReport};
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::CommandId;
    use crate::domain::member::Departure;
    use crate::domain::name::Name;
    use crate::domain::task::result::Money;
    use crate::domain::time::Tick;

    #[test]
    fn costs_add_up_exactly_and_currencies_stay_apart() {
        let usage = |amount, currency| Usage {
            input_tokens: Some(1_000),
            output_tokens: Some(200),
            cost: Money::of(amount, currency),
            ..Usage::default()
        };
        let mut spent = Spent::default();
        assert!(spent.is_nothing());
        assert_eq!(spent.in_words(), "");
        for _ in 0..10 {
            spent.add(&usage(0.1, "USD"));
        }
        spent.add(&usage(2.0, "EUR"));
        assert_eq!(spent.micros["USD"], 1_000_000);
        assert_eq!(spent.in_words(), "13,200 tokens, 2.00 EUR, 1.00 USD");
        let sum = Spent::sum([&spent, &spent].into_iter());
        assert_eq!(sum.in_words(), "26,400 tokens, 4.00 EUR, 2.00 USD");
    }

    #[test]
    fn an_agents_own_count_of_all_tokens_comes_first() {
        let usage = Usage { input_tokens: Some(5), total_tokens: Some(99), ..Usage::default() };
        assert_eq!(Spent::of(&usage).total_tokens, 99);
    }

    /// Two tasks, one of each of two agents of one profile, on two days.
    fn folded(by: SpentBy) -> Vec<(String, u64, u64, u64)> {
        folded_with(by, false)
    }

    /// The same; `ben` may be played by a script.
    fn folded_with(by: SpentBy, is_trial: bool) -> Vec<(String, u64, u64, u64)> {
        let session = |number| SessionId(uuid::Uuid::from_u64_pair(0, number));
        let workflow = WorkflowId::from_bits(1);
        let mut events = vec![Event::WorkflowCreated(Created {
            id: workflow.clone(),
            name: "trial".to_owned(),
            by: Name::parse("run").unwrap(),
            owner: session(9),
            steps: Vec::new(),
            prompts: Body::Text("[]".to_owned()),
            plan_file: None,
            is_trial,
        })];
        for (number, name) in [(1, "ann"), (2, "ben")] {
            let agent = Name::parse(name).unwrap();
            let (id, session) = (TaskId::from_bits(number), session(number));
            let empty = Body::Text(String::new());
            let report = TaskReport {
                usage: Some(Usage { total_tokens: Some(10 * number), ..Usage::default() }),
                ..TaskReport::default()
            };
            let status = if number == 1 { TaskStatus::Done } else { TaskStatus::Failed };
            events.extend([
                Event::MemberStarting(Starting {
                    session,
                    name: agent.clone(),
                    chosen: true,
                    profile: "codex".to_owned(),
                    model: None,
                    cwd: String::new(),
                    roles: Vec::new(),
                    owner: session,
                    token_hash: String::new(),
                }),
                Event::TaskAssigned(TaskAssigned {
                    id: id.clone(),
                    session,
                    by: agent.clone(),
                    agent,
                    prompt: empty.clone(),
                    model: None,
                    fresh: false,
                    permissions: None,
                    workflow: (number == 2).then(|| workflow.clone()),
                }),
                Event::TaskFinished(Finished {
                    id,
                    status,
                    output: empty,
                    stop_reason: None,
                    error: None,
                    report,
                }),
            ]);
        }
        let mut fold = UsageFold::new(by);
        for (number, event) in (1_u64..).zip(events) {
            let entry = Entry {
                seq: number,
                // The second task ends a day after the first.
                ts: if number > 4 { 86_400_000 } else { 0 },
                tick: Tick { boot: 1, ms: number },
                id: CommandId(uuid::Uuid::from_u64_pair(1, number)),
                by: None,
                events: vec![event],
            };
            fold.take(&entry, &State::default());
        }
        let rows = fold.rows().into_iter();
        rows.map(|row| (row.name, row.tasks, row.done, row.spent.total_tokens)).collect()
    }

    #[test]
    fn usage_is_summed_up_by_agent_profile_or_day() {
        let row = |name: &str, tasks, done, tokens| (name.to_owned(), tasks, done, tokens);
        assert_eq!(folded(SpentBy::Agent), [row("ann", 1, 1, 10), row("ben", 1, 0, 20)]);
        assert_eq!(folded(SpentBy::Profile), [row("codex", 2, 1, 30)]);
        let days = [row("1970-01-01", 1, 1, 10), row("1970-01-02", 1, 0, 20)];
        assert_eq!(folded(SpentBy::Day), days);
    }

    #[test]
    fn what_scripts_do_has_rows_of_its_own() {
        let names = |by| folded_with(by, true).into_iter().map(|row| row.0).collect::<Vec<_>>();
        assert_eq!(names(SpentBy::Agent), ["ann", "ben (trial)"]);
        assert_eq!(names(SpentBy::Profile), ["codex", "codex (trial)"]);
        assert_eq!(names(SpentBy::Day), ["1970-01-01", "1970-01-02 (trial)"]);
    }

    #[test]
    fn turns_without_a_task_count_for_their_agent_and_are_no_task() {
        let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
        let starting = Starting {
            session,
            name: Name::parse("ann").unwrap(),
            chosen: true,
            profile: "codex".to_owned(),
            model: None,
            cwd: String::new(),
            roles: Vec::new(),
            owner: session,
            token_hash: String::new(),
        };
        let usage = Usage { total_tokens: Some(7), ..Usage::default() };
        let used = || Event::TurnUsed { session, usage: usage.clone(), skip: Skip };
        let entry = |seq, events| Entry {
            seq,
            ts: 0,
            tick: Tick { boot: 1, ms: seq },
            id: CommandId(uuid::Uuid::from_u64_pair(1, seq)),
            by: None,
            events,
        };
        let mut state = State::default();
        let first = entry(1, vec![Event::MemberStarting(starting), used()]);
        state.apply(&first, &[0, 1], LogPosition::default());
        let mut fold = UsageFold::new(SpentBy::Agent);
        fold.take(&first, &state);
        let left = Event::MemberLeft { session, departure: Departure::Stopped, detail: None };
        fold.take(&entry(2, vec![used(), left]), &state);
        let rows = fold.rows();
        assert_eq!((rows[0].name.as_str(), rows[0].tasks), ("ann", 0));
        assert_eq!(rows[0].spent.total_tokens, 14);
        // A fold that begins later finds the agent in the state.
        let mut later = UsageFold::new(SpentBy::Profile);
        later.take(&entry(3, vec![used()]), &state);
        assert_eq!(later.rows()[0].name, "codex");
    }

    #[test]
    fn thousands_are_separated() {
        let numbers = [0, 7, 999, 1_000, 12_345, 1_234_567].map(thousands);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    }
}
