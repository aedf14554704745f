//! The doctor: checks that everything a team needs is installed and works, and suggests a remedy for each problem.
//!
//! Examining and judging are separate, and the judgements (`judge_*`) are pure. A check that fails is a finding of its own, and does
//! not stop the others. The doctor sends no prompt, so no model is asked. It neither joins nor changes the project's
//! bus, unless it is asked to fix what it finds.

mod agents;
mod ask_clients;
mod examination_step;
mod examine;
mod finding;
mod fix;
mod judge_answers;
mod places;
pub mod report_json;

pub use self::agents::examine_agents::Starting;
pub use self::examination_step::{OnStep, Step};
pub use self::examine::{Examination, examine};
pub use self::finding::{Finding, Fixing, Level, Report, Subject};
pub(crate) use self::places::examine_clients::{StartedIn, hindrances};
