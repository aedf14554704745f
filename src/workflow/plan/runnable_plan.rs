//! A plan that can run, and the order of its steps.

use std::collections::BTreeSet;

use crate::domain::name::Name;
use crate::domain::workflow::Step;

/// A workflow that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub name: String,
    /// The steps, in the author's order.
    pub steps: Vec<Step>,
    /// Their prompts, in the same order.
    pub prompts: Vec<String>,
}

impl Plan {
    /// Returns the steps in groups: each group depends only on earlier groups, so its steps can run at once.
    pub fn order(&self) -> Vec<Vec<Name>> {
        let mut done = BTreeSet::new();
        let mut order = Vec::new();
        loop {
            let waiting = self.steps.iter().filter(|step| !done.contains(&step.name));
            let group: Vec<_> = waiting
                .filter(|step| step.depends_on.iter().all(|name| done.contains(name)))
                .map(|step| step.name.clone())
                .collect();
            if group.is_empty() {
                return order;
            }
            done.extend(group.iter().cloned());
            order.push(group);
        }
    }
}
