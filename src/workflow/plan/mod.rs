//! Plans: a caller's draft, checked before anything runs. Every problem is reported at once, each with its place.

mod check_draft;
mod check_host;
pub(crate) mod evaluate_condition;
pub(crate) mod placeholders;
mod plan_draft;
mod plan_problem;
mod runnable_plan;
mod step_host;
#[cfg(test)]
mod tests;
pub mod toml_plan;
mod validate_plan;

pub use self::plan_draft::{Draft, StepDraft};
pub use self::plan_problem::{Problem, Problems};
pub use self::runnable_plan::Plan;
pub use self::validate_plan::validate;
