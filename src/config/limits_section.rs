//! The `[limits]` of a configuration, all layers merged. The keys and their numbers are in `defaults`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::defaults;
use super::key::{Key, Number};
use super::value_origin::Sourced;
use crate::domain::limits::TeamLimits;

/// The limits, each with the layer that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// One for each row of [`defaults::NUMBERS`], by its key.
    numbers: BTreeMap<&'static str, Sourced<u64>>,
    /// Whether a bus may be on a network file system.
    pub allow_network_file_system: Sourced<bool>,
}

impl Default for Limits {
    fn default() -> Self {
        let numbers = defaults::NUMBERS
            .iter()
            .map(|limit| (limit.key.name, Sourced::default_value(limit.key.values.default)));
        let network = defaults::ALLOW_NETWORK_FILE_SYSTEM.values.default;
        Self {
            numbers: numbers.collect(),
            allow_network_file_system: Sourced::default_value(network),
        }
    }
}

impl Limits {
    pub(super) fn number(&self, key: &Key<Number>) -> &Sourced<u64> {
        self.numbers.get(key.name).expect("each number has its default from the start")
    }

    pub(super) fn set(&mut self, key: &'static Key<Number>, number: Sourced<u64>) {
        self.numbers.insert(key.name, number);
    }

    /// Returns the limits that a whole team has to agree on.
    pub fn team(&self) -> TeamLimits {
        let count = |key| usize::try_from(self.number(key).value).unwrap_or(usize::MAX);
        let days = self.number(&defaults::RETENTION_DAYS).value;
        TeamLimits {
            agents: count(&defaults::AGENTS),
            queued_tasks: count(&defaults::QUEUED_TASKS),
            unread: count(&defaults::UNREAD),
            retention_days: u32::try_from(days).unwrap_or(u32::MAX),
            messages_per_minute: self.number(&defaults::MESSAGES_PER_MINUTE).value,
            message_burst: self.number(&defaults::MESSAGE_BURST).value,
        }
    }

    /// Returns how long a turn may be without a sign of life.
    pub fn stall(&self) -> Duration {
        Duration::from_secs(self.number(&defaults::STALL_SECONDS).value)
    }

    /// Returns how many bytes of an agent's stdout are read per second.
    pub fn output_per_second(&self) -> u64 {
        self.number(&defaults::OUTPUT_PER_SECOND).value
    }

    /// Reverts the changes to `before` that a project's file may not make without consent.
    pub(super) fn without_consent(mut self, before: &Self) -> Self {
        for limit in &defaults::NUMBERS {
            let (was, is) = (before.number(limit.key), self.number(limit.key));
            if is.is_from_project() && !limit.without_consent.allows(was.value, is.value) {
                self.set(limit.key, was.clone());
            }
        }
        let allowed = &mut self.allow_network_file_system;
        if allowed.is_from_project() && allowed.value {
            allowed.clone_from(&before.allow_network_file_system);
        }
        self
    }
}
