//! What turns have used: tokens and money, for one task, for a member, and over the whole log by agent, profile or day.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::event::{Entry, Event};
use crate::bus::state::{State, Task};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::is_zero::is_zero;
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
    /// Of a sum over agents, how many of them have ended a turn.
    #[serde(skip_serializing_if = "is_zero")]
    pub agents: usize,
    /// Those of them that have reported no cost, so that `cost` is not all.
    #[serde(skip_serializing_if = "is_zero")]
    pub agents_without_cost: usize,
    /// Whether each of them has reported a cost, by its name.
    #[serde(skip)]
    reports_cost: BTreeMap<String, bool>,
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
        self.total_tokens == 0
            && self.input_tokens == 0
            && self.output_tokens == 0
            && self.cost.is_empty()
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

    /// Adds what an agent has used in a turn, which it may not have reported.
    pub fn add_of(&mut self, agent: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.add(usage);
        }
        self.note(agent, usage.is_some_and(|usage| usage.cost.is_some()));
    }

    fn note(&mut self, agent: &str, reports_cost: bool) {
        *self.reports_cost.entry(agent.to_owned()).or_default() |= reports_cost;
        self.agents = self.reports_cost.len();
        self.agents_without_cost = self.reports_cost.values().filter(|reports| !**reports).count();
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
            for (agent, reports_cost) in &spent.reports_cost {
                sum.note(agent, *reports_cost);
            }
        }
        sum
    }

    /// Returns the costs in words, with how many of the agents report them if not all do; empty if none are known.
    pub fn cost_in_words(&self) -> String {
        let costs = self.costs();
        match (costs.is_empty(), self.agents_without_cost) {
            (true, _) | (_, 0) => costs,
            (false, without) => {
                let (some, all) = (self.agents - without, self.agents);
                let verb = if some == 1 { "reports" } else { "report" };
                format!("{costs} ({some} of {all} agents {verb} costs)")
            }
        }
    }

    /// Returns the costs in few words, with a sign if not all agents report them; empty if none are known.
    pub fn least_cost(&self) -> String {
        let is_all = self.is_all_cost();
        let money = self.cost.iter().map(|(currency, amount)| {
            let (sign, digits) = amount_with_sign(*amount, is_all);
            format!("{sign}{digits} {currency}")
        });
        money.collect::<Vec<_>>().join(", ")
    }

    /// Says whether the costs are all that there are, as all agents report theirs.
    pub(super) fn is_all_cost(&self) -> bool {
        self.agents_without_cost == 0
    }

    fn costs(&self) -> String {
        let money = self.cost.iter().map(|(currency, amount)| {
            let (sign, digits) = amount_with_sign(*amount, true);
            format!("{sign}{digits} {currency}")
        });
        money.collect::<Vec<_>>().join(", ")
    }

    /// Returns it in words, such as `3,400 tokens, 0.25 USD`; empty if nothing was reported.
    pub fn in_words(&self) -> String {
        let tokens = (self.total_tokens > 0).then(|| match self.total_tokens {
            1 => "1 token".to_owned(),
            many => format!("{} tokens", thousands(many)),
        });
        let money = Some(self.cost_in_words()).filter(|money| !money.is_empty());
        tokens.into_iter().chain(money).collect::<Vec<_>>().join(", ")
    }
}

/// Writes an amount of money, with the sign before it if it may be more. What is more than nothing never looks like nothing.
pub(super) fn amount_with_sign(amount: f64, is_all: bool) -> (&'static str, String) {
    // What two digits do not show.
    let is_tiny = amount > 0.0 && amount < 0.005;
    match (is_tiny, is_all) {
        (true, true) => ("<", "0.01".to_owned()),
        (true, false) => ("> ", "0.00".to_owned()),
        (false, true) => ("", format!("{amount:.2}")),
        (false, false) => ("≥ ", format!("{amount:.2}")),
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
    /// Those whose turn had begun and of which nobody knows what it used.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreported: u64,
    /// What of it turns without a task have used.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub beside_tasks: Spent,
    #[serde(flatten)]
    pub spent: Spent,
}

impl UsageRow {
    /// Says what of it turns without a task have used, if they have.
    pub fn beside_tasks_in_words(&self) -> Option<String> {
        let used = self.beside_tasks.in_words();
        (!used.is_empty()).then(|| format!("of which {used} beside tasks"))
    }

    /// Returns the sum of several rows.
    pub fn sum(rows: &[Self]) -> Self {
        let count = |of: fn(&Self) -> u64| rows.iter().map(of).sum();
        Self {
            name: "all".to_owned(),
            tasks: count(|row| row.tasks),
            done: count(|row| row.done),
            unreported: count(|row| row.unreported),
            beside_tasks: Spent::sum(rows.iter().map(|row| &row.beside_tasks)),
            spent: Spent::sum(rows.iter().map(|row| &row.spent)),
        }
    }
}

/// An agent, as the rows name it.
#[derive(Clone)]
struct KnownAgent {
    name: String,
    profile: String,
    /// Whether a script plays it.
    is_trial: bool,
}

/// A task that has not ended.
#[derive(Clone, Copy)]
struct OpenTask {
    session: SessionId,
    has_begun: bool,
}

/// Sums up the usage over the entries of a log.
pub struct UsageFold {
    by: SpentBy,
    /// Each task that has not ended.
    open: BTreeMap<TaskId, OpenTask>,
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
                    let open = OpenTask { session: task.session, has_begun: false };
                    self.open.insert(task.id.clone(), open);
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
                    let known = || {
                        let task = state.task(&end.id)?;
                        let has_begun = task.started_ms.is_some();
                        Some(OpenTask { session: task.session, has_begun })
                    };
                    let Some(open) = self.open.remove(&end.id).or_else(known) else {
                        continue;
                    };
                    let task = state.task(&end.id);
                    let ended = task.and_then(|task| task.ended_ms).unwrap_or(entry.ts);
                    let (row, agent) = self.row(open.session, task, ended, state);
                    row.tasks += 1;
                    let says_nothing = |usage: &Usage| !usage.says_what_was_used();
                    let is_unreported =
                        open.has_begun && end.report.usage.as_ref().is_none_or(says_nothing);
                    row.unreported += u64::from(is_unreported);
                    row.done += u64::from(end.status == TaskStatus::Done);
                    let usage = end.report.usage.as_ref();
                    if open.has_begun || usage.is_some() {
                        row.spent.add_of(&agent, usage);
                    }
                }
                Event::TaskStarted { id } => {
                    if let Some(open) = self.open.get_mut(id) {
                        open.has_begun = true;
                    }
                }
                Event::TurnUsed { session, usage, .. } => {
                    let (row, agent) = self.row(*session, None, entry.ts, state);
                    row.spent.add_of(&agent, Some(usage));
                    row.beside_tasks.add(usage);
                }
                _ => {}
            }
        }
    }

    /// Returns the row to which a turn of a session counts, and the name of its agent.
    fn row(
        &mut self,
        session: SessionId,
        task: Option<&Task>,
        ended: i64,
        state: &State,
    ) -> (&mut UsageRow, String) {
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
            SpentBy::Agent => agent.name.clone(),
            SpentBy::Profile => agent.profile,
            SpentBy::Day => iso8601(ended).chars().take(10).collect(),
        };
        // What scripts do is no work of the agents whose parts they play.
        let name = format!("{name}{}", if agent.is_trial { " (trial)" } else { "" });
        let row = self.rows.entry(name.clone()).or_default();
        row.name = name;
        (row, agent.name)
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
mod tests;
