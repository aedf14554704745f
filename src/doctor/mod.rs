//! The doctor: looks whether everything that a team needs is there and works, and says of each problem what to do.
//!
//! What a thing looks like is gathered apart from what that means: the judgements (`judge_*`) are pure. A look that fails is a finding
//! of its own, never the end of the others. Nothing is prompted, so no model is asked; the project's bus is neither joined nor changed.

mod agents;
mod examine;
mod finding;
mod fix;
mod places;
mod examination_step;
pub mod report_json;

pub use self::agents::examine_agents::Starting;
pub use self::examination_step::{OnStep, Step};
pub use self::examine::{Examination, Fixing, examine};
pub use self::finding::{Finding, Level, Report, Subject};
