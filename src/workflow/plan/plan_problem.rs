//! The problems of a plan, each with its place.

use std::fmt;

use crate::domain::text::counted::counted;

/// How many problems an error lists. The rest is only counted.
const MOST_PROBLEMS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its place, such as `steps[1].agent`; empty for the plan as a whole.
    pub place: String,
    /// The problem, and its correction.
    pub what: String,
}

/// All problems of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workflow was not created: {}", listed(.0))]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.place, self.what)
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let mut shown: Vec<_> = problems.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect();
    if problems.len() > MOST_PROBLEMS {
        let more = counted(problems.len() - MOST_PROBLEMS, "more problem");
        shown.push(format!("and {more}"));
    }
    shown.join("; ")
}
