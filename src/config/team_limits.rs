//! The `[limits]` of a configuration: how much there may be of everything.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::toml_reader::Reader;
use super::value_origin::{Sourced, ValueOrigin};
use crate::domain::limits::{self, TeamLimits};

pub(super) const LIMIT_KEYS: [&str; 7] = [
    "agents",
    "queued_tasks",
    "unread",
    "retention_days",
    "stall_seconds",
    "output_per_second",
    "allow_network_file_system",
];

/// The limits, all layers merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Agents that live at the same time.
    pub agents: Sourced<u64>,
    /// Tasks that wait for one agent.
    pub queued_tasks: Sourced<u64>,
    /// Unread messages of one member.
    pub unread: Sourced<u64>,
    /// Days after which old parts of the log go.
    pub retention_days: Sourced<u64>,
    /// Seconds after which a turn without a sign of life counts as stalled.
    pub stall_seconds: Sourced<u64>,
    /// Bytes a second that are read of an agent's stdout.
    pub output_per_second: Sourced<u64>,
    /// Whether a bus may be on a network file system.
    pub allow_network_file_system: Sourced<bool>,
}

/// What a project's file may make of a limit without its user's yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unasked {
    /// Less: then more is refused, told earlier or made to wait, and nothing that was taken is lost.
    Less,
    /// Nothing: less loses what the user has, and more takes more of the machine.
    Nothing,
}

impl Unasked {
    /// Says whether it may be so much where it was so much before.
    pub(super) fn allows(self, before: u64, now: u64) -> bool {
        now == before || (self == Self::Less && now < before)
    }
}

impl Default for Limits {
    fn default() -> Self {
        let team = TeamLimits::default();
        let number = |value: usize| Sourced::default_value(value as u64);
        Self {
            agents: number(team.agents),
            queued_tasks: number(team.queued_tasks),
            unread: number(team.unread),
            retention_days: Sourced::default_value(team.retention_days.into()),
            stall_seconds: Sourced::default_value(limits::STALL_SECONDS),
            output_per_second: Sourced::default_value(limits::OUTPUT_PER_SECOND),
            allow_network_file_system: Sourced::default_value(false),
        }
    }
}

impl Limits {
    /// Returns the limits that a whole team has to agree on.
    pub fn team(&self) -> TeamLimits {
        let number = |limit: &Sourced<u64>| usize::try_from(limit.value).unwrap_or(usize::MAX);
        TeamLimits {
            agents: number(&self.agents),
            queued_tasks: number(&self.queued_tasks),
            unread: number(&self.unread),
            retention_days: u32::try_from(self.retention_days.value).unwrap_or(u32::MAX),
        }
    }

    /// Returns those that are numbers, and what a project's file may make of each unasked.
    pub(super) fn numbers(&self) -> [(&'static str, &Sourced<u64>, Unasked); 6] {
        // Written out, so that a new one is not forgotten.
        let Self {
            agents,
            queued_tasks,
            unread,
            retention_days,
            stall_seconds,
            output_per_second,
            allow_network_file_system: _,
        } = self;
        [
            ("[limits] agents", agents, Unasked::Less),
            ("[limits] queued_tasks", queued_tasks, Unasked::Less),
            ("[limits] unread", unread, Unasked::Less),
            ("[limits] retention_days", retention_days, Unasked::Nothing),
            ("[limits] stall_seconds", stall_seconds, Unasked::Less),
            ("[limits] output_per_second", output_per_second, Unasked::Less),
        ]
    }

    /// Returns the same numbers in the same order, to be changed.
    fn numbers_mut(&mut self) -> [&mut Sourced<u64>; 6] {
        let Self {
            agents,
            queued_tasks,
            unread,
            retention_days,
            stall_seconds,
            output_per_second,
            allow_network_file_system: _,
        } = self;
        [agents, queued_tasks, unread, retention_days, stall_seconds, output_per_second]
    }

    /// Takes back what a project's file may not make of `before` unasked.
    pub(super) fn guarded_by(mut self, before: &Self) -> Self {
        let numbers = before.numbers().into_iter().zip(self.numbers());
        let keep = numbers.map(|((_, before, unasked), (_, now, _))| {
            (now.is_from_project() && !unasked.allows(before.value, now.value))
                .then(|| before.clone())
        });
        let keep: Vec<_> = keep.collect();
        for (number, before) in self.numbers_mut().into_iter().zip(keep) {
            if let Some(before) = before {
                *number = before;
            }
        }
        let allowed = &mut self.allow_network_file_system;
        if allowed.is_from_project() && allowed.value {
            allowed.clone_from(&before.allow_network_file_system);
        }
        self
    }

    /// Returns how long a turn may be without a sign of life.
    pub fn stall(&self) -> Duration {
        Duration::from_secs(self.stall_seconds.value)
    }
}

/// What one layer says of the limits, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitsDraft {
    numbers: Vec<(&'static str, Sourced<u64>)>,
    allow_network_file_system: Option<Sourced<bool>>,
}

impl LimitsDraft {
    /// Takes in one entry of the table; returns whether its key is known.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        source: &ValueOrigin,
    ) -> bool {
        let what = format!("`{key}` of [limits]");
        if key == "allow_network_file_system" {
            let allowed = reader.boolean(value, &what);
            self.allow_network_file_system =
                allowed.map(|allowed| Sourced::new(allowed, source.clone()));
            return true;
        }
        let Some((key, range)) = range_of(key) else {
            return false;
        };
        if let Some(number) = reader.number(value, &what, &range) {
            self.numbers.push((key, Sourced::new(number, source.clone())));
        }
        true
    }

    /// Lays this layer over what the layers before it say.
    pub(super) fn apply(self, limits: &mut Limits) {
        for (key, number) in self.numbers {
            let field = match key {
                "agents" => &mut limits.agents,
                "queued_tasks" => &mut limits.queued_tasks,
                "unread" => &mut limits.unread,
                "retention_days" => &mut limits.retention_days,
                "stall_seconds" => &mut limits.stall_seconds,
                _ => &mut limits.output_per_second,
            };
            *field = number;
        }
        if let Some(allowed) = self.allow_network_file_system {
            limits.allow_network_file_system = allowed;
        }
    }
}

/// What a number may be. The upper ends keep the state of a bus at a size that every process of the team can hold.
fn range_of(key: &str) -> Option<(&'static str, RangeInclusive<u64>)> {
    Some(match key {
        "agents" => ("agents", 1..=1_000),
        "queued_tasks" => ("queued_tasks", 1..=limits::MAX_QUEUED as u64),
        "unread" => ("unread", 1..=100_000),
        "retention_days" => ("retention_days", 1..=36_500),
        "stall_seconds" => ("stall_seconds", 1..=86_400),
        "output_per_second" => ("output_per_second", 1_024..=1_073_741_824),
        _ => return None,
    })
}
